//! What is kept of a minute: ticks of a process at a place.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use prost::Message as _;

use super::{cost::Cost, table::Table};
use crate::serve::{ObjectLabel, ProcessLabel, Spot};

/// What is called so stands for all that has no cell of its own.
pub const OTHER: &str = "[other]";

/// Bytes of a name that are kept: of functions, and of everything else.
const MOST_OF_FUNCTION: usize = 512;
const MOST_OF_NAME: usize = 256;
const MOST_OF_PATH: usize = 1024;

/// Whose ticks are kept together: processes of one name in one cgroup. Untrusted.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Owner {
    /// The kernel's name of the processes, or [`OTHER`].
    pub name: Arc<str>,
    /// Their cgroup; empty where that is not known.
    pub cgroup: Arc<str>,
    /// The container that the cgroup is of, if its name says so.
    pub container: Option<Arc<str>>,
}

impl Owner {
    pub(super) fn of(process: &ProcessLabel) -> Self {
        Self {
            name: cut(&process.name, MOST_OF_NAME),
            cgroup: cut(&process.cgroup, MOST_OF_PATH),
            container: process.container.as_ref().map(|id| cut(id, MOST_OF_NAME)),
        }
    }

    /// All processes that have no cells of their own.
    pub(super) fn other() -> Self {
        Self {
            name: OTHER.into(),
            cgroup: "".into(),
            container: None,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let container = self.container.as_ref().map_or(0, |id| id.len());
        self.name.len() + self.cgroup.len() + container
    }
}

/// All places of a process that have no cells of their own.
pub(super) fn other_spot() -> Spot {
    Spot {
        object: Arc::new(ObjectLabel {
            name: OTHER.into(),
            path: "".into(),
            build_id: None,
        }),
        function: OTHER.into(),
        start: None,
    }
}

/// The same with names that are not too long.
pub(super) fn cut_spot(spot: &Arc<Spot>) -> Arc<Spot> {
    let object = &spot.object;
    if spot.function.len() <= MOST_OF_FUNCTION
        && object.name.len() <= MOST_OF_NAME
        && object.path.len() <= MOST_OF_PATH
    {
        return Arc::clone(spot);
    }
    Arc::new(Spot {
        object: Arc::new(ObjectLabel {
            name: cut(&object.name, MOST_OF_NAME),
            // A path that is cut off would lead elsewhere.
            path: match object.path.len() {
                ..=MOST_OF_PATH => Arc::clone(&object.path),
                _ => "".into(),
            },
            build_id: object.build_id,
        }),
        function: cut(&spot.function, MOST_OF_FUNCTION),
        start: spot.start,
    })
}

pub(super) fn bytes_of_spot(spot: &Spot) -> usize {
    spot.function.len() + spot.object.name.len() + spot.object.path.len()
}

/// The beginning of a text, if it is too long.
fn cut(text: &Arc<str>, most: usize) -> Arc<str> {
    if text.len() <= most {
        return Arc::clone(text);
    }
    let mark = '…';
    let end = text.floor_char_boundary(most - mark.len_utf8());
    format!("{}{mark}", &text[..end]).into()
}

/// Which cell it is: numbers of a [`Table`] of owners and of one of places.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Key {
    pub(super) owner: u32,
    pub(super) spot: u32,
    /// Link-time address; `None` for what of a function has no cells by address.
    pub(super) address: Option<u64>,
    /// What a tick is worth.
    pub(super) period_ns: u64,
}

/// Ticks in user and in kernel mode.
pub(super) type Ticks = [u64; 2];

pub(super) type Cells = HashMap<Key, Ticks>;

pub(super) fn add(cells: &mut Cells, key: Key, ticks: Ticks) {
    let sum = cells.entry(key).or_default();
    sum[0] = sum[0].saturating_add(ticks[0]);
    sum[1] = sum[1].saturating_add(ticks[1]);
}

/// The things that cells speak of.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) owners: Table<Owner>,
    pub(super) spots: Table<Spot>,
}

impl Tables {
    pub(super) fn owner(&mut self, owner: &Arc<Owner>) -> u32 {
        self.owners.number(owner, owner.bytes())
    }

    pub(super) fn spot(&mut self, spot: &Arc<Spot>) -> u32 {
        self.spots.number(spot, bytes_of_spot(spot))
    }

    pub(super) const fn bytes(&self) -> usize {
        self.owners.bytes() + self.spots.bytes()
    }

