//! The formula of every dialect, and its inverse.

use profil_common::{Classic, Dialect, cell};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "formula",
    seeds,
    run,
};

/// Bytes of an input: a dialect, then offset, size, program counter and scale.
const LENGTH: usize = 1 + 8 + 8 + 8 + 4;

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for dialect in 0..Dialect::ALL.len() as u8 {
        for (offset, bytes, pc, scale) in [
            (0x40_1000_u64, 4096_u64, 0x40_1003_u64, 0x1_0000_u32),
            (0, 101, 0xffff, 2),
            (0xffff_ffff_8100_0000, u64::MAX, 3, 0xffff),
            (0x8000_0000, 1, u64::MAX, 0xc000),
        ] {
            let mut seed = vec![dialect];
            seed.extend(offset.to_le_bytes());
            seed.extend(bytes.to_le_bytes());
            seed.extend(pc.to_le_bytes());
            seed.extend(scale.to_le_bytes());
            seeds.push(seed);
        }
    }
    seeds
}

fn run(input: &[u8]) -> Vec<u64> {
    let Some(input) = input.first_chunk::<LENGTH>() else {
        return vec![0];
    };
    let word = |at: usize| {
        let bytes = input[at..at + 8].try_into().expect("eight bytes");
        u64::from_le_bytes(bytes)
    };
    let number = u32::from(input[0]) % Dialect::ALL.len() as u32;
    let dialect = Dialect::from_number(number).expect("a number below the number of dialects");
    let scale = u32::from_le_bytes(input[25..29].try_into().expect("four bytes"));
    let region = Classic {
        offset: word(1),
        bytes: word(9),
        scale,
        added: 0,
    };
    let pc = word(17);
    let bins = region.bins(dialect);
    let hit = cell(dialect, &region, pc);
    if let Some(bin) = hit {
        assert!(dialect.call(&region).counts(), "{dialect:?} {region:?}");
        assert!(
            bin < bins,
            "{dialect:?} {region:?} {pc:#x}: {bin} of {bins}"
        );
        // Where a counter's text begins, that counter or a higher one is hit, if any is.
        let start = region.address_of(dialect, bin);
        let there = start.and_then(|start| cell(dialect, &region, start));
        if let Some(there) = there {
            assert!(
                there >= bin,
                "{dialect:?} {region:?} {pc:#x}: {there} for {bin}"
            );
        }
    }
    if dialect == Dialect::Modern {
        assert_eq!(hit, by_definition(&region, pc), "{region:?} {pc:#x}");
    }
    let size = |value: u64| u64::from(value.ilog2().min(63));
    vec![
        u64::from(number) << 32
            | u64::from(hit.is_some()) << 31
            | u64::from(dialect.call(&region).counts()) << 30
            | hit.map_or(0, |bin| size(bin + 1)) << 8
            | size(u64::from(scale) + 1),
    ]
}

/// The manual's formula, in numbers that are wide enough.
fn by_definition(region: &Classic, pc: u64) -> Option<u64> {
    if !Dialect::Modern.call(region).counts() {
        return None;
    }
    let distance = u128::from(pc.checked_sub(region.offset)?);
    let bin = distance / 2 * u128::from(region.scale) / 65_536;
    (bin < u128::from(region.bytes / 2)).then_some(bin as u64)
}
