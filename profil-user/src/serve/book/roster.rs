//! Who is shown, of all who would be.
//!
//! Who ticks is a candidate, with a weight that halves in a minute. A candidate that is heavy, and has been for
//! some turns, is given a seat if one is free: so nobody gets one by being called something else all the time. A
//! seat is kept until its holder has been cold for long.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    time::Duration,
};

use super::Spent;

/// In which time a weight halves.
const HALF_LIFE: Duration = Duration::from_secs(60);

/// Turns in which a candidate must have ticked.
const TURNS: u32 = 3;

/// The part of all recent weight that makes a candidate heavy.
const HEAVY: f64 = 0.001;

/// Candidates for each seat. Of more, the lightest are forgotten.
const CANDIDATES_PER_SEAT: usize = 4;

/// Members and candidates of one kind.
#[derive(Debug)]
pub(super) struct Roster<K> {
    seats: usize,
    members: BTreeMap<K, Member>,
    candidates: HashMap<K, Candidate>,
    /// Recent weight of everybody.
    weight: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) spent: Spent,
    /// When it last ticked.
    pub(super) warm: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    weight: f64,
    turns: u32,
}

/// Whether somebody has a seat.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Seat {
    Own,
    None,
}

impl<K: Clone + Eq + Hash + Ord> Roster<K> {
    pub(super) fn new(seats: usize) -> Self {
        Self {
            seats,
            members: BTreeMap::new(),
            candidates: HashMap::new(),
            weight: 0.0,
        }
    }

    /// Counts what somebody has used in this turn: for a member, or for a candidate, whose time the caller
    /// counts elsewhere. Once a turn for each.
    pub(super) fn charge(&mut self, key: &K, spent: Spent, now: Duration) -> Seat {
        self.weight += spent.total() as f64;
        if let Some(member) = self.members.get_mut(key) {
            member.spent.add(spent);
            member.warm = now;
            return Seat::Own;
        }
        let candidate = match self.candidates.get_mut(key) {
            Some(candidate) => candidate,
            None => self.candidates.entry(key.clone()).or_default(),
        };
        candidate.weight += spent.total() as f64;
        candidate.turns += 1;
        Seat::None
    }

    /// Gives free seats to the heaviest candidates that may have one, and makes what was lighter. Returns who
    /// has got a seat.
    pub(super) fn turn(
        &mut self,
        now: Duration,
        elapsed: Duration,
        may: impl Fn(&K) -> bool,
    ) -> Vec<K> {
        let least = self.weight * HEAVY;
        let mut heavy: Vec<(K, f64)> = self
            .candidates
            .iter()
            .filter(|(key, candidate)| {
                candidate.turns >= TURNS && candidate.weight >= least && may(key)
            })
            .map(|(key, candidate)| (key.clone(), candidate.weight))
            .collect();
        heavy.sort_by(|(left, light), (right, heavy)| {
            heavy.total_cmp(light).then_with(|| left.cmp(right))
        });
        heavy.truncate(self.seats.saturating_sub(self.members.len()));
        let seated: Vec<K> = heavy.into_iter().map(|(key, _)| key).collect();
        for key in &seated {
            self.candidates.remove(key);
            let member = Member {
                spent: Spent::default(),
                warm: now,
            };
            self.members.insert(key.clone(), member);
        }
        let lighter = 0.5_f64.powf(elapsed.as_secs_f64() / HALF_LIFE.as_secs_f64());
        self.weight *= lighter;
        for candidate in self.candidates.values_mut() {
            candidate.weight *= lighter;
        }
        self.forget();
        seated
    }

    /// Forgets the lightest candidates, where there are too many.
    fn forget(&mut self) {
        let most = CANDIDATES_PER_SEAT * self.seats;
        if self.candidates.len() <= most {
            return;
        }
        let mut weights: Vec<f64> = self.candidates.values().map(|one| one.weight).collect();
        let excess = weights.len() - most;
        let (_, &mut light, _) = weights.select_nth_unstable_by(excess - 1, f64::total_cmp);
        // Of many that weigh the same, as many as have to go.
        let mut left = excess;
        self.candidates.retain(|_, candidate| {
            let goes = left > 0 && candidate.weight <= light;
            left -= usize::from(goes);
            !goes
        });
    }

    /// Takes the seats of those who have been cold for long, and returns what they had.
    pub(super) fn retire(&mut self, now: Duration, cold: Duration) -> Vec<(K, Spent)> {
        let gone = self
            .members
            .extract_if(.., |_, member| now.saturating_sub(member.warm) > cold);
        gone.map(|(key, member)| (key, member.spent)).collect()
    }

    /// Who has a seat, and what was counted for it since, in order.
    pub(super) fn members(&self) -> impl Iterator<Item = (&K, Spent)> {
        self.members.iter().map(|(key, member)| (key, member.spent))
    }

    /// The same with all that is known.
    pub(super) fn seated(&self) -> impl Iterator<Item = (&K, Member)> {
        self.members.iter().map(|(key, member)| (key, *member))
    }

    /// Gives somebody back a seat, if there is one. Whether there was.
    pub(super) fn reseat(&mut self, key: K, member: Member) -> bool {
        let is_free = self.members.len() < self.seats;
        if is_free {
            self.members.insert(key, member);
        }
        is_free
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}
