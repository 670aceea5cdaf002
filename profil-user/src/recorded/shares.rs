//! Which function has which part of a bin.
//!
//! A bin tells that ticks were somewhere in its text, not where. So a bin that lies in several
//! functions is shared out in proportion to the bytes that each has in it, and padding counts
//! with the function before it, as gprof does. Unlike gprof's, the parts always add up to the
//! bin; a bin of a fractional width has its true limits, not truncated ones; and a function has
//! a part of the bins only that it reaches into by its size, so that what lies between functions
//! (a PLT, text whose symbols were removed) is no neighbour's.

use super::groups::Groups;
use crate::{
    import::gmon::Histogram,
    profile::{Count, ObjectId},
    symbolize::{Extents, Stretch},
};

/// Ticks by address.
pub(super) struct Shares {
    /// Sorted, each address once.
    pub(super) counts: Vec<Count>,
    /// Ticks of bins that lie in several functions.
    pub(super) shared: u64,
    /// Bytes of text that are one address, where functions are unknown.
    pub(super) grouped: Option<u64>,
}

/// Shares out histograms that are sorted and do not overlap.
pub(super) fn of(histograms: &[Histogram], extents: &Extents) -> Shares {
    let mut named: Vec<(u64, u64)> = Vec::new();
    let mut nameless = Groups::default();
    let (mut parts, mut shared) = (Vec::new(), 0);
    for histogram in histograms {
        for (index, &ticks) in histogram.bins.iter().enumerate() {
            if ticks == 0 {
                continue;
            }
            let bin = Bin::new(histogram, index);
            bin.cut(extents, &mut parts);
            match parts[..] {
                [] => nameless.add(bin.first_byte(), ticks),
                [_] => {}
                _ => shared += ticks,
            }
            for (start, ticks) in split(ticks, &parts) {
                match named.last_mut() {
                    // Bins and functions both come by address.
                    Some((last, sum)) if *last == start => *sum = sum.saturating_add(ticks),
                    _ => named.push((start, ticks)),
                }
            }
        }
    }
    let grouped = nameless.width();
    named.extend(nameless.into_ticks());
    named.sort_unstable();
    let counts = named.into_iter().map(|(address, user)| Count {
        object: ObjectId::new(0),
        address,
        user,
        system: 0,
    });
    Shares {
        counts: counts.collect(),
        shared,
        grouped,
    }
}

/// One bin. Its limits are fractions of a byte, as a rule; times the number of bins of its
/// histogram they are whole.
struct Bin {
    low: u64,
    bins: u128,
    start: u128,
    end: u128,
}

impl Bin {
    fn new(histogram: &Histogram, index: usize) -> Self {
        let bytes = u128::from(histogram.bytes);
        Self {
            low: histogram.low,
            bins: histogram.bins.len() as u128,
            start: index as u128 * bytes,
            end: (index as u128 + 1) * bytes,
        }
    }

    fn first_byte(&self) -> u64 {
        self.low.saturating_add((self.start / self.bins) as u64)
    }

    /// An address as a limit.
    fn place(&self, address: u64) -> u128 {
        u128::from(address.saturating_sub(self.low)) * self.bins
    }

    /// Finds the functions in the bin: where each begins, and how much of the bin it has, the
    /// padding after it included. None if there is no function in it.
    fn cut(&self, extents: &Extents, parts: &mut Vec<(u64, u128)>) {
        parts.clear();
        for Stretch { start, end, named } in extents.from(self.first_byte()) {
            let from = self.place(start).max(self.start);
            if from >= self.end {
                break;
            }
            let to = end.map_or(self.end, |end| self.place(end).min(self.end));
            let size = to.saturating_sub(from);
            match parts.last_mut() {
                _ if size == 0 => {}
                Some((_, before)) if !named => *before += size,
                _ if named => parts.push((start, size)),
                // Padding of a function that is not in the bin.
                _ => {}
            }
        }
    }
}

/// Splits ticks by sizes, each part rounded so that the whole stays whole.
fn split(ticks: u64, parts: &[(u64, u128)]) -> impl Iterator<Item = (u64, u64)> {
    let whole: u128 = parts.iter().map(|&(_, size)| size).sum();
    // So that the products below have room; the sizes of a bin of exabytes need not be exact.
    let shift = (u128::BITS - whole.leading_zeros()).saturating_sub(u64::BITS - 1);
    let whole = (whole >> shift).max(1);
    let (mut so_far, mut given) = (0_u128, 0);
    parts.iter().filter_map(move |&(start, size)| {
        so_far += size;
        let due = (u128::from(ticks) * (so_far >> shift).min(whole) + whole / 2) / whole;
        let part = due as u64 - given;
        given = due as u64;
        (part > 0).then_some((start, part))
    })
}

#[cfg(test)]
mod tests;
