//! The minutes of the history, and who was busy in them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use super::{Cost, History, MINUTE, Span};

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

impl History {
    /// The minutes of a span, and the busiest names of processes.
    pub fn timeline(&self, span: Span, strips: usize) -> Timeline {
        let mut minutes: BTreeMap<u64, (Moment, HashMap<u32, u64>)> = BTreeMap::new();
        let mut totals: HashMap<Arc<str>, u64> = HashMap::new();
        let mut enter = |began: u64, covered, costs: &mut dyn Iterator<Item = (u32, Cost)>| {
            let (moment, owners) = minutes.entry(began).or_default();
            moment.began = began;
            moment.covered = moment.covered.saturating_add(covered);
            for (owner, cost) in costs {
                moment.cost.add_cost(&cost);
                let sum = owners.entry(owner).or_default();
                *sum = sum.saturating_add(cost.ns());
            }
        };
        for minute in self
            .minutes
            .iter()
            .filter(|minute| span.holds(minute.began))
        {
            let costs = minute.owners().iter().copied();
            enter(minute.began, minute.covered, &mut { costs });
        }
        let began = self.open.minute * MINUTE;
        if span.holds(began) && !self.open.cells.is_empty() {
            let costs = self.open.cells.iter().map(|(key, &ticks)| {
                let mut cost = Cost::default();
                cost.add(key, ticks);
                (key.owner, cost)
            });
            enter(began, self.open.covered, &mut { costs });
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
}
