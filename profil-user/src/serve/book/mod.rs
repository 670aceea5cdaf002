//! The counters that dashboards read: CPU time by function, process and control group.
//!
//! There is room for so many series. Who is shown is chosen by recent weight, and stays until it has been cold for
//! long; everybody else is in `other`: of its process, if that is shown, or of all. So each tick is in exactly one
//! series of a kind, no series ever goes back, and sums are exact. What a series had that is shown no more stays in
//! a sum of its own: added to `other`, it would look as if `other` had used it just now.

mod label;
mod roster;
mod state;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use super::row::Window;
use label::Labels;
pub(crate) use label::OTHER;
use roster::{Roster, Seat};
pub(crate) use state::BookState;

/// CPU time, in nanoseconds, by mode.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Spent {
    pub(crate) user: u64,
    pub(crate) system: u64,
}

impl Spent {
    pub(crate) const fn total(&self) -> u64 {
        self.user + self.system
    }

    fn add(&mut self, more: Self) {
        self.user = self.user.saturating_add(more.user);
        self.system = self.system.saturating_add(more.system);
    }
}

/// A function of a process name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct FunctionKey {
    pub(crate) process: Arc<str>,
    pub(crate) object: Arc<str>,
    pub(crate) function: Arc<str>,
}

/// A control group, and the container that it is of.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct CgroupKey {
    pub(crate) cgroup: Arc<str>,
    /// Empty, if it is of none.
    pub(crate) container: Arc<str>,
}

/// How many may be shown of a kind. Each is two series: user and system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Room {
    functions: usize,
    processes: usize,
    cgroups: usize,
}

impl Room {
    /// Of so many series in all, `other` included.
    pub(crate) fn of(series: usize) -> Self {
        // A process has a series pair of its own and one for its other functions.
        const PART: usize = 20;
        let others = 3;
        let pairs = series / 2;
        // One of each, if there is room for that.
        let least = usize::from(pairs >= others + 3);
        let processes = (series / PART).max(least);
        let cgroups = processes;
        Self {
            functions: pairs.saturating_sub(2 * processes + cgroups + others),
            processes,
            cgroups,
        }
    }
}

/// All counters.
#[derive(Debug)]
pub(crate) struct Book {
    labels: Labels,
    functions: Roster<FunctionKey>,
    processes: Roster<Arc<str>>,
    cgroups: Roster<CgroupKey>,
    /// Functions that are not shown, of processes that are.
    others: BTreeMap<Arc<str>, Spent>,
    /// Of processes and control groups that are not shown.
    other: Spent,
    other_cgroups: Spent,
    /// What functions and processes had that are shown no more, and control groups.
    retired: Spent,
    retired_processes: Spent,
    retired_cgroups: Spent,
    machine: Spent,
    cold: Duration,
}

impl Book {
    /// Nothing is counted yet.
    pub(crate) fn new(room: Room, cold: Duration) -> Self {
        Self {
            labels: Labels::default(),
            functions: Roster::new(room.functions),
            processes: Roster::new(room.processes),
            cgroups: Roster::new(room.cgroups),
            others: BTreeMap::new(),
            other: Spent::default(),
            other_cgroups: Spent::default(),
            retired: Spent::default(),
            retired_processes: Spent::default(),
            retired_cgroups: Spent::default(),
            machine: Spent::default(),
            cold,
        }
    }

    /// How long a series is shown after it was last warm, from now on.
    pub(crate) const fn set_cold(&mut self, cold: Duration) {
        self.cold = cold;
    }

