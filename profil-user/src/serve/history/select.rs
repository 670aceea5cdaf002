//! A part of the history, by process, object, function or address.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

use super::{
    Cost, History, MINUTE,
    cell::{Key, Owner, Packed, Tables, Ticks},
};
use crate::serve::Spot;

/// Which time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Span {
    /// The last minute, to the window.
    Now,
    /// Minutes that begin at or after the first number and before the second, in seconds since 1970.
    Minutes(u64, u64),
}

/// What is looked for: everything, if nothing is named. All names are whole.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Filter {
    /// The name of processes.
    pub process: Option<String>,
    /// Their cgroup.
    pub cgroup: Option<String>,
    /// The name of an object.
    pub object: Option<String>,
    /// The name of a function.
    pub function: Option<String>,
}

/// What has a row.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Grouping {
    /// Processes of one name in one cgroup.
    #[default]
    Process,
    /// Objects of one name.
    Object,
    /// Functions of one name in objects of one name.
    Function,
    /// Addresses of a function of a build.
    Address,
}

/// A row. What it is not grouped by is that of one of its cells.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Item {
    /// Whose.
    pub owner: Arc<Owner>,
    /// Where.
    pub spot: Arc<Spot>,
    /// Link-time address, where it is grouped by that and known.
    pub address: Option<u64>,
    /// How much.
    pub cost: Cost,
}

/// What was found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Selection {
    /// The rows, those with most CPU time first.
    pub items: Vec<Item>,
    /// The sum of all rows.
    pub matched: Cost,
    /// That of the machine in the same time.
    pub total: Cost,
    /// How long the daemon looked.
    pub covered: Duration,
}

/// What rows are told apart by.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum RowKey {
    Process(Arc<Owner>),
    Object(Arc<str>),
    Function(Arc<str>, Arc<str>),
    Address(Arc<Spot>, Option<u64>),
}

impl History {
    /// The rows of a span.
    pub fn select(&self, span: Span, filter: &Filter, grouping: Grouping) -> Selection {
        let mut selection = Selection::default();
        let mut rows: HashMap<RowKey, usize> = HashMap::new();
        // Numbers are looked at once, and names not again.
        let mut wanted = Wanted::new(filter, &self.tables);
        let mut places: HashMap<(u32, u32, Option<u64>), usize> = HashMap::new();
        self.each(span, |covered, cells| {
            selection.covered = selection.covered.saturating_add(covered);
            for (key, ticks) in cells {
                selection.total.add(&key, ticks);
                let Some((owner, spot)) = wanted.names_of(&key) else {
                    continue;
                };
                selection.matched.add(&key, ticks);
                let short = match grouping {
                    Grouping::Process => (key.owner, 0, None),
                    Grouping::Object | Grouping::Function => (0, key.spot, None),
                    Grouping::Address => (0, key.spot, key.address),
                };
                let place = *places.entry(short).or_insert_with(|| {
                    let row = row_of(owner, spot, key.address, grouping);
                    let next = selection.items.len();
                    let place = *rows.entry(row).or_insert(next);
                    if place == next {
                        selection.items.push(Item {
                            owner: Arc::clone(owner),
                            spot: Arc::clone(spot),
                            address: key.address.filter(|_| grouping == Grouping::Address),
                            cost: Cost::default(),
                        });
                    }
                    place
                });
                if let Some(item) = selection.items.get_mut(place) {
                    item.cost.add(&key, ticks);
                }
            }
        });
        selection.items.sort_by(|a, b| {
            let by_cost = b.cost.ns().cmp(&a.cost.ns());
            by_cost.then_with(|| names(a).cmp(&names(b)))
        });
        selection
    }

    /// The cells of a span that match, to be written elsewhere; with what a tick of each is worth.
    pub(crate) fn cells(
        &self,
        span: Span,
        filter: &Filter,
        mut each: impl FnMut(&Arc<Owner>, &Arc<Spot>, Option<u64>, Ticks, u64),
    ) -> Duration {
        let mut wanted = Wanted::new(filter, &self.tables);
        let mut all = Duration::ZERO;
        self.each(span, |covered, cells| {
            all = all.saturating_add(covered);
            for (key, ticks) in cells {
                if let Some((owner, spot)) = wanted.names_of(&key) {
                    each(owner, spot, key.address, ticks, key.period_ns);
                }
            }
        });
        all
    }

    /// Hands out the cells of a span, and how much of it the daemon looked at.
    fn each(
        &self,
        span: Span,
        mut enter: impl FnMut(Duration, &mut dyn Iterator<Item = (Key, Ticks)>),
    ) {
        let mut unpack = |packed: &Packed| enter(packed.covered, &mut packed.columns().iter());
        if span == Span::Now {
            self.recent.iter().for_each(unpack);
            return;
        }
        let minutes = self
            .minutes
            .iter()
            .filter(|minute| span.holds(minute.began));
        minutes.for_each(&mut unpack);
        if span.holds(self.open.minute * MINUTE) && !self.open.cells.is_empty() {
            let cells = self.open.cells.iter().map(|(&key, &ticks)| (key, ticks));
            enter(self.open.covered, &mut { cells });
        }
    }
}

impl Span {
    pub(super) const fn holds(self, began: u64) -> bool {
        match self {
            Self::Now => false,
            Self::Minutes(from, until) => from <= began && began < until,
        }
    }
}

/// Which numbers of the tables match a filter, as far as that was asked.
struct Wanted<'a> {
    filter: &'a Filter,
    tables: &'a Tables,
    owners: Vec<Option<bool>>,
    spots: Vec<Option<bool>>,
}

impl<'a> Wanted<'a> {
    fn new(filter: &'a Filter, tables: &'a Tables) -> Self {
        Self {
            filter,
            tables,
            owners: vec![None; tables.owners.most()],
            spots: vec![None; tables.spots.most()],
        }
    }

    /// The names of a cell, if it is wanted.
    fn names_of(&mut self, key: &Key) -> Option<(&'a Arc<Owner>, &'a Arc<Spot>)> {
        let owner = self.tables.owners.get(key.owner)?;
        let spot = self.tables.spots.get(key.spot)?;
        let is = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == name)
        };
        let filter = self.filter;
        let of_owner = || is(&filter.process, &owner.name) && is(&filter.cgroup, &owner.cgroup);
        let of_spot =
            || is(&filter.object, &spot.object.name) && is(&filter.function, &spot.function);
        let owner_is = self
            .owners
            .get_mut(key.owner as usize)?
            .get_or_insert_with(of_owner);
        let spot_is = self
            .spots
            .get_mut(key.spot as usize)?
            .get_or_insert_with(of_spot);
        (*owner_is && *spot_is).then_some((owner, spot))
    }
}

pub(super) fn row_of(
    owner: &Arc<Owner>,
    spot: &Arc<Spot>,
    address: Option<u64>,
    grouping: Grouping,
) -> RowKey {
    let object = || Arc::clone(&spot.object.name);
    match grouping {
        Grouping::Process => RowKey::Process(Arc::clone(owner)),
        Grouping::Object => RowKey::Object(object()),
        Grouping::Function => RowKey::Function(object(), Arc::clone(&spot.function)),
        Grouping::Address => RowKey::Address(Arc::clone(spot), address),
    }
}

pub(super) fn names(item: &Item) -> (&Owner, &str, &str, Option<u64>) {
    let spot = &item.spot;
    (&item.owner, &spot.object.name, &spot.function, item.address)
}
