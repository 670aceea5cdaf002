//! Profiled ranges of text, and the search for the one that holds a program counter.

use crate::{
    binning::{bin_of, first_distance_of},
    limits::SEARCH_STEPS,
};

/// One profiled range of one process's text.
///
/// Every bit pattern is valid and there is no padding, so the kernel's copy can be written as
/// plain bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Region {
    /// Lowest address counted, in the process's address space.
    pub start: u64,
    /// The process that the range belongs to, or [`Region::OF_KERNEL`].
    pub tgid: u32,
    /// 16.16 fixed point, 1 to [`SCALE_ONE`](crate::SCALE_ONE); other dialects know others.
    pub scale: u32,
    /// Number of bins; an index at or past it is outside the region.
    pub bins: u32,
    /// Where this region's bin 0 lies among the bins of all regions.
    pub first: u32,
    /// Size of the buffer in bytes that the caller described, in all dialects but ours.
    pub bytes: u64,
}

const _: () = assert!(size_of::<Region>() == 8 + 4 * 4 + 8, "no padding");

impl Region {
    /// Returns the bin that `pc` falls in, counted from this region's bin 0, or `None` when it
    /// is outside the region.
    #[inline(always)]
    pub const fn bin(&self, pc: u64) -> Option<u32> {
        let Some(distance) = pc.checked_sub(self.start) else {
            return None;
        };
        let bin = bin_of(distance, self.scale);
        if bin < self.bins as u64 {
            Some(bin as u32)
        } else {
            None
        }
    }

    /// Stops the counting for good, as SVR4 does: the scale is taken away.
    #[inline(always)]
    pub const fn stop(&mut self) {
        self.scale = 0;
    }

    /// Whether [`Region::stop`] was called.
    #[inline(always)]
    pub const fn is_stopped(&self) -> bool {
        self.scale == 0
    }

    /// Returns the lowest address of `bin`, the inverse of [`Region::bin`].
    pub const fn address_of(&self, bin: u32) -> u64 {
        self.start + first_distance_of(bin as u64, self.scale)
    }
}

impl Region {
    /// What stands for a process in regions of the kernel's text, which is the same for all; no
    /// process has this number.
    pub const OF_KERNEL: u32 = u32::MAX;
}

/// Which of the regions are in use: the part of the table that was written last. It is written in
/// another part than the one in use, and then named here, as a whole.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C, align(8))]
pub struct RegionTable {
    /// How many there are.
    pub count: u32,
    /// The index of the first.
    pub first: u32,
}

impl RegionTable {
    /// As one number, to be written or read at once.
    #[cfg(target_endian = "little")]
    #[inline(always)]
    pub const fn from_number(number: u64) -> Self {
        Self {
            count: number as u32,
            first: (number >> 32) as u32,
        }
    }
}

#[cfg(feature = "user")]
// SAFETY: `RegionTable` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for RegionTable {}

/// Where a program counter is looked for: addresses mean nothing without their process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place {
    /// The process, or [`Region::OF_KERNEL`].
    pub tgid: u32,
    /// The program counter.
    pub pc: u64,
}

impl Place {
    /// Whether this place is in `region` or above it, in the order of the table.
    #[inline(always)]
    const fn at_or_above(self, region: &Region) -> bool {
        region.tgid < self.tgid || (region.tgid == self.tgid && region.start <= self.pc)
    }
}

/// Finds the region that holds `place` among the first `count` that `get` returns, sorted by
/// process and start, without overlap.
///
/// The search takes at most [`SEARCH_STEPS`] halvings, a bound that the verifier can see.
#[inline(always)]
pub fn find_region<'a>(
    place: Place,
    count: u32,
    get: impl Fn(u32) -> Option<&'a Region>,
) -> Option<(&'a Region, u32)> {
    // Regions below `low` start at or below the place; those from `high` on start above it.
    let mut low = 0;
    let mut high = count;
    let mut steps = 0;
    while steps < SEARCH_STEPS && low < high {
        let middle = low + (high - low) / 2;
        if place.at_or_above(get(middle)?) {
            low = middle + 1;
        } else {
            high = middle;
        }
        steps += 1;
    }
    let region = get(low.checked_sub(1)?)?;
    if region.tgid != place.tgid {
        return None;
    }
    let bin = region.bin(place.pc)?;
    Some((region, bin))
}

