use profil_common::Place;

use super::{BYTES_PER_BIN, Layout, LayoutError, scale_of, widths_within};
use crate::{
    profile::Note,
    target::{
        mappings::{Backing, Mapping},
        objects::Objects,
    },
};

const TGID: u32 = 42;

fn vdso(start: u64, bytes: u64) -> Mapping {
    Mapping {
        start,
        end: start + bytes,
        backing: Backing::Vdso,
    }
}

#[test]
fn a_budget_that_fits_changes_nothing() {
    assert_eq!(
        widths_within(&[0x1000, 0x2000], 0x1800 * BYTES_PER_BIN),
        Some(vec![2, 2])
    );
    assert_eq!(widths_within(&[], 0), Some(vec![]));
}

#[test]
fn the_largest_is_widened_first_and_only_as_far_as_needed() {
    assert_eq!(
        widths_within(&[0x1000, 0x2000], 0x17ff * BYTES_PER_BIN),
        Some(vec![2, 4])
    );
    assert_eq!(
        widths_within(&[0x100, 0x10_0000], 0x1_0000 * BYTES_PER_BIN),
        Some(vec![2, 32])
    );
}

#[test]
fn an_object_with_many_regions_is_noted_once() {
    let mappings: Vec<_> = (0..100).map(|index| vdso(index << 16, 0x1000)).collect();
    let mut objects = Objects::default();
    let budget = 100 * 0x200 * BYTES_PER_BIN;
    let layout = Layout::plan(TGID, &mappings, None, budget, &mut objects).unwrap();
    assert_eq!(layout.regions().len(), 100);
    assert!(matches!(layout.notes(), [Note::Coarsened { width: 8, .. }]));
}

#[test]
fn a_mapping_beyond_all_measure_is_left_out() {
    let mappings = [vdso(0x1000, 0x1000), vdso(0x10_0000, 1 << 40)];
    let mut objects = Objects::default();
    let layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
    assert_eq!(layout.regions().len(), 1);
    assert_eq!(layout.notes(), [Note::RegionsFull { left_out: 1 }]);
}

#[test]
fn a_mapping_that_has_gone_is_retired_once() {
    let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x3000)];
    let mut objects = Objects::default();
    let mut layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
    assert!(layout.retire_missing(TGID, &mappings).is_empty());
    let gone = layout.retire_missing(TGID, &mappings[..1]);
    assert_eq!(gone.iter().map(|gone| gone.0).collect::<Vec<_>>(), [1]);
    assert!(layout.retire_missing(TGID, &mappings[..1]).is_empty());
}

#[test]
fn what_has_shrunk_has_not_gone() {
    let whole = [vdso(0x1000, 0x3000)];
    let mut objects = Objects::default();
    let mut layout = Layout::plan(TGID, &whole, None, 1 << 20, &mut objects).unwrap();
    assert!(
        layout
            .retire_missing(TGID, &[vdso(0x1000, 0x1000)])
            .is_empty()
    );
    assert!(
        layout
            .retire_missing(TGID, &[vdso(0x3000, 0x1000)])
            .is_empty()
    );
    let beside = [vdso(0, 0x1000), vdso(0x4000, 0x1000)];
    assert_eq!(layout.retire_missing(TGID, &beside).len(), 1);
}

#[test]
fn one_bin_a_region_is_the_least() {
    assert_eq!(widths_within(&[0x1000, 0x1000], BYTES_PER_BIN), None);
    assert_eq!(
        widths_within(&[0x1000, 0x1000], 2 * BYTES_PER_BIN),
        Some(vec![0x1000, 0x1000])
    );
    let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x1000)];
    let budget = BYTES_PER_BIN;
    let error = Layout::plan(TGID, &mappings, None, budget, &mut Objects::default());
    assert_eq!(
        error.unwrap_err(),
        LayoutError::BudgetTooSmall { budget, regions: 2 }
    );
}

#[test]
fn a_width_is_a_scale() {
    for (width, scale) in [(2, 0x1_0000), (4, 0x8000), (8, 0x4000), (0x2_0000, 1)] {
        assert_eq!(scale_of(width), scale);
    }
}