    /// Counts what ticked in a window, at the time `now` on any clock that goes on.
    pub(crate) fn enter(&mut self, window: &Window, now: Duration) {
        let mut functions: HashMap<FunctionKey, Spent> = HashMap::new();
        let mut processes: HashMap<Arc<str>, Spent> = HashMap::new();
        let mut cgroups: HashMap<CgroupKey, Spent> = HashMap::new();
        for row in &window.rows {
            let spent = Spent {
                user: row.user.saturating_mul(window.period_ns),
                system: row.system.saturating_mul(window.period_ns),
            };
            self.machine.add(spent);
            let process = self.labels.of(&row.process.name);
            processes
                .entry(Arc::clone(&process))
                .or_default()
                .add(spent);
            let cgroup = CgroupKey {
                cgroup: self.labels.of(&row.process.cgroup),
                container: self
                    .labels
                    .of(row.process.container.as_deref().unwrap_or_default()),
            };
            cgroups.entry(cgroup).or_default().add(spent);
            let function = FunctionKey {
                process,
                object: self.labels.of(&row.spot.object.name),
                function: self.labels.of(&row.spot.function),
            };
            functions.entry(function).or_default().add(spent);
        }
        self.labels.turned();
        for (key, spent) in cgroups {
            if self.cgroups.charge(&key, spent, now) == Seat::None {
                self.other_cgroups.add(spent);
            }
        }
        for (key, spent) in &processes {
            if self.processes.charge(key, *spent, now) == Seat::None {
                self.other.add(*spent);
            }
        }
        for (key, spent) in functions {
            if self.functions.charge(&key, spent, now) == Seat::None
                && let Some(others) = self.others_of(&key.process)
            {
                others.add(spent);
            }
        }
        self.turn(now, window.elapsed);
    }

    /// Where ticks of functions that are not shown go; nowhere of a process that is not shown: those are
    /// in `other` already.
    fn others_of(&mut self, process: &Arc<str>) -> Option<&mut Spent> {
        self.others.get_mut(process)
    }

    /// Takes in who has become heavy, and lets go who has been cold for long.
    fn turn(&mut self, now: Duration, elapsed: Duration) {
        for process in self.processes.turn(now, elapsed, |_| true) {
            self.others.insert(process, Spent::default());
        }
        self.cgroups.turn(now, elapsed, |_| true);
        let others = &self.others;
        self.functions
            .turn(now, elapsed, |key| others.contains_key(&key.process));
        // A function is warm only while its process is: it goes no later.
        for (_, spent) in self.functions.retire(now, self.cold) {
            self.retired.add(spent);
        }
        for (process, spent) in self.processes.retire(now, self.cold) {
            self.retired_processes.add(spent);
            if let Some(others) = self.others.remove(&process) {
                self.retired.add(others);
            }
        }
        for (_, spent) in self.cgroups.retire(now, self.cold) {
            self.retired_cgroups.add(spent);
        }
    }

    /// Functions that are shown.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&FunctionKey, Spent)> {
        self.functions.members()
    }

    /// Of each process that is shown, its other functions.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&Arc<str>, Spent)> {
        self.others.iter().map(|(process, spent)| (process, *spent))
    }

    /// Processes that are shown.
    pub(crate) fn processes(&self) -> impl Iterator<Item = (&Arc<str>, Spent)> {
        self.processes.members()
    }

    /// Control groups that are shown.
    pub(crate) fn cgroups(&self) -> impl Iterator<Item = (&CgroupKey, Spent)> {
        self.cgroups.members()
    }

    /// Of all processes that are not shown.
    pub(crate) const fn other(&self) -> Spent {
        self.other
    }

    /// Of all control groups that are not shown.
    pub(crate) const fn other_cgroups(&self) -> Spent {
        self.other_cgroups
    }

    /// Of functions, of processes and of control groups that are shown no more.
    pub(crate) const fn retired(&self) -> [(&'static str, Spent); 3] {
        [
            ("function", self.retired),
            ("process", self.retired_processes),
            ("cgroup", self.retired_cgroups),
        ]
    }

    /// Everything.
    pub(crate) const fn machine(&self) -> Spent {
        self.machine
    }

    /// Series that are shown, both modes counted.
    pub(crate) fn series(&self) -> usize {
        let pairs = self.functions.len()
            + self.others.len()
            + self.processes.len()
            + self.cgroups.len()
            + 3;
        2 * pairs
    }
}

#[cfg(test)]
mod tests;
