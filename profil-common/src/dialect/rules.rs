//! What tells one dialect from another, besides formula and call: a table.

use core::cmp::{Ordering, Reverse};

use super::{Classic, Dialect};

/// The rules of a dialect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rules {
    /// Bits of an address, an offset and a size: larger values are cut.
    pub word_bits: u32,
    /// Bits of a counter.
    pub counter_bits: u32,
    /// What a counter does that has no room for one more.
    pub limit: Limit,
    /// What a child process has of it.
    pub fork: Fork,
    /// What becomes of it when the process starts another program.
    pub exec: Exec,
    /// How many regions a process can have.
    pub lists: Lists,
}

/// What becomes of a counter at its limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// It has none that anybody could reach.
    Never,
    /// It starts again at zero.
    Wraps,
    /// It stays at its highest value.
    Saturates,
    /// The tick that would take it past this value is not counted, and nothing is after it.
    StopsEverything {
        /// The highest value that a counter can have.
        at: u64,
    },
}

/// What a child process has of its parent's profiling.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fork {
    /// It goes on, in a copy of the buffer that is its own.
    Continues,
    /// It is not profiled.
    Ends,
}

/// What becomes of profiling in the next program of a process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exec {
    /// It goes on there.
    Follows,
    /// It is turned off.
    Ends,
    /// The timer goes on and the handler does not, so the program is killed by its first tick.
    /// Nobody is killed here: profiling ends.
    Kills,
}

/// How many regions a process can have, and which of them counts a tick.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lists {
    /// Only one: the next call replaces it.
    One,
    /// Many that do not overlap.
    Disjoint,
    /// Many, and the first that can count a tick does.
    FirstThatCounts,
    /// Many, and the one with the highest offset whose span holds the address counts a tick.
    HighestOffset,
}

/// The highest value that a counter of SVR4 can have.
const HIGHEST_OF_SVR4: u64 = 32_767;

impl Dialect {
    /// The rules of this dialect.
    pub const fn rules(self) -> Rules {
        let classic = Rules {
            word_bits: 64,
            counter_bits: 16,
            limit: Limit::Wraps,
            fork: Fork::Continues,
            exec: Exec::Ends,
            lists: Lists::One,
        };
        match self {
            Self::Modern => Rules {
                counter_bits: 64,
                limit: Limit::Never,
                exec: Exec::Follows,
                lists: Lists::Disjoint,
                ..classic
            },
            Self::V7 => Rules {
                word_bits: 16,
                ..classic
            },
            Self::Bsd43 | Self::Bsd44 => Rules {
                word_bits: 32,
                ..classic
            },
            Self::Bsd => classic,
            Self::XnuIlp32 | Self::Xnu => Rules {
                word_bits: if matches!(self, Self::Xnu) { 64 } else { 32 },
                fork: Fork::Ends,
                lists: Lists::FirstThatCounts,
                ..classic
            },
            Self::Svr4 => Rules {
                limit: Limit::StopsEverything {
                    at: HIGHEST_OF_SVR4,
                },
                ..classic
            },
            Self::Glibc | Self::Glibc32 => Rules {
                word_bits: if matches!(self, Self::Glibc) { 64 } else { 32 },
                fork: Fork::Ends,
                exec: Exec::Kills,
                ..classic
            },
            Self::Sprofil | Self::SprofilUint => Rules {
                counter_bits: if matches!(self, Self::Sprofil) {
                    16
                } else {
                    32
                },
                limit: Limit::Saturates,
                fork: Fork::Ends,
                exec: Exec::Kills,
                lists: Lists::HighestOffset,
                ..classic
            },
        }
    }

    /// The value that no counter may pass, because everything stops before. The kernel half asks
    /// on every tick, and of [`Dialect::rules`] this is all that it has to know.
    #[inline(always)]
    pub const fn stops_at(self) -> Option<u64> {
        match self {
            Self::Svr4 => Some(HIGHEST_OF_SVR4),
            _ => None,
        }
    }

