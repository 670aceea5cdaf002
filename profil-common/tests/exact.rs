//! The formulas against a second implementation: whole numbers without a limit, from which the
//! machine's word is cut out at the places where the machine did it, and no tricks.

use profil_common::{Classic, Dialect, cell};
use proptest::prelude::*;

const BITS_16: i128 = 1 << 16;
const BITS_32: i128 = 1 << 32;
const BITS_64: i128 = 1 << 64;

/// The four numbers of a call and a tick's address, without limits.
struct Numbers {
    offset: i128,
    bytes: i128,
    scale: i128,
    pc: i128,
}

impl Numbers {
    fn in_words_of(region: &Classic, pc: u64, word: i128) -> Self {
        Self {
            offset: i128::from(region.offset) % word,
            bytes: i128::from(region.bytes) % word,
            scale: i128::from(region.scale) % word,
            pc: i128::from(pc) % word,
        }
    }

    fn distance(&self) -> i128 {
        self.pc - self.offset
    }
}

/// The counter, by the descriptions of the dialects.
fn by_description(dialect: Dialect, region: &Classic, pc: u64) -> Option<i128> {
    let words = |word| Numbers::in_words_of(region, pc, word);
    match dialect {
        Dialect::Modern => {
            let n = words(BITS_64);
            let bin = (n.distance() / 2 * n.scale) / 65_536;
            let fits = n.distance() >= 0 && bin < n.bytes / 2;
            ((1..=65_536).contains(&n.scale) && fits).then_some(bin)
        }
        Dialect::V7 => {
            let n = words(BITS_16);
            let distance = n.distance().rem_euclid(BITS_16);
            let index = round_up_to_even((distance / 2) * (n.scale / 2) / 16_384);
            (n.scale != 0 && index < n.bytes).then_some(index / 2)
        }
        Dialect::Bsd43 => {
            let n = words(BITS_32);
            let distance = signed(n.distance(), BITS_32);
            let exact = (distance / 2) * (n.scale / 2) / 16_384;
            let index = exact / 2 * 2;
            let fits = exact < BITS_32 && index < n.bytes;
            (n.scale != 0 && distance >= 0 && fits).then_some(index / 2)
        }
        Dialect::Bsd44 => {
            let n = words(BITS_32);
            let index = n.distance() * n.scale / 65_536;
            let valid = (1..=65_536).contains(&n.scale) && n.distance() >= 0;
            (valid && index / 2 * 2 < n.bytes).then_some(index / 2)
        }
        Dialect::Bsd => {
            let n = words(BITS_64);
            let bin = aliased(n.distance() * n.scale, n.bytes);
            let valid = (1..=65_536).contains(&n.scale) && n.distance() >= 0;
            bin.filter(|_| valid)
        }
        Dialect::XnuIlp32 => {
            let n = words(BITS_32);
            let index = n.distance().rem_euclid(BITS_32) * n.scale / 65_536 % BITS_32;
            let valid = region.added != 0 || (1..=65_536).contains(&n.scale);
            (valid && index / 2 * 2 < n.bytes).then_some(index / 2)
        }
        Dialect::Xnu => {
            let n = words(BITS_64);
            let bin = aliased(n.distance().rem_euclid(BITS_64) * n.scale, n.bytes);
            let valid = region.added != 0 || (1..=65_536).contains(&n.scale);
            bin.filter(|_| valid)
        }
        Dialect::Svr4 => {
            let n = words(BITS_64);
            let index = n.distance() * n.scale / 65_536;
            match n.scale {
                _ if n.distance() < 0 => None,
                0 | 1 => None,
                2 => Some(0),
                _ => (index % BITS_64 < n.bytes).then_some(index % BITS_64 / 2),
            }
        }
        Dialect::Glibc => unchecked(&words(BITS_64), BITS_64),
        Dialect::Glibc32 => unchecked(&words(BITS_32), BITS_32),
        Dialect::Sprofil => span(&words(BITS_64), 2),
        Dialect::SprofilUint => span(&words(BITS_64), 4),
    }
}

fn round_up_to_even(index: i128) -> i128 {
    (index + 1) / 2 * 2
}

/// The number that a word stands for if its highest bit is a sign.
fn signed(value: i128, word: i128) -> i128 {
    let value = value.rem_euclid(word);
    if value < word / 2 {
        value
    } else {
        value - word
    }
}