#[cfg(feature = "user")]
// SAFETY: `Region` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for Region {}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::{Place, Region, find_region};
    use crate::{binning::SCALE_ONE, limits::MAX_REGIONS};

    const TGID: u32 = 42;

    fn region(start: u64, bins: u32) -> Region {
        Region {
            start,
            tgid: TGID,
            scale: SCALE_ONE,
            bins,
            first: 0,
            bytes: 0,
        }
    }

    fn find(table: &[Region], tgid: u32, pc: u64) -> Option<(u64, u32)> {
        let count = u32::try_from(table.len()).unwrap();
        find_region(Place { tgid, pc }, count, |index| table.get(index as usize))
            .map(|(region, bin)| (region.start, bin))
    }

    #[test]
    fn the_edges_of_a_region() {
        let region = region(0x1000, 4);
        for (pc, bin) in [
            (0, None),
            (0x0fff, None),
            (0x1000, Some(0)),
            (0x1001, Some(0)),
            (0x1002, Some(1)),
            (0x1007, Some(3)),
            (0x1008, None),
            (u64::MAX, None),
        ] {
            assert_eq!(region.bin(pc), bin, "pc {pc:#x}");
        }
    }

    #[test]
    fn a_retired_region_holds_nothing() {
        assert_eq!(region(0x1000, 0).bin(0x1000), None);
    }

    #[test]
    fn an_empty_table_holds_nothing() {
        assert_eq!(find(&[], TGID, 0x1000), None);
    }

    #[test]
    fn the_same_address_in_another_process_is_elsewhere() {
        let mut table = [region(0x1000, 4), region(0x1000, 4), region(0x1000, 4)];
        table[0].tgid = 7;
        table[2].tgid = 77;
        for tgid in [7, TGID, 77] {
            assert_eq!(find(&table, tgid, 0x1002), Some((0x1000, 1)), "tgid {tgid}");
        }
        for tgid in [0, 8, 50, 100] {
            assert_eq!(find(&table, tgid, 0x1002), None, "tgid {tgid}");
        }
    }

    #[test]
    fn a_full_table_is_searched_to_its_ends() {
        let table: Vec<_> = (0..u64::from(MAX_REGIONS))
            .map(|index| region(index * 0x100, 0x40))
            .collect();
        for index in [0, 1, 2047, 2048, u64::from(MAX_REGIONS) - 1] {
            let start = index * 0x100;
            assert_eq!(find(&table, TGID, start), Some((start, 0)));
            assert_eq!(find(&table, TGID, start + 0x7f), Some((start, 0x3f)));
            assert_eq!(find(&table, TGID, start + 0x80), None);
        }
    }

    proptest! {
        /// Aimed at the regions and their edges: a uniformly random address would miss them all.
        #[test]
        fn finds_what_a_linear_search_finds(
            spans in prop::collection::vec((1_u32..64, 0_u64..64), 1..40),
            scale in prop::sample::select(&[SCALE_ONE, 0x8000, 0xc000, 0x4000][..]),
            at in 0.0..1.1,
            edge in -4_i64..4,
        ) {
            let mut table = Vec::new();
            let mut start = 0x40_0000;
            for (bins, gap) in spans {
                table.push(Region { start, tgid: TGID, scale, bins, first: 0, bytes: 0 });
                start = table.last().unwrap().address_of(bins) + gap;
            }
            let span = (start - 0x40_0000) as f64;
            let pc = 0x40_0000_u64.saturating_add_signed((at * span) as i64 + edge);
            let expected = table
                .iter()
                .find_map(|region| region.bin(pc).map(|bin| (region.start, bin)));
            prop_assert_eq!(find(&table, TGID, pc), expected);
        }

        #[test]
        fn the_address_of_a_bin_is_in_it(
            bins in 1_u32..10_000, scale in 1..=SCALE_ONE, at in 0.0..1.0,
        ) {
            let region = Region { start: 0x1234, tgid: TGID, scale, bins, first: 0, bytes: 0 };
            let bin = (f64::from(bins) * at) as u32;
            prop_assert_eq!(region.bin(region.address_of(bin)), Some(bin));
        }
    }
}
