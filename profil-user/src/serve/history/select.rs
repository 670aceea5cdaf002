//! A part of the history, by process, object, function or address; and two of them, compared.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use super::{
    History, MINUTE,
    cell::{Key, Owner, Packed, Tables, Ticks},
};
use crate::{
    compare::shares,
    profile::share_error,
    serve::{ObjectLabel, Spot},
};

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
    /// Addresses of a build of an object.
    Address,
}

/// CPU time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In kernel mode, in nanoseconds.
    pub system_ns: u64,
    /// Ticks in user mode.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
}

impl Cost {
    /// Nanoseconds in either mode.
    pub const fn ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// Ticks in either mode.
    pub const fn ticks(&self) -> u64 {
        self.user.saturating_add(self.system)
    }

    /// How much of another one this is, of 1.
    pub fn share_of(&self, total: &Self) -> f64 {
        match total.ns() {
            0 => 0.0,
            ns => self.ns() as f64 / ns as f64,
        }
    }

    /// The standard error of that share, by the ticks that were counted.
    pub fn error_in(&self, total: &Self) -> f64 {
        share_error(self.ticks(), total.ticks())
    }

    fn add(&mut self, key: &Key, [user, system]: Ticks) {
        let ns = |ticks: u64| ticks.saturating_mul(key.period_ns);
        self.user_ns = self.user_ns.saturating_add(ns(user));
        self.system_ns = self.system_ns.saturating_add(ns(system));
        self.user = self.user.saturating_add(user);
        self.system = self.system.saturating_add(system);
    }
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

/// A row of two spans.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is.
    pub item: Item,
    /// What it cost in the first span, and in the second.
    pub costs: [Cost; 2],
    /// What share of the selection that was, of 1.
    pub shares: [f64; 2],
    /// The standard error of the difference, of 1.
    pub error: f64,
}

impl Change {
    /// How much the share grew, of 1.
    pub fn change(&self) -> f64 {
        self.shares[1] - self.shares[0]
    }

    /// Whether that is more than chance does in nineteen of twenty cases: more than two standard errors.
    pub fn is_significant(&self) -> bool {
        self.change().abs() > 2.0 * self.error
    }
}

/// CPU time by the minute.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Timeline {
    /// Every minute, by time.
    pub moments: Vec<Moment>,
    /// The names of processes with most CPU time in all of it, with theirs.
    pub strips: Vec<Strip>,
}

/// A minute of all processes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Moment {
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// How much of it the daemon looked at.
    pub covered: Duration,
    /// The CPU time.
    pub cost: Cost,
}

/// The minutes of processes of one name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Strip {
    /// The name.
    pub name: Arc<str>,
    /// Nanoseconds of CPU time, in the order of the minutes.
    pub ns: Vec<u64>,
}

/// What rows are told apart by.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum RowKey {
    Process(Arc<Owner>),
    Object(Arc<str>),
    Function(Arc<str>, Arc<str>),
    Address(Arc<ObjectLabel>, Option<u64>),
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

    /// What changed from a span to another one, the largest change first.
    pub fn compare(
        &self,
        spans: [Span; 2],
        filter: &Filter,
        grouping: Grouping,
    ) -> (Vec<Change>, [Selection; 2]) {
        let mut sides = spans.map(|span| self.select(span, filter, grouping));
        let mut rows: HashMap<RowKey, (Item, [Cost; 2])> = HashMap::new();
        for (side, selection) in sides.iter_mut().enumerate() {
            for item in std::mem::take(&mut selection.items) {
                let key = row_of(&item.owner, &item.spot, item.address, grouping);
                let cost = item.cost;
                let (_, costs) = rows.entry(key).or_insert((item, [Cost::default(); 2]));
                costs[side] = cost;
            }
        }
        let totals = [&sides[0].matched, &sides[1].matched];
        let mut changes: Vec<_> = rows
            .into_values()
            .map(|(item, costs)| {
                let ticks = costs.map(|cost| cost.ticks());
                let (_, percent) = shares(ticks, totals.map(|total| total.ticks() as f64));
                Change {
                    item,
                    costs,
                    shares: [0, 1].map(|side: usize| costs[side].share_of(totals[side])),
                    error: percent / 100.0,
                }
            })
            .collect();
        changes.sort_by(|a, b| {
            let by_change = b.change().abs().total_cmp(&a.change().abs());
            by_change.then_with(|| names(&a.item).cmp(&names(&b.item)))
        });
        (changes, sides)
    }

    /// The minutes of a span, and the busiest names of processes.
    pub fn timeline(&self, span: Span, strips: usize) -> Timeline {
        let mut minutes: BTreeMap<u64, (Moment, HashMap<u32, u64>)> = BTreeMap::new();
        let mut totals: HashMap<Arc<str>, u64> = HashMap::new();
        let mut enter = |began: u64, covered, cells: &mut dyn Iterator<Item = (Key, Ticks)>| {
            let (moment, owners) = minutes.entry(began).or_default();
            moment.began = began;
            moment.covered = moment.covered.saturating_add(covered);
            for (key, ticks) in cells {
                let before = moment.cost.ns();
                moment.cost.add(&key, ticks);
                let more = moment.cost.ns() - before;
                let sum = owners.entry(key.owner).or_default();
                *sum = sum.saturating_add(more);
            }
        };
        for minute in self
            .minutes
            .iter()
            .filter(|minute| span.holds(minute.began))
        {
            enter(minute.began, minute.covered, &mut minute.columns().iter());
        }
        let began = self.open.minute * MINUTE;
        if span.holds(began) && !self.open.cells.is_empty() {
            let cells = self.open.cells.iter().map(|(&key, &ticks)| (key, ticks));
            enter(began, self.open.covered, &mut { cells });
        }
        let by_name: Vec<HashMap<Arc<str>, u64>> = minutes
            .values()
            .map(|(_, owners)| {
                let mut names: HashMap<Arc<str>, u64> = HashMap::new();
                for (&owner, &ns) in owners {
                    if let Some(owner) = self.tables.owners.get(owner) {
                        for sums in [&mut names, &mut totals] {
                            let sum = sums.entry(Arc::clone(&owner.name)).or_default();
                            *sum = sum.saturating_add(ns);
                        }
                    }
                }
                names
            })
            .collect();
        let mut busiest: Vec<_> = totals.into_iter().collect();
        busiest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        busiest.truncate(strips);
        let strip = |(name, _): (Arc<str>, u64)| Strip {
            ns: by_name
                .iter()
                .map(|names| names.get(&name).copied().unwrap_or(0))
                .collect(),
            name,
        };
        Timeline {
            strips: busiest.into_iter().map(strip).collect(),
            moments: minutes.into_values().map(|(moment, _)| moment).collect(),
        }
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
    const fn holds(self, began: u64) -> bool {
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

fn row_of(
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
        Grouping::Address => RowKey::Address(Arc::clone(&spot.object), address),
    }
}

fn names(item: &Item) -> (&Owner, &str, &str, Option<u64>) {
    let spot = &item.spot;
    (&item.owner, &spot.object.name, &spot.function, item.address)
}