/// A product in 64 bits, whose byte index is an `int`.
fn aliased(product: i128, bytes: i128) -> Option<i128> {
    let index = signed(product % BITS_64 / 65_536, BITS_32);
    (index >= 0 && index / 2 * 2 < bytes).then_some(index / 2)
}

/// The C library asks no questions.
fn unchecked(n: &Numbers, word: i128) -> Option<i128> {
    let bin = n.distance().rem_euclid(word) / 2 * n.scale / 65_536 % word;
    (bin < n.bytes / 2).then_some(bin)
}

/// Its `sprofil` looks for the span first.
fn span(n: &Numbers, counter: i128) -> Option<i128> {
    let bins = n.bytes / counter;
    if n.offset == 0 && n.scale == 2 {
        return (bins > 0).then_some(0);
    }
    let bin = n.distance() / counter * n.scale / 65_536;
    let fits = n.distance() >= 0 && bin < bins;
    (n.scale >= 2 && fits).then_some(bin)
}

/// Where something happens: ends of words, signs, and what is used in practice.
const LANDMARKS: [u64; 16] = [
    0,
    1,
    0x1000,
    0x401000,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    0x5555_5555_4000,
    1 << 48,
    1 << 63,
    u64::MAX,
];

fn address() -> impl Strategy<Value = u64> {
    (prop::sample::select(&LANDMARKS[..]), -40_i64..40)
        .prop_map(|(near, by)| near.wrapping_add_signed(by))
}

fn scale() -> impl Strategy<Value = u32> {
    let ends = [0, 1, 2, 3, 4, 0x2000, 0x7fff, 0x8000, 0xc000, 0xfffe];
    let more = [0xffff, 0x1_0000, 0x1_0001, 0x2_0000, 0x4_0000, u32::MAX];
    prop_oneof![
        4 => prop::sample::select([&ends[..], &more[..]].concat()),
        2 => 0_u32..0x1_0010,
        1 => any::<u32>(),
    ]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..300,
        2 => 0_u64..0x2_0010,
        1 => any::<u32>().prop_map(u64::from),
        1 => any::<u64>(),
    ]
}

/// How far the tick is from the offset: near, at an edge of the buffer, or where an alias is.
fn distance() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => (-300_i64..300).prop_map(i64::cast_unsigned),
        3 => (0_u32..64, -40_i64..40).prop_map(|(bit, by)| (1_u64 << bit).wrapping_add_signed(by)),
        1 => any::<u64>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn near_the_offset_and_at_aliases(
        dialect in prop::sample::select(Dialect::ALL),
        offset in address(), bytes in bytes(), scale in scale(), added in 0_u32..2,
        distance in distance(),
    ) {
        let region = Classic { offset, bytes, scale, added };
        let pc = offset.wrapping_add(distance);
        let found = cell(dialect, &region, pc).map(i128::from);
        prop_assert_eq!(found, by_description(dialect, &region, pc), "pc {:#x}", pc);
    }

    /// Aimed at the two ends of a buffer: there the last counters are, and an odd byte.
    #[test]
    fn at_the_end_of_the_buffer(
        dialect in prop::sample::select(Dialect::ALL),
        offset in address(), bytes in 0_u64..5_000, scale in scale(),
        added in 0_u32..2, by in -9_i64..9,
    ) {
        let region = Classic { offset, bytes, scale, added };
        let end = (u128::from(bytes) * 65_536).checked_div(u128::from(scale)).unwrap_or(0);
        let pc = offset.wrapping_add(end as u64).wrapping_add_signed(by);
        let found = cell(dialect, &region, pc).map(i128::from);
        prop_assert_eq!(found, by_description(dialect, &region, pc), "pc {:#x}", pc);
    }

    #[test]
    fn no_counter_is_past_those_to_be_allocated(
        dialect in prop::sample::select(Dialect::ALL),
        offset in address(), bytes in bytes(), scale in scale(), added in 0_u32..2,
        distance in distance(),
    ) {
        let region = Classic { offset, bytes, scale, added };
        if let Some(bin) = cell(dialect, &region, offset.wrapping_add(distance)) {
            prop_assert!(bin < region.bins(dialect), "{} of {}", bin, region.bins(dialect));
        }
    }
}
