//! Which of a process's regions counts a tick.

use super::{Classic, Dialect, cell};
use crate::{Outcome, Place, Region, limits::MAX_CLASSIC_REGIONS};

/// A counter that a tick adds to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cell {
    /// The region's place in the table.
    pub region: u32,
    /// The counter's place among those of all regions.
    pub counter: u32,
}

/// Finds the counter for a tick at `place` among the first `count` regions that `get` returns,
/// in the order in which the dialect tries them. The first one that counts the tick has it.
///
/// Every region of XNU's but the first of a process is taken for one that was added. Regions
/// without bins are retired, and count nothing.
///
/// # Errors
///
/// What becomes of a tick that no counter is for: [`Outcome::Stray`] if the process has no
/// region, so that its address ought to be kept.
#[inline(always)]
pub fn find_cell<'a>(
    dialect: Dialect,
    place: Place,
    count: u32,
    get: impl Fn(u32) -> Option<&'a Region>,
) -> Result<Cell, Outcome> {
    let mut known = false;
    let mut index = 0;
    while index < MAX_CLASSIC_REGIONS && index < count {
        let Some(region) = get(index) else {
            break;
        };
        if region.tgid == place.tgid {
            if dialect.stops_at().is_some() && region.is_stopped() {
                return Err(Outcome::Stopped);
            }
            let classic = Classic {
                offset: region.start,
                bytes: region.bytes,
                scale: region.scale,
                added: known as u32,
            };
            known = true;
            if region.bins > 0
                && let Some(bin) = cell(dialect, &classic, place.pc)
            {
                if bin >= region.bins as u64 {
                    return Err(Outcome::NoBin);
                }
                return Ok(Cell {
                    region: index,
                    counter: region.first + bin as u32,
                });
            }
        }
        index += 1;
    }
    Err(if known {
        Outcome::OutOfRange
    } else {
        Outcome::Stray
    })
}

#[cfg(test)]
mod tests {
    use super::{Cell, Dialect, Outcome, Place, Region, find_cell};
    use crate::limits::MAX_CLASSIC_REGIONS;

    const TGID: u32 = 42;

    fn region(start: u64, bytes: u64, scale: u32, first: u32) -> Region {
        Region {
            start,
            tgid: TGID,
            scale,
            bins: bytes.div_ceil(2) as u32,
            first,
            bytes,
        }
    }

    fn find(dialect: Dialect, table: &[Region], pc: u64) -> Result<(u32, u32), Outcome> {
        let place = Place { tgid: TGID, pc };
        let count = table.len() as u32;
        find_cell(dialect, place, count, |index| table.get(index as usize))
            .map(|Cell { region, counter }| (region, counter))
    }

    #[test]
    fn the_first_region_that_counts_has_the_tick() {
        // Both hold 0x1004, and only the second holds 0x1010.
        let table = [
            region(0x1000, 8, 0x1_0000, 0),
            region(0x1000, 32, 0x8000, 4),
        ];
        assert_eq!(find(Dialect::Xnu, &table, 0x1004), Ok((0, 2)));
        assert_eq!(find(Dialect::Xnu, &table, 0x1010), Ok((1, 4 + 4)));
        assert_eq!(find(Dialect::Xnu, &table, 0x2000), Err(Outcome::OutOfRange));
    }

    #[test]
    fn only_an_added_region_may_have_any_scale() {
        let table = [region(0x1000, 2, 0x1_0000, 0), region(0, 8, 0x2_0000, 1)];
        assert_eq!(find(Dialect::Xnu, &table, 2), Ok((1, 1 + 2)));
        assert_eq!(find(Dialect::Xnu, &table[1..], 2), Err(Outcome::OutOfRange));
    }

    #[test]
    fn what_no_region_of_sprofil_holds_goes_to_the_entry_for_the_rest() {
        let table = [region(0x2000, 8, 0x1_0000, 0), region(0, 2, 2, 4)];
        assert_eq!(find(Dialect::Sprofil, &table, 0x2006), Ok((0, 3)));
        for pc in [0, 0x1fff, 0x2008, u64::MAX] {
            assert_eq!(find(Dialect::Sprofil, &table, pc), Ok((1, 4)), "{pc:#x}");
        }
    }

    #[test]
    fn the_addresses_of_other_processes_are_kept() {
        let mut table = [region(0x1000, 8, 0x1_0000, 0)];
        table[0].tgid = TGID + 1;
        assert_eq!(find(Dialect::V7, &table, 0x1000), Err(Outcome::Stray));
        assert_eq!(find(Dialect::V7, &[], 0x1000), Err(Outcome::Stray));
    }

    #[test]
    fn a_stopped_process_counts_nothing_in_range_or_out_of_it() {
        let mut table = [region(0x1000, 8, 0x1_0000, 0)];
        assert_eq!(find(Dialect::Svr4, &table, 0x1000), Ok((0, 0)));
        table[0].stop();
        for pc in [0, 0x1000, 0x9000] {
            assert_eq!(find(Dialect::Svr4, &table, pc), Err(Outcome::Stopped));
        }
    }

    #[test]
    fn a_retired_region_counts_nothing_and_one_too_small_says_so() {
        let mut table = [region(0x1000, 8, 0x1_0000, 0)];
        table[0].bins = 2;
        assert_eq!(find(Dialect::Bsd, &table, 0x1002), Ok((0, 1)));
        assert_eq!(find(Dialect::Bsd, &table, 0x1004), Err(Outcome::NoBin));
        table[0].bins = 0;
        assert_eq!(find(Dialect::Bsd, &table, 0x1002), Err(Outcome::OutOfRange));
    }

    #[test]
    fn the_last_region_that_is_tried() {
        let limit = MAX_CLASSIC_REGIONS as usize;
        let mut table = [region(0x1000, 8, 0x1_0000, 0); MAX_CLASSIC_REGIONS as usize + 1];
        table[limit - 1].start = 0x2000;
        table[limit].start = 0x3000;
        let last = MAX_CLASSIC_REGIONS - 1;
        assert_eq!(find(Dialect::Xnu, &table, 0x2002), Ok((last, 1)));
        assert_eq!(find(Dialect::Xnu, &table, 0x3002), Err(Outcome::OutOfRange));
    }
}
