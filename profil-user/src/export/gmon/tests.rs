use std::{path::PathBuf, time::Duration};

use super::{Variant, write};
use crate::{
    options::{Rate, Tgid},
    profile::{Balance, Count, ElfClass, Object, ObjectId, ObjectKind, Profile, Subject, Text},
};

fn profile(class: ElfClass, width: u64, counts: &[(u64, u64, u64)]) -> Profile {
    let object = ObjectId::new(0);
    Profile {
        subject: Subject::Processes(vec![(Tgid::new(1).unwrap(), "t".to_owned())]),
        tasks: Vec::new(),
        by_task: Vec::new(),
        rate: Rate::DEFAULT,
        elapsed: Duration::ZERO,
        objects: vec![Object {
            kind: ObjectKind::File {
                path: PathBuf::from("/t"),
                class: Some(class),
            },
            is_main: true,
            build_id: None,
            text: vec![Text {
                start: 0x40_1000,
                end: 0x40_3000,
                width,
            }],
        }],
        counts: counts
            .iter()
            .map(|&(address, user, system)| Count {
                object,
                address,
                user,
                system,
            })
            .collect(),
        balance: Balance::default(),
        buffers: Vec::new(),
        notes: Vec::new(),
    }
}

fn bytes(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    write(profile, ObjectId::new(0), Variant::Gnu, &mut out).unwrap();
    out
}

fn bsd_bytes(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    write(profile, ObjectId::new(0), Variant::Bsd, &mut out).unwrap();
    out
}

/// A reader of our own for the parts that the tests ask about: (start, end, bins).
fn records(bytes: &[u8], word: usize) -> Vec<(u64, u64, Vec<u16>)> {
    let number = |at: usize, size: usize| {
        let mut value = [0; 8];
        value[..size].copy_from_slice(&bytes[at..at + size]);
        u64::from_le_bytes(value)
    };
    assert_eq!(&bytes[..8], b"gmon\x01\0\0\0");
    let mut at = 20;
    let mut records = Vec::new();
    while bytes[at] == 0 {
        let (start, end) = (number(at + 1, word), number(at + 1 + word, word));
        let count = number(at + 1 + 2 * word, 4) as usize;
        assert_eq!(number(at + 5 + 2 * word, 4), 997);
        assert_eq!(
            &bytes[at + 9 + 2 * word..][..16],
            b"seconds\0\0\0\0\0\0\0\0s"
        );
        at += 25 + 2 * word;
        records.push((
            start,
            end,
            (0..count)
                .map(|bin| number(at + 2 * bin, 2) as u16)
                .collect(),
        ));
        at += 2 * count;
    }
    assert_eq!(bytes[at..], [&[1_u8][..], &vec![0; 2 * word + 4]].concat());
    records
}

