//! The buffer of one explicit region, as its caller would have seen it.

use profil_common::{Classic, Dialect};

/// The counters of a region that was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Buffer {
    /// What was asked for, with the address in the process.
    pub region: Classic,
    /// By whose rules it is counted.
    pub dialect: Dialect,
    /// Number of counters.
    pub bins: u32,
    /// Counters that are not zero, by number: user and system ticks together, never wrapped.
    pub counts: Vec<(u32, u64)>,
}

impl Buffer {
    /// Bytes of one counter.
    pub const fn counter_bytes(&self) -> usize {
        self.dialect.rules().counter_bits as usize / 8
    }

    /// Every counter as the dialect shows it: wrapped, saturated or stopped.
    pub fn shown(&self) -> impl Iterator<Item = u64> {
        let mut counts = self.counts.iter().peekable();
        (0..self.bins).map(move |bin| {
            let ticks = counts
                .next_if(|&&(number, _)| number == bin)
                .map_or(0, |&(_, ticks)| ticks);
            self.dialect.shown(&self.region, ticks)
        })
    }

    /// All counters one after the other, little-endian, each as wide as the dialect has them.
    pub fn bytes(&self) -> Vec<u8> {
        let width = self.counter_bytes();
        self.shown()
            .flat_map(|count| count.to_le_bytes().into_iter().take(width))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_what_the_dialect_would_have_left() {
        let buffer = |dialect| Buffer {
            region: Classic {
                offset: 0x1000,
                bytes: 8,
                scale: 0x1_0000,
                added: 0,
            },
            dialect,
            bins: 4,
            counts: vec![(1, 3), (3, 65_537)],
        };
        assert_eq!(
            buffer(Dialect::Glibc).bytes(),
            [0, 0, 3, 0, 0, 0, 1, 0],
            "wraps"
        );
        assert_eq!(
            buffer(Dialect::Sprofil).bytes(),
            [0, 0, 3, 0, 0, 0, 0xff, 0xff],
            "saturates"
        );
        assert_eq!(buffer(Dialect::Modern).bytes().len(), 4 * 8);
        assert_eq!(
            buffer(Dialect::Modern).shown().collect::<Vec<_>>(),
            [0, 3, 0, 65_537]
        );
    }
}
