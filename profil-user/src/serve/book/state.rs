//! The counters as a message, to be written down and gone on with.

use std::{sync::Arc, time::Duration};

use prost::Message;

use super::{
    Book, CgroupKey, FunctionKey, Spent,
    roster::{Member, Roster},
};

/// All counters, and how long each series has been cold.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BookState {
    #[prost(message, repeated, tag = "1")]
    functions: Vec<SeatState>,
    #[prost(message, repeated, tag = "2")]
    processes: Vec<SeatState>,
    #[prost(message, repeated, tag = "3")]
    cgroups: Vec<SeatState>,
    #[prost(message, repeated, tag = "4")]
    others: Vec<SeatState>,
    /// `other`, `other_cgroups`, `retired`, `retired_processes`, `retired_cgroups`, `machine`.
    #[prost(message, repeated, tag = "5")]
    sums: Vec<SpentState>,
}

#[derive(Clone, PartialEq, Message)]
struct SeatState {
    /// As many as the kind has.
    #[prost(string, repeated, tag = "1")]
    names: Vec<String>,
    #[prost(message, optional, tag = "2")]
    spent: Option<SpentState>,
    #[prost(uint64, tag = "3")]
    cold_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct SpentState {
    #[prost(uint64, tag = "1")]
    user: u64,
    #[prost(uint64, tag = "2")]
    system: u64,
}

impl From<Spent> for SpentState {
    fn from(Spent { user, system }: Spent) -> Self {
        Self { user, system }
    }
}

impl From<SpentState> for Spent {
    fn from(SpentState { user, system }: SpentState) -> Self {
        Self { user, system }
    }
}

impl Book {
    /// The counters at a time.
    pub(crate) fn to_state(&self, now: Duration) -> BookState {
        let others = self.others.iter().map(|(process, &spent)| SeatState {
            names: vec![process.to_string()],
            spent: Some(spent.into()),
            cold_ns: 0,
        });
        let sums = [
            self.other,
            self.other_cgroups,
            self.retired,
            self.retired_processes,
            self.retired_cgroups,
            self.machine,
        ];
        BookState {
            functions: seats(&self.functions, now, |key| {
                vec![
                    key.process.to_string(),
                    key.object.to_string(),
                    key.function.to_string(),
                ]
            }),
            processes: seats(&self.processes, now, |key| vec![key.to_string()]),
            cgroups: seats(&self.cgroups, now, |key| {
                vec![key.cgroup.to_string(), key.container.to_string()]
            }),
            others: others.collect(),
            sums: sums.into_iter().map(SpentState::from).collect(),
        }
    }

    /// Goes on with counters, at a time `now` of another clock. Whoever finds no seat any more, because there
    /// are fewer of them, is shown no more. What is no such state changes nothing, and is `false`.
    pub(crate) fn go_on_with(&mut self, state: BookState, now: Duration) -> bool {
        let [
            other,
            other_cgroups,
            retired,
            retired_processes,
            retired_cgroups,
            machine,
        ] = state.sums[..]
        else {
            return false;
        };
        self.other = other.into();
        self.other_cgroups = other_cgroups.into();
        self.retired = retired.into();
        self.retired_processes = retired_processes.into();
        self.retired_cgroups = retired_cgroups.into();
        self.machine = machine.into();
        for seat in state.processes {
            let (member, [process]) = (seat.member(now), seat.names());
            if self.processes.reseat(process, member) {
                continue;
            }
            self.retired_processes.add(member.spent);
        }
        let shown: Vec<_> = self
            .processes
            .members()
            .map(|(key, _)| Arc::clone(key))
            .collect();
        for process in shown {
            self.others.insert(process, Spent::default());
        }
        for seat in state.others {
            let (spent, [process]) = (seat.member(now).spent, seat.names());
            match self.others.get_mut(&process) {
                Some(others) => others.add(spent),
                None => self.retired.add(spent),
            }
        }
        for seat in state.functions {
            let (member, [process, object, function]) = (seat.member(now), seat.names());
            let key = FunctionKey {
                process,
                object,
                function,
            };
            let may = self.others.contains_key(&key.process);
            if !(may && self.functions.reseat(key, member)) {
                self.retired.add(member.spent);
            }
        }
        for seat in state.cgroups {
            let (member, [cgroup, container]) = (seat.member(now), seat.names());
            if !self.cgroups.reseat(CgroupKey { cgroup, container }, member) {
                self.retired_cgroups.add(member.spent);
            }
        }
        true
    }
}

impl SeatState {
    fn member(&self, now: Duration) -> Member {
        Member {
            spent: self.spent.map(Spent::from).unwrap_or_default(),
            warm: now.saturating_sub(Duration::from_nanos(self.cold_ns)),
        }
    }

    /// Its names, as many as are expected; empty ones where some are missing.
    fn names<const N: usize>(self) -> [Arc<str>; N] {
        let mut names = self.names.into_iter();
        std::array::from_fn(|_| names.next().unwrap_or_default().into())
    }
}

fn seats<K: Clone + Eq + std::hash::Hash + Ord>(
    roster: &Roster<K>,
    now: Duration,
    names: impl Fn(&K) -> Vec<String>,
) -> Vec<SeatState> {
    let seats = roster.seated().map(|(key, member)| SeatState {
        names: names(key),
        spent: Some(member.spent.into()),
        cold_ns: now.saturating_sub(member.warm).as_nanos() as u64,
    });
    seats.collect()
}