#[test]
fn user_and_system_ticks_share_a_bin() {
    let records = records(
        &bytes(&profile(ElfClass::Elf64, 2, &[(0x40_1004, 5, 7)])),
        8,
    );
    let [(start, end, bins)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!((*start, *end, bins.len()), (0x40_1000, 0x40_2000, 2048));
    assert_eq!(bins.iter().position(|&ticks| ticks != 0), Some(2));
    assert_eq!(bins[2], 12);
}

#[test]
fn a_count_above_16_bits_is_written_in_pieces() {
    let ticks = 2 * 65_535 + 10;
    let counts = [(0x40_1000, 3, 0), (0x40_1002, ticks, 0)];
    let records = records(&bytes(&profile(ElfClass::Elf64, 2, &counts)), 8);
    assert_eq!(records.len(), 3);
    let sum = |bin: usize| {
        records
            .iter()
            .map(|record| u64::from(record.2[bin]))
            .sum::<u64>()
    };
    assert_eq!((sum(0), sum(1)), (3, ticks));
}

#[test]
fn exactly_full_bins_need_no_further_record() {
    let counts = [(0x40_1000, 65_535, 0)];
    assert_eq!(
        records(&bytes(&profile(ElfClass::Elf64, 2, &counts)), 8).len(),
        1
    );
    let counts = [(0x40_1000, 65_536, 0)];
    assert_eq!(
        records(&bytes(&profile(ElfClass::Elf64, 2, &counts)), 8).len(),
        2
    );
}

#[test]
fn only_text_that_was_hit_is_written() {
    let counts = [(0x40_1ffe, 1, 0), (0x40_2000, 1, 0), (0x90_0000, 1, 0)];
    let records = records(&bytes(&profile(ElfClass::Elf64, 2, &counts)), 8);
    let starts: Vec<_> = records.iter().map(|record| record.0).collect();
    assert_eq!(starts, [0x40_1000, 0x40_2000, 0x90_0000]);
}

#[test]
fn no_ticks_are_a_histogram_too() {
    let records = records(&bytes(&profile(ElfClass::Elf64, 2, &[])), 8);
    let [(start, _, bins)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(*start, 0x40_1000);
    assert!(bins.iter().all(|&ticks| ticks == 0));
}

#[test]
fn all_records_have_the_width_of_the_coarsest_bins() {
    let counts = [(0x40_1000, 1, 0), (0x40_1006, 2, 0), (0x40_1008, 4, 0)];
    let records = records(&bytes(&profile(ElfClass::Elf64, 8, &counts)), 8);
    let [(start, end, bins)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(end - start, 8 * bins.len() as u64);
    assert_eq!(bins[..2], [3, 4]);
}

#[test]
fn bins_wider_than_a_page_have_records_as_wide() {
    let counts = [(0x40_1000, 1, 0)];
    let records = records(&bytes(&profile(ElfClass::Elf64, 0x2_0000, &counts)), 8);
    assert_eq!(records, [(0x40_0000, 0x42_0000, vec![1])]);
}

#[test]
fn a_32_bit_file_has_32_bit_addresses() {
    let records = records(
        &bytes(&profile(ElfClass::Elf32, 2, &[(0x40_1004, 9, 0)])),
        4,
    );
    assert_eq!((records[0].0, records[0].2[2]), (0x40_1000, 9));
}

/// One bin of four that is hit, byte by byte.
#[test]
fn the_bytes_of_the_bsd_format() {
    let profile = profile(
        ElfClass::Elf64,
        2,
        &[(0x40_1004, 1, 1), (0x40_1008, 0x1_0000, 0)],
    );
    let golden = b"\x04\x10\x40\0\0\0\0\0\x0a\x10\x40\0\0\0\0\0\
        \x2e\0\0\0\x79\x18\x05\0\xe5\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \x02\0\0\0\xff\xff";
    assert_eq!(bsd_bytes(&profile), golden);
    let short = super::bsd_shortfall(&profile, ObjectId::new(0));
    assert_eq!((short.ticks, short.widened), (1, None));
}

#[test]
fn the_bytes_of_the_bsd_format_with_32_bits() {
    let profile = profile(ElfClass::Elf32, 4, &[(0x40_1006, 1, 1)]);
    let golden = b"\x04\x10\x40\0\x08\x10\x40\0\
        \x22\0\0\0\x79\x18\x05\0\xe5\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \x02\0";
    assert_eq!(bsd_bytes(&profile), golden);
}

/// The GNU format, up to the first bin, byte by byte.
#[test]
fn the_bytes_of_the_gnu_format() {
    let counts = [(0x40_1000, 3, 0)];
    let golden = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\0\x10\x40\0\0\0\0\0\0\x20\x40\0\0\0\0\0\0\x08\0\0\xe5\x03\0\0\
        seconds\0\0\0\0\0\0\0\0s\x03\0\0\0";
    let written = bytes(&profile(ElfClass::Elf64, 2, &counts));
    assert_eq!(written[..golden.len()], golden[..]);
    assert_eq!(written.len(), 20 + 41 + 4096 + 21);
    let golden = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\0\x10\x40\0\0\x20\x40\0\0\x08\0\0\xe5\x03\0\0\
        seconds\0\0\0\0\0\0\0\0s\x03\0\0\0";
    let written = bytes(&profile(ElfClass::Elf32, 2, &counts));
    assert_eq!(written[..golden.len()], golden[..]);
    assert_eq!(written.len(), 20 + 33 + 4096 + 13);
}

#[test]
fn a_width_that_is_no_power_of_two_is_rounded_up() {
    let counts = [(0x40_1000, 1, 0), (0x40_1006, 2, 0)];
    for (width, written) in [(0, 2), (3, 4), (6, 8), (1000, 1024)] {
        let records = records(&bytes(&profile(ElfClass::Elf64, width, &counts)), 8);
        let (start, end, bins) = &records[0];
        assert_eq!(end - start, written * bins.len() as u64, "{width}");
    }
}

#[test]
fn text_that_is_far_apart_makes_the_bins_of_bsd_wide() {
    let counts = [(0x1000_0340, 1, 0), (0x3_0000_0540, 2, 0)];
    let profile = profile(ElfClass::Elf64, 2, &counts);
    let bytes = bsd_bytes(&profile);
    assert!(bytes.len() <= 40 + (2 << 24));
    let short = super::bsd_shortfall(&profile, ObjectId::new(0));
    assert_eq!((short.ticks, short.widened), (0, Some(1024)));
    let gmon = crate::import::gmon::read(&bytes, ElfClass::Elf64).unwrap();
    assert_eq!(gmon.ticks(), 3);
}

mod round_trip {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{bsd_bytes, bytes, profile};
    use crate::{import::gmon, profile::ElfClass};

    /// What a file says: ticks by the first address of their bin.
    fn ticks(file: &[u8], class: ElfClass) -> BTreeMap<u64, u64> {
        let gmon = gmon::read(file, class).unwrap();
        assert_eq!(gmon.clock.unwrap().rate.get(), 997);
        let mut ticks = BTreeMap::new();
        for one in &gmon.histograms {
            let width = one.bytes / one.bins.len() as u64;
            for (bin, &count) in (0..).zip(&one.bins) {
                if count > 0 {
                    ticks.insert(one.low + bin * width, count);
                }
            }
        }
        ticks
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            class in prop_oneof![Just(ElfClass::Elf32), Just(ElfClass::Elf64)],
            log_width in 1_u32..20,
            // Also up to the last address of all.
            base in prop_oneof![Just(0_u64), Just(0x40_0000), Just(0xffff_0000)],
            hits in prop::collection::btree_map(
                0_u64..0x1_0000,
                prop_oneof![1_u64..5, 65_530_u64..65_540, Just(400_000)],
                0..12,
            ),
        ) {
            let width = 1 << log_width;
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for (address, count) in hits {
                let address = base + address;
                *counts.entry(address - address % width).or_default() += count;
            }
            let list: Vec<_> = counts.iter().map(|(&address, &count)| (address, count / 3, count - count / 3)).collect();
            let profile = profile(class, width, &list);
            prop_assert_eq!(&ticks(&bytes(&profile), class), &counts);

            let written = ticks(&bsd_bytes(&profile), class);
            let short = super::super::bsd_shortfall(&profile, crate::profile::ObjectId::new(0));
            let all: u64 = counts.values().sum();
            prop_assert_eq!(written.values().sum::<u64>() + short.ticks, all);
            if short.widened.is_none() {
                let kept: BTreeMap<_, _> = counts.iter().map(|(&at, &count)| (at, count.min(65_535))).collect();
                prop_assert_eq!(&written, &kept);
            }
        }
    }
}
