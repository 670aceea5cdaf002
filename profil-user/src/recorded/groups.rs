//! Ticks at addresses that no function covers: each address for itself, as long as there are not
//! too many.

use std::collections::BTreeMap;

/// Ticks by address. Past the limit, neighbours are taken together.
#[derive(Debug)]
pub(super) struct Groups {
    /// First address that ticked, and ticks, by address / width.
    ticks: BTreeMap<u64, (u64, u64)>,
    /// Bytes of text that are one address.
    width: u64,
}

/// More lines than anybody reads, and few enough to be no burden.
const MOST: usize = 65_536;

impl Default for Groups {
    fn default() -> Self {
        Self {
            ticks: BTreeMap::new(),
            width: 1,
        }
    }
}

impl Groups {
    pub(super) fn add(&mut self, address: u64, ticks: u64) {
        self.put(address, ticks);
        while self.ticks.len() > MOST {
            self.width *= 2;
            for (address, ticks) in std::mem::take(&mut self.ticks).into_values() {
                self.put(address, ticks);
            }
        }
    }

    fn put(&mut self, address: u64, ticks: u64) {
        let group = self.ticks.entry(address / self.width);
        let (_, sum) = group.or_insert((address, 0));
        *sum = sum.saturating_add(ticks);
    }

    /// Bytes of text that are one address, if they had to be more than the bins.
    pub(super) fn width(&self) -> Option<u64> {
        (self.width > 1).then_some(self.width)
    }

    pub(super) fn into_ticks(self) -> impl Iterator<Item = (u64, u64)> {
        self.ticks.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::{Groups, MOST};

    #[test]
    fn few_addresses_stay_apart() {
        let mut groups = Groups::default();
        for (address, ticks) in [(9, 1), (4, 2), (9, 3)] {
            groups.add(address, ticks);
        }
        assert_eq!(groups.width(), None);
        assert_eq!(groups.into_ticks().collect::<Vec<_>>(), [(4, 2), (9, 4)]);
    }

    #[test]
    fn many_are_taken_together_and_none_is_lost() {
        let mut groups = Groups::default();
        let many = 3 * MOST as u64;
        for address in 0..many {
            groups.add(0x1000 + 2 * address, 1);
        }
        assert!(groups.width().is_some());
        let all: Vec<_> = groups.into_ticks().collect();
        assert!(all.len() <= MOST);
        assert_eq!(all.iter().map(|&(_, ticks)| ticks).sum::<u64>(), many);
        assert_eq!(all[0].0, 0x1000);
    }
}
