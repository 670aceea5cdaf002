//! What a call of `profil` does, before there is any tick.

use super::{Classic, Dialect};
use crate::SCALE_ONE;

/// What became of a call with a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Ticks are counted from now on.
    On,
    /// Profiling is turned off.
    Off,
    /// The call succeeds, and no tick will ever be counted for it.
    Ineffective,
    /// The call fails, and what was before goes on.
    Refused(Refusal),
}

/// Why a call fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// The scale is more than one counter for two bytes of text.
    ScaleAboveOne,
    /// The scale is zero, where that is no way to turn profiling off.
    ScaleOfZero,
}

impl Effect {
    /// Whether ticks are counted.
    pub const fn counts(self) -> bool {
        matches!(self, Self::On)
    }
}

impl Refusal {
    /// The number that the call leaves in `errno`: every refusal of an argument is `EINVAL`.
    #[doc(alias = "EINVAL")]
    pub const ERRNO: i32 = 22;
}

impl Dialect {
    /// What a call does that describes `region` and has a buffer for it.
    ///
    /// Only the C library is turned off by a missing buffer, which this cannot show; `sprofil`,
    /// by its second call.
    pub const fn call(self, region: &Classic) -> Effect {
        let scale = region.scale;
        match self {
            Self::Modern => match scale {
                0 => Effect::Refused(Refusal::ScaleOfZero),
                1..=SCALE_ONE => on_if(region.bytes >= 2),
                _ => Effect::Refused(Refusal::ScaleAboveOne),
            },
            // The manuals say that 1 turns it off as well; the code counts everything at once.
            Self::V7 if scale as u16 == 0 => Effect::Off,
            Self::V7 => on_if(region.bytes as u16 > 0),
            Self::Bsd43 if scale == 0 => Effect::Off,
            Self::Bsd43 => on_if(region.bytes as u32 > 0),
            // Of an added region nothing is asked.
            Self::XnuIlp32 if region.added != 0 => on_if(region.bytes as u32 > 0),
            Self::Xnu if region.added != 0 => on_if(region.bytes > 0),
            Self::Bsd44 | Self::XnuIlp32 => by_scale(scale, region.bytes as u32 > 0),
            Self::Bsd | Self::Xnu => by_scale(scale, region.bytes > 0),
            Self::Svr4 => match scale {
                0 | 1 => Effect::Off,
                // The size is not looked at.
                2 => Effect::On,
                _ => on_if(region.bytes > 0),
            },
            Self::Glibc => on_if(region.bytes >= 2),
            Self::Glibc32 => on_if(region.bytes as u32 >= 2),
            Self::Sprofil => on_if(scale >= 2 && region.bytes >= 2),
            Self::SprofilUint => on_if(scale >= 2 && region.bytes >= 4),
        }
    }
}

/// How the BSDs since 4.4 read a scale.
const fn by_scale(scale: u32, has_room: bool) -> Effect {
    match scale {
        0 => Effect::Off,
        1..=SCALE_ONE => on_if(has_room),
        _ => Effect::Refused(Refusal::ScaleAboveOne),
    }
}

const fn on_if(has_room: bool) -> Effect {
    if has_room {
        Effect::On
    } else {
        Effect::Ineffective
    }
}

#[cfg(test)]
mod tests {
    use super::{Classic, Dialect, Effect, Refusal};

    /// What a call does with a scale and a number of bytes.
    fn call(dialect: Dialect, scale: u32, bytes: u64) -> Effect {
        dialect.call(&Classic {
            offset: 0x1000,
            bytes,
            scale,
            added: 0,
        })
    }

    const TOO_FINE: Effect = Effect::Refused(Refusal::ScaleAboveOne);

    #[test]
    fn the_scales_at_the_ends() {
        use Effect::{Ineffective, Off, On};
        let zero = Effect::Refused(Refusal::ScaleOfZero);
        for (dialect, effects) in [
            (Dialect::Modern, [zero, On, On, On, TOO_FINE]),
            // 16 bits: 65536 is 0, and 65537 is 1.
            (Dialect::V7, [Off, On, On, Off, On]),
            (Dialect::Bsd43, [Off, On, On, On, On]),
            (Dialect::Bsd44, [Off, On, On, On, TOO_FINE]),
            (Dialect::Bsd, [Off, On, On, On, TOO_FINE]),
            (Dialect::XnuIlp32, [Off, On, On, On, TOO_FINE]),
            (Dialect::Xnu, [Off, On, On, On, TOO_FINE]),
            (Dialect::Svr4, [Off, Off, On, On, On]),
            (Dialect::Glibc, [On, On, On, On, On]),
            (Dialect::Glibc32, [On, On, On, On, On]),
            (Dialect::Sprofil, [Ineffective, Ineffective, On, On, On]),
            (Dialect::SprofilUint, [Ineffective, Ineffective, On, On, On]),
        ] {
            for (scale, effect) in [0, 1, 2, 0x1_0000, 0x1_0001].into_iter().zip(effects) {
                assert_eq!(call(dialect, scale, 100), effect, "{dialect:?} {scale:#x}");
            }
        }
    }

    #[test]
    fn the_sizes_at_the_ends() {
        for &dialect in Dialect::ALL {
            let least = match dialect {
                Dialect::V7 | Dialect::Bsd43 | Dialect::Bsd44 | Dialect::Bsd => 1,
                Dialect::XnuIlp32 | Dialect::Xnu | Dialect::Svr4 => 1,
                Dialect::SprofilUint => 4,
                _ => 2,
            };
            for bytes in 0..6 {
                let counts = call(dialect, 0x8000, bytes).counts();
                assert_eq!(counts, bytes >= least, "{dialect:?} {bytes}");
            }
        }
        assert_eq!(call(Dialect::Svr4, 2, 0), Effect::On);
        for dialect in [Dialect::Bsd43, Dialect::Bsd44, Dialect::Glibc32] {
            assert_eq!(call(dialect, 2, 1 << 32), Effect::Ineffective);
        }
        assert_eq!(call(Dialect::V7, 2, 1 << 16), Effect::Ineffective);
    }

    #[test]
    fn nothing_is_asked_of_an_added_region() {
        for dialect in [Dialect::XnuIlp32, Dialect::Xnu] {
            for scale in [0, 0x1_0001, u32::MAX] {
                let region = Classic {
                    offset: 0,
                    bytes: 2,
                    scale,
                    added: 1,
                };
                assert_eq!(dialect.call(&region), Effect::On, "{dialect:?} {scale:#x}");
            }
        }
    }
}