    pub(super) fn sweep(&mut self) {
        self.owners.sweep();
        self.spots.sweep();
    }
}

/// Things that are held.
#[derive(Debug, Default)]
pub(super) struct Holds {
    owners: HashSet<u32>,
    spots: HashSet<u32>,
}

impl Holds {
    /// Holds all that some cells speak of.
    pub(super) fn take<'a>(keys: impl Iterator<Item = &'a Key>, tables: &mut Tables) -> Self {
        let mut holds = Self::default();
        for key in keys {
            if holds.owners.insert(key.owner) {
                tables.owners.hold(key.owner);
            }
            if holds.spots.insert(key.spot) {
                tables.spots.hold(key.spot);
            }
        }
        holds
    }

    pub(super) fn release(self, tables: &mut Tables) {
        self.owners
            .into_iter()
            .for_each(|id| tables.owners.release(id));
        self.spots
            .into_iter()
            .for_each(|id| tables.spots.release(id));
    }
}

/// Cells of a span of time that is over: few bytes each.
#[derive(Debug)]
pub(super) struct Packed {
    /// When it began, in seconds since 1970.
    pub(super) began: u64,
    /// How much of it was looked at.
    pub(super) covered: Duration,
    cells: Box<[u8]>,
    /// The sums of its owners, so that a day can be drawn without unpacking it.
    owners: Box<[(u32, Cost)]>,
}

/// Cells, a list for each of their parts: numbers take as few bytes as they need.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Columns {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) owner: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    pub(super) spot: Vec<u32>,
    /// The address and one, or none: none is so large that one cannot be added.
    #[prost(uint64, repeated, tag = "3")]
    pub(super) address: Vec<u64>,
    #[prost(uint64, repeated, tag = "4")]
    pub(super) period_ns: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub(super) user: Vec<u64>,
    #[prost(uint64, repeated, tag = "6")]
    pub(super) system: Vec<u64>,
}

impl Columns {
    pub(super) fn push(&mut self, key: Key, ticks: Ticks) {
        self.owner.push(key.owner);
        self.spot.push(key.spot);
        let address = key.address.and_then(|address| address.checked_add(1));
        self.address.push(address.unwrap_or(0));
        self.period_ns.push(key.period_ns);
        self.user.push(ticks[0]);
        self.system.push(ticks[1]);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, Ticks)> + '_ {
        let names = self.owner.iter().zip(&self.spot);
        let places = self.address.iter().zip(&self.period_ns);
        let ticks = self.user.iter().zip(&self.system);
        let cells = names.zip(places).zip(ticks);
        cells.map(
            |(((&owner, &spot), (&address, &period_ns)), (&user, &system))| {
                let address = address.checked_sub(1);
                let key = Key {
                    owner,
                    spot,
                    address,
                    period_ns,
                };
                (key, [user, system])
            },
        )
    }
}

impl Packed {
    /// Packs cells, and holds what they speak of.
    pub(super) fn new(began: u64, covered: Duration, cells: &Cells, tables: &mut Tables) -> Self {
        let mut sorted: Vec<_> = cells.iter().map(|(&key, &ticks)| (key, ticks)).collect();
        sorted.sort_unstable();
        // It lives on as numbers; who unpacks them for the last time gives them back.
        let _ = Holds::take(cells.keys(), tables);
        let mut columns = Columns::default();
        let mut owners: HashMap<u32, Cost> = HashMap::new();
        for (key, ticks) in sorted {
            columns.push(key, ticks);
            owners.entry(key.owner).or_default().add(&key, ticks);
        }
        Self {
            began,
            covered,
            cells: columns.encode_to_vec().into(),
            owners: owners.into_iter().collect(),
        }
    }

    /// Who had how much.
    pub(super) const fn owners(&self) -> &[(u32, Cost)] {
        &self.owners
    }

    pub(super) fn columns(&self) -> Columns {
        Columns::decode(&self.cells[..]).unwrap_or_default()
    }

    /// Gives back what its cells spoke of.
    pub(super) fn release(self, tables: &mut Tables) {
        let columns = self.columns();
        let holds = Holds {
            owners: columns.owner.into_iter().collect(),
            spots: columns.spot.into_iter().collect(),
        };
        holds.release(tables);
    }

    pub(super) fn bytes(&self) -> usize {
        self.cells.len() + size_of_val(&*self.owners) + size_of::<Self>()
    }
}
