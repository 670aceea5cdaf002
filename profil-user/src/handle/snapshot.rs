//! Counters at one moment, as plain values.

use std::cmp::Reverse;

/// The place of a counter.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bin {
    /// The index of its region in [`Profil::regions`](super::Profil::regions).
    pub region: usize,
    /// Its number in the region.
    pub number: u32,
}

/// The counters of a [`Profil`](super::Profil) at one moment: those that are not zero.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Snapshot {
    /// By region and number, each once.
    counts: Vec<(Bin, u64)>,
}

impl Snapshot {
    pub(super) const fn of(counts: Vec<(Bin, u64)>) -> Self {
        Self { counts }
    }

    /// Every counter that is not zero, by region and number.
    pub fn iter(&self) -> impl Iterator<Item = (Bin, u64)> {
        self.counts.iter().copied()
    }

    /// The ticks of one bin.
    pub fn get(&self, bin: Bin) -> u64 {
        let place = self.counts.binary_search_by_key(&bin, |&(bin, _)| bin);
        place.map_or(0, |place| self.counts[place].1)
    }

    /// All ticks together.
    pub fn ticks(&self) -> u64 {
        self.counts.iter().map(|(_, ticks)| ticks).sum()
    }

    /// What was counted after `earlier`, a snapshot of the same [`Profil`](super::Profil), was
    /// taken.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut before = earlier.counts.iter().peekable();
        let counts = self.counts.iter().filter_map(|&(bin, ticks)| {
            while before.next_if(|&&(other, _)| other < bin).is_some() {}
            let seen = before.next_if(|&&(other, _)| other == bin);
            let new = ticks.saturating_sub(seen.map_or(0, |&(_, ticks)| ticks));
            (new > 0).then_some((bin, new))
        });
        Self {
            counts: counts.collect(),
        }
    }

    /// The `most` bins with the most ticks, hottest first; of equals the first.
    pub fn hottest(&self, most: usize) -> Vec<(Bin, u64)> {
        let mut counts = self.counts.clone();
        counts.sort_by_key(|&(_, ticks)| Reverse(ticks));
        counts.truncate(most);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(counts: &[(usize, u32, u64)]) -> Snapshot {
        let count = |&(region, number, ticks)| (Bin { region, number }, ticks);
        Snapshot::of(counts.iter().map(count).collect())
    }

    #[test]
    fn a_difference_holds_what_is_new() {
        let before = snapshot(&[(0, 1, 5), (0, 3, 2), (1, 0, 9)]);
        let after = snapshot(&[(0, 0, 1), (0, 1, 5), (0, 3, 7), (1, 0, 10), (1, 1, 4)]);
        let new = snapshot(&[(0, 0, 1), (0, 3, 5), (1, 0, 1), (1, 1, 4)]);
        assert_eq!(after.since(&before), new);
        assert_eq!(after.since(&Snapshot::default()), after);
        assert_eq!(after.since(&after), Snapshot::default());
        assert_eq!(after.ticks() - before.ticks(), new.ticks());
    }

    #[test]
    fn the_hottest_come_first() {
        let snapshot = snapshot(&[(0, 0, 1), (0, 3, 5), (1, 0, 5), (1, 1, 4)]);
        let bin = |region, number| Bin { region, number };
        assert_eq!(snapshot.hottest(2), [(bin(0, 3), 5), (bin(1, 0), 5)]);
        assert_eq!(snapshot.hottest(9).len(), 4);
        assert_eq!(snapshot.get(bin(1, 1)), 4);
        assert_eq!(snapshot.get(bin(7, 1)), 0);
    }
}
