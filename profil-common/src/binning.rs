//! The one definition of "which bin".
//!
//! `profil(2)` of 4.4BSD gives the formula `bin = [(pc - offset) / 2] * scale / 65536`, where the
//! scale is a 16.16 fixed-point fraction: 0x10000 gives every two bytes of text a bin of their
//! own, 0x8000 every four, and so on. All divisions are integer divisions.

/// Bytes of text that one bin covers at [`SCALE_ONE`].
pub const TEXT_BYTES_PER_BIN: u64 = 2;

/// The scale 1.0 in 16.16 fixed point: the finest there is.
pub const SCALE_ONE: u32 = 0x1_0000;

/// Returns the bin of a program counter `distance` bytes above the offset of its region.
///
/// `scale` is at most [`SCALE_ONE`]. The result is exact for every distance: the product is
/// split at bit 16, so it cannot overflow.
#[inline(always)]
pub const fn bin_of(distance: u64, scale: u32) -> u64 {
    let unit = distance / TEXT_BYTES_PER_BIN;
    let scale = scale as u64;
    (unit >> 16) * scale + (((unit & 0xffff) * scale) >> 16)
}

/// Returns the lowest distance that [`bin_of`] sends to `bin` or above: the inverse of the
/// formula, `2 * ceil(bin * 65536 / scale)`.
///
/// # Panics
///
/// If `scale` is 0, which no region has.
pub const fn first_distance_of(bin: u64, scale: u32) -> u64 {
    let exact = (bin as u128 * SCALE_ONE as u128).div_ceil(scale as u128);
    TEXT_BYTES_PER_BIN * exact as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SCALE_ONE, bin_of, first_distance_of};

    /// The manual's formula in exact arithmetic, with no tricks.
    fn by_definition(distance: u64, scale: u32) -> u64 {
        u64::try_from(u128::from(distance / 2) * u128::from(scale) / 65_536).unwrap()
    }

    #[test]
    fn two_bytes_of_text_a_bin_at_scale_one() {
        for (distance, bin) in [(0, 0), (1, 0), (2, 1), (3, 1), (0x1_0000, 0x8000)] {
            assert_eq!(bin_of(distance, SCALE_ONE), bin, "distance {distance:#x}");
        }
    }

    #[test]
    fn an_odd_distance_is_halved_before_it_is_scaled() {
        // At three quarters, distance 3 is unit 1 and bin 0; scaling first would give bin 1.
        assert_eq!(bin_of(3, 0xc000), 0);
        assert_eq!(bin_of(4, 0xc000), 1);
    }

    #[test]
    fn the_highest_address_does_not_overflow() {
        assert_eq!(bin_of(u64::MAX, SCALE_ONE), u64::MAX / 2);
        assert_eq!(bin_of(u64::MAX, 1), (u64::MAX / 2) >> 16);
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(distance: u64, scale in 1..=SCALE_ONE) {
            prop_assert_eq!(bin_of(distance, scale), by_definition(distance, scale));
        }

        #[test]
        fn the_inverse_is_the_first_distance(bin in 0_u64..1 << 40, scale in 1..=SCALE_ONE) {
            let first = first_distance_of(bin, scale);
            prop_assert!(bin_of(first, scale) >= bin);
            if first > 0 {
                prop_assert!(bin_of(first - 1, scale) < bin);
            }
        }
    }
}
