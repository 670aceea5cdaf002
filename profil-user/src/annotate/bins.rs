//! Which addresses a count stands for.

use profil_common::TEXT_BYTES_PER_BIN;

use super::Sum;
use crate::profile::{Count, Object};

/// Ticks that were counted together, at some address of `start..end`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bin {
    /// First link-time address.
    pub start: u64,
    /// First one past it.
    pub end: u64,
    /// The ticks.
    pub sum: Sum,
}

impl Bin {
    /// The addresses of a count in an object. `is_off_grid` says that bins need not begin at a multiple
    /// of their width: those of regions that were asked for.
    pub fn of(count: &Count, object: &Object, is_off_grid: bool) -> Self {
        let address = count.address;
        // What is in no profiled range was not counted by a bin, and neither was what is between two:
        // a stray, whose address is exact. The same file may be mapped with bins of several widths.
        let widths = object.text.iter().filter_map(|text| {
            let distance = address.checked_sub(text.start)?;
            let is_in = address < text.end;
            let width = text.width.max(TEXT_BYTES_PER_BIN);
            (is_in && (is_off_grid || distance % width == 0)).then_some(width)
        });
        let width = widths.max().unwrap_or(1);
        Self {
            start: address,
            end: address.saturating_add(width),
            sum: Sum {
                user: count.user,
                system: count.system,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bin, Count, Object, Sum};
    use crate::profile::{ObjectId, ObjectKind, Text};

    #[test]
    fn a_bin_is_as_wide_as_its_range_says_and_a_stray_is_exact() {
        let text = |start, end, width| Text { start, end, width };
        let object = Object {
            kind: ObjectKind::Vdso,
            is_main: false,
            build_id: None,
            text: vec![
                text(0x1000, 0x2000, 2),
                text(0x2000, 0x3000, 8),
                // The same text in another process, where memory was short.
                text(0x1000, 0x1800, 4),
            ],
        };
        let bytes = |address, is_off_grid| {
            let count = Count {
                object: ObjectId::new(0),
                address,
                user: 3,
                system: 4,
            };
            let bin = Bin::of(&count, &object, is_off_grid);
            assert_eq!((bin.start, bin.sum), (address, Sum { user: 3, system: 4 }));
            bin.end - bin.start
        };
        assert_eq!(bytes(0xfff, false), 1);
        assert_eq!(bytes(0x1000, false), 4);
        assert_eq!(bytes(0x1002, false), 2);
        assert_eq!(bytes(0x1003, false), 1);
        assert_eq!(bytes(0x1800, false), 2);
        assert_eq!(bytes(0x2008, false), 8);
        assert_eq!(bytes(0x2004, false), 1);
        assert_eq!(bytes(0x2004, true), 8);
        assert_eq!(bytes(0x3000, false), 1);
    }
}