    /// What a counter of `region` shows after `ticks`, which we count in 64 bits: user and
    /// system time together, as the dialects do.
    pub const fn shown(self, region: &Classic, ticks: u64) -> u64 {
        let rules = self.rules();
        let highest = u64::MAX >> (u64::BITS - rules.counter_bits);
        match rules.limit {
            Limit::Never => ticks,
            Limit::Wraps => ticks & highest,
            // Of all counters of `sprofil`, the one for the rest wraps.
            Limit::Saturates if region.is_overflow() => ticks & highest,
            Limit::Saturates if ticks > highest => highest,
            Limit::StopsEverything { at } if ticks > at => at,
            Limit::Saturates | Limit::StopsEverything { .. } => ticks,
        }
    }

    /// Whether `one` has to be tried before `other`, for a sort that keeps equals in the order
    /// in which they were given.
    pub fn order(self, one: &Classic, other: &Classic) -> Ordering {
        match self.rules().lists {
            Lists::HighestOffset => {
                let place = |region: &Classic| (region.is_overflow(), Reverse(region.offset));
                place(one).cmp(&place(other))
            }
            Lists::One | Lists::Disjoint | Lists::FirstThatCounts => Ordering::Equal,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::{Classic, Dialect, Limit};

    fn shown(dialect: Dialect, ticks: u64) -> u64 {
        dialect.shown(&Classic::default(), ticks)
    }

    #[test]
    fn counters_at_their_limit() {
        for (dialect, shows) in [
            (Dialect::Modern, [32_767, 32_768, 65_535, 65_536, 1 << 32]),
            (Dialect::V7, [32_767, 32_768, 65_535, 0, 0]),
            (Dialect::Glibc, [32_767, 32_768, 65_535, 0, 0]),
            (Dialect::Svr4, [32_767; 5]),
            (Dialect::Sprofil, [32_767, 32_768, 65_535, 65_535, 65_535]),
            (
                Dialect::SprofilUint,
                [32_767, 32_768, 65_535, 65_536, (1 << 32) - 1],
            ),
        ] {
            for (ticks, shows) in [32_767, 32_768, 65_535, 65_536, 1 << 32]
                .into_iter()
                .zip(shows)
            {
                assert_eq!(shown(dialect, ticks), shows, "{dialect:?} {ticks}");
            }
        }
    }

    #[test]
    fn the_counter_for_the_rest_wraps() {
        let rest = Classic {
            scale: 2,
            ..Classic::default()
        };
        assert_eq!(Dialect::Sprofil.shown(&rest, 65_536), 0);
        assert_eq!(Dialect::SprofilUint.shown(&rest, (1 << 32) + 5), 5);
    }

    #[test]
    fn the_table_and_the_kernels_question_agree() {
        for &dialect in Dialect::ALL {
            let stops_at = match dialect.rules().limit {
                Limit::StopsEverything { at } => Some(at),
                _ => None,
            };
            assert_eq!(dialect.stops_at(), stops_at, "{dialect:?}");
        }
    }

    #[test]
    fn sprofil_goes_from_the_top_down_and_the_rest_comes_last() {
        let region = |offset, scale| Classic {
            offset,
            bytes: 8,
            scale,
            added: 0,
        };
        let given = [
            region(0, 2),
            region(0, 0x8000),
            region(0x2000, 2),
            region(0x3000, 3),
            region(0x2000, 4),
        ];
        let arranged = |dialect: Dialect| {
            let mut regions = given;
            regions.sort_by(|one, other| dialect.order(one, other));
            let short = |region: &Classic| (region.offset, region.scale);
            regions.iter().map(short).collect::<Vec<_>>()
        };
        assert_eq!(
            arranged(Dialect::Sprofil),
            [(0x3000, 3), (0x2000, 2), (0x2000, 4), (0, 0x8000), (0, 2)]
        );
        assert_eq!(arranged(Dialect::Xnu)[0], (0, 2));
    }
}
