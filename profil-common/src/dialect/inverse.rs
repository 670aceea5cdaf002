//! Where the text of a counter begins: the formulas, read backwards. Only the user half asks.

use super::{Classic, Dialect};

impl Classic {
    /// Returns the lowest address, from the offset upwards, that adds to counter `bin` or to a
    /// higher one, or `None` if the dialect's word holds no such address.
    ///
    /// Addresses that come around are not looked for, and neither is the end of the buffer: the
    /// address of the first counter behind it is where the range ends.
    pub fn address_of(&self, dialect: Dialect, bin: u64) -> Option<u64> {
        let bits = dialect.rules().word_bits;
        let highest = u64::MAX >> (u64::BITS - bits);
        let offset = self.offset & highest;
        let distance = self.distance_of(dialect, u128::from(bin))?;
        let address = u64::try_from(distance).ok()?.checked_add(offset)?;
        (address <= highest).then_some(address)
    }

    fn distance_of(&self, dialect: Dialect, bin: u128) -> Option<u128> {
        let scale = u128::from(self.scale);
        match dialect {
            // The scale loses its low bit, and the first counter half of its text.
            Dialect::V7 => {
                let half = u128::from(self.scale as u16 >> 1);
                scaled(bin.checked_mul(2)?.saturating_sub(1), 16_384, half, 2)
            }
            Dialect::Bsd43 => scaled(bin, 32_768, scale >> 1, 2)
                .filter(|&distance| distance <= i32::MAX.cast_unsigned().into()),
            Dialect::Modern | Dialect::Glibc | Dialect::Glibc32 => scaled(bin, 65_536, scale, 2),
            Dialect::Sprofil | Dialect::SprofilUint if self.is_overflow() => clock(bin),
            Dialect::Sprofil => scaled(bin, 65_536, scale, 2),
            Dialect::SprofilUint => scaled(bin, 65_536, scale, 4),
            Dialect::Svr4 if self.scale == 2 => clock(bin),
            Dialect::Bsd44 | Dialect::Bsd | Dialect::XnuIlp32 | Dialect::Xnu | Dialect::Svr4 => {
                scaled(bin, 131_072, scale, 1)
            }
        }
    }
}

/// The lowest multiple of `unit` whose product with the fraction reaches `bin`.
fn scaled(bin: u128, one: u128, scale: u128, unit: u128) -> Option<u128> {
    match (bin, scale) {
        (0, _) => Some(0),
        (_, 0) => None,
        _ => unit.checked_mul(bin.checked_mul(one)?.div_ceil(scale)),
    }
}

/// One counter for everything.
fn clock(bin: u128) -> Option<u128> {
    (bin == 0).then_some(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Classic, Dialect};
    use crate::cell;

    #[test]
    fn the_half_counter_of_the_seventh_edition() {
        let region = Classic {
            bytes: 4096,
            scale: 0o20000,
            ..Classic::default()
        };
        for (bin, address) in [(0, 0), (1, 8), (2, 24), (3, 40)] {
            assert_eq!(region.address_of(Dialect::V7, bin), Some(address));
        }
        assert_eq!(region.address_of(Dialect::V7, 0x8000), None);
    }

    #[test]
    fn a_clock_has_one_counter() {
        let region = Classic {
            offset: 0x1000,
            bytes: 64,
            scale: 2,
            added: 0,
        };
        assert_eq!(region.address_of(Dialect::Svr4, 0), Some(0x1000));
        assert_eq!(region.address_of(Dialect::Svr4, 1), None);
    }

    proptest! {
        /// A buffer of 60,000 bytes is one that every word can have.
        #[test]
        fn a_counter_begins_where_it_begins(
            dialect in prop::sample::select(Dialect::ALL),
            offset in 0_u64..0x4000,
            scale in prop_oneof![2_u32..0x1_0000, Just(0x8000), Just(0xffff)],
            bin in 1_u64..15_000,
        ) {
            let region = Classic { offset, bytes: 60_000, scale, added: 0 };
            if let Some(address) = region.address_of(dialect, bin) {
                let counted = cell(dialect, &region, address);
                prop_assert!(counted.is_some_and(|counted| counted >= bin), "{counted:?}");
                let before = cell(dialect, &region, address - 1);
                prop_assert!(before.is_some_and(|before| before < bin), "{before:?}");
            } else {
                let highest = u64::MAX >> (u64::BITS - dialect.rules().word_bits);
                let last = cell(dialect, &region, highest);
                prop_assert!(last.is_none_or(|last| last < bin), "{last:?}");
            }
        }
    }
}