#[test]
fn every_byte_of_every_mapping_has_a_bin() {
    let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x3000)];
    let mut objects = Objects::default();
    let layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
    assert_eq!(layout.bins(), 0x2000);
    for (pc, inside) in [
        (0x0fff, false),
        (0x1000, true),
        (0x1fff, true),
        (0x2000, false),
        (0x5000, true),
        (0x7fff, true),
        (0x8000, false),
    ] {
        assert_eq!(layout.holds(Place { tgid: TGID, pc }), inside, "pc {pc:#x}");
        assert!(!layout.holds(Place { tgid: TGID + 1, pc }));
    }
    // The vDSO is linked at 0: addresses are distances from its start.
    let address = |bin| layout.address_of(bin, &objects).map(|(_, address)| address);
    assert_eq!(address(0), Some(0));
    assert_eq!(address(0x7ff), Some(0xffe));
    assert_eq!(address(0x800), Some(0));
    assert_eq!(address(0x801), Some(2));
}

#[test]
fn a_short_budget_is_noted() {
    let mut objects = Objects::default();
    let layout = Layout::plan(
        TGID,
        &[vdso(0x1000, 0x1000)],
        None,
        0x200 * BYTES_PER_BIN,
        &mut objects,
    )
    .unwrap();
    assert!(matches!(layout.notes(), [Note::Coarsened { width: 8, .. }]));
    assert_eq!(layout.bins(), 0x200);
    assert_eq!(objects.list()[0].text[0].width, 8);
}

#[test]
fn what_is_mapped_later_gets_what_was_kept_free() {
    let mappings = [vdso(0x5000, 0x1000)];
    let mut objects = Objects::default();
    let mut layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
    layout.keep_spare(0x1800 * BYTES_PER_BIN);
    assert_eq!(layout.bins(), 0x800 + 0x1800);
    // It lies below what is there, and its bins above.
    let later = vdso(0x1000, 0x2000);
    let object = objects.of_mapping(TGID, &later);
    assert!(layout.grow(TGID, &later, object, &mut objects));
    assert!(layout.holds(Place {
        tgid: TGID,
        pc: 0x1000
    }));
    assert!(layout.holds(Place {
        tgid: TGID,
        pc: 0x5000
    }));
    let starts: Vec<_> = layout.regions().iter().map(|region| region.start).collect();
    assert_eq!(starts, [0x1000, 0x5000]);
    assert_eq!(
        layout
            .address_of(0x800, &objects)
            .map(|(_, address)| address),
        Some(0)
    );
    assert_eq!(
        layout
            .address_of(0x801, &objects)
            .map(|(_, address)| address),
        Some(2)
    );
    // What is left is too little for bins of two bytes, and enough for wider ones.
    let last = vdso(0x10000, 0x2000);
    assert!(layout.grow(TGID, &last, object, &mut objects));
    assert_eq!(layout.notes().len(), 1);
    assert!(!layout.grow(TGID, &vdso(0x20000, 0x8000), object, &mut objects));
    assert_eq!(layout.bins(), 0x800 + 0x1800);
}

#[test]
fn what_lies_under_something_new_is_retired() {
    let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x3000)];
    let mut objects = Objects::default();
    let mut layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
    let gone = layout.retire_under(TGID, 0x7fff, 0x9000);
    assert_eq!(gone.iter().map(|gone| gone.0).collect::<Vec<_>>(), [1]);
    assert!(layout.retire_under(TGID, 0x7fff, 0x9000).is_empty());
    assert!(layout.retire_under(TGID + 1, 0, u64::MAX).is_empty());
    assert_eq!(layout.retire_under(TGID, 0, u64::MAX).len(), 1);
}

#[test]
fn several_processes_have_regions_of_their_own() {
    let here = [vdso(0x1000, 0x1000)];
    let mut objects = Objects::default();
    let processes = [(TGID, &here[..], None), (TGID - 1, &here[..], None)];
    let layout = Layout::plan_all(&processes, 1 << 20, &mut objects).unwrap();
    for tgid in [TGID - 1, TGID] {
        assert!(layout.holds(Place { tgid, pc: 0x1000 }));
    }
    assert_eq!(layout.tgid_of(0), Some(TGID - 1));
    assert_eq!(layout.tgid_of(0x800), Some(TGID));
}
