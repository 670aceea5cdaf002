//! Regions on a process that has nothing but a vDSO.

use super::*;
use crate::{options::Scale, target::mappings::Backing};

fn vdso(start: u64, bytes: u64) -> Mapping {
    Mapping {
        start,
        end: start + bytes,
        backing: Backing::Vdso,
    }
}

fn asked(address: u64, bytes: Option<u64>, scale: u32) -> RegionAsked {
    RegionAsked {
        start: Start::Address(address),
        bytes,
        scale: Scale(scale),
    }
}

fn plan(dialect: Dialect, asked: &[RegionAsked]) -> Result<Explicit, LayoutError> {
    let mut objects = Objects::default();
    let mappings = [vdso(0x10_0000, 0x1000)];
    Explicit::plan(
        7,
        (&mappings, None),
        (asked, dialect),
        1 << 20,
        &mut objects,
    )
}

#[test]
fn a_region_without_a_size_reaches_to_the_end_of_its_mapping() {
    for (scale, bins) in [(0x1_0000, 0x400), (0x8000, 0x200), (0xc000, 0x300)] {
        let explicit = plan(Dialect::Modern, &[asked(0x10_0800, None, scale)]).unwrap();
        assert_eq!(explicit.bins(), bins, "{scale:#x}");
    }
    let nowhere = plan(Dialect::Modern, &[asked(0x1000, None, 0x1_0000)]);
    assert_eq!(nowhere.unwrap_err(), LayoutError::NoText("0x1000".into()));
}

#[test]
fn what_counts_nothing_is_an_error_in_the_dialects_words() {
    for (dialect, bytes, scale, why) in [
        (Dialect::Modern, 8, 0, "a scale of 0 counts nothing"),
        (
            Dialect::Modern,
            8,
            0x1_0001,
            "the scale is above 1.0 (65536)",
        ),
        (
            Dialect::Modern,
            0,
            0x1_0000,
            "the buffer has no room for a counter",
        ),
        (Dialect::Bsd, 8, 0x1_0001, "the scale is above 1.0 (65536)"),
        (Dialect::Svr4, 8, 1, "that scale turns profiling off"),
    ] {
        let refused = plan(dialect, &[asked(0x10_0000, Some(bytes), scale)]);
        assert_eq!(
            refused.unwrap_err(),
            LayoutError::CountsNothing {
                region: "0x100000".into(),
                dialect: dialect.word(),
                why,
            }
        );
    }
    // These have no such scruples.
    plan(Dialect::Glibc, &[asked(0x10_0000, Some(8), 0x2_0000)]).unwrap();
    plan(Dialect::Svr4, &[asked(0x10_0000, Some(0), 2)]).unwrap();
}

#[test]
fn lists_are_those_of_the_dialect() {
    let two = [
        asked(0x10_0000, Some(16), 0x1_0000),
        asked(0x10_0008, Some(16), 0x1_0000),
    ];
    assert_eq!(
        plan(Dialect::Modern, &two).unwrap_err(),
        LayoutError::Overlap {
            first: 0x10_0000,
            second: 0x10_0008
        }
    );
    assert_eq!(
        plan(Dialect::Glibc, &two).unwrap_err(),
        LayoutError::TooManyRegions {
            dialect: "glibc",
            most: 1
        }
    );
    let starts = |explicit: Explicit| -> Vec<u64> {
        explicit.regions.iter().map(|region| region.start).collect()
    };
    let xnu = plan(Dialect::Xnu, &two).unwrap();
    assert_eq!(starts(xnu), [0x10_0000, 0x10_0008]);
    let sprofil = plan(Dialect::Sprofil, &two).unwrap();
    assert_eq!(starts(sprofil), [0x10_0008, 0x10_0000]);
    let apart = [
        asked(0x10_0010, Some(16), 0x1_0000),
        asked(0x10_0000, Some(16), 0x1_0000),
    ];
    let modern = plan(Dialect::Modern, &apart).unwrap();
    assert_eq!(starts(modern), [0x10_0000, 0x10_0010]);
}

#[test]
fn more_than_the_budget_is_an_error() {
    let huge = [asked(0x10_0000, Some(u64::MAX), 0x1_0000)];
    assert_eq!(
        plan(Dialect::Glibc, &huge).unwrap_err(),
        LayoutError::TooManyBins {
            wanted: u64::MAX / 2,
            budget: 1 << 20
        }
    );
}

#[test]
fn buffers_add_up_user_and_system_ticks() {
    let two = [
        asked(0x10_0000, Some(8), 0x1_0000),
        asked(0x10_0100, Some(8), 0x1_0000),
    ];
    let explicit = plan(Dialect::Modern, &two).unwrap();
    assert_eq!(explicit.bins(), 8);
    let buffers = explicit.buffers(&[(1, 2), (5, 3), (8, 1), (9, 4)]);
    assert_eq!(buffers[0].counts, [(0, 1), (1, 6)]);
    assert_eq!(buffers[1].counts, [(1, 3)]);
}
