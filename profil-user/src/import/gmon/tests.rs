use proptest::prelude::*;

use super::{Block, CallArc, GmonError, MergeError, Variant, read};
use crate::profile::ElfClass::{self, Elf32, Elf64};

/// A file of GNU's with these records.
fn gnu(records: &[&[u8]]) -> Vec<u8> {
    [&b"gmon\x01\0\0\0"[..], b"left by gprof"[..12].as_ref()]
        .into_iter()
        .chain(records.iter().copied())
        .flatten()
        .copied()
        .collect()
}

fn word(number: u64, class: ElfClass) -> Vec<u8> {
    let bytes = match class {
        Elf32 => 4,
        Elf64 => 8,
    };
    number.to_le_bytes()[..bytes].to_vec()
}

/// A histogram record.
fn histogram(class: ElfClass, (low, high): (u64, u64), rate: u32, bins: &[u16]) -> Vec<u8> {
    let mut record = vec![0];
    record.extend(word(low, class));
    record.extend(word(high, class));
    record.extend((bins.len() as u32).to_le_bytes());
    record.extend(rate.to_le_bytes());
    record.extend(b"seconds\0\0\0\0\0\0\0\0s");
    record.extend(bins.iter().flat_map(|bin| bin.to_le_bytes()));
    record
}

/// A file of 4.4BSD.
fn bsd(class: ElfClass, (low, high): (u64, u64), bins: &[u16]) -> Vec<u8> {
    let mut file = word(low, class);
    file.extend(word(high, class));
    let header = file.len() + 24;
    file.extend((header as u32 + 2 * bins.len() as u32).to_le_bytes());
    file.extend(0x0005_1879_u32.to_le_bytes());
    file.extend(100_u32.to_le_bytes());
    file.extend([0; 12]);
    file.extend(bins.iter().flat_map(|bin| bin.to_le_bytes()));
    file
}

/// Four bins of four bytes, byte by byte: what gprof was seen to read as 0.03 s and 0.07 s.
const SMALL: &[u8] = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\x10\0\0\0\0\0\0\x10\x10\0\0\0\0\0\0\x04\0\0\0\x64\0\0\0seconds\0\0\0\0\0\0\0\0s\
    \x01\0\x02\0\x03\0\x04\0";

#[test]
fn the_smallest_useful_file() {
    assert_eq!(SMALL.len(), 69);
    let gmon = read(SMALL, Elf64).unwrap();
    assert_eq!((gmon.variant, gmon.class), (Variant::Gnu, Elf64));
    let clock = gmon.clock.unwrap();
    assert_eq!(
        (clock.rate.get(), clock.unit()),
        (100, "seconds".to_owned())
    );
    let [one] = &gmon.histograms[..] else {
        panic!("{gmon:?}")
    };
    assert_eq!(
        (one.low, one.bytes, &one.bins[..]),
        (0x1000, 16, &[1, 2, 3, 4][..])
    );
    assert_eq!(gmon.ticks(), 10);
}

#[test]
fn records_of_all_kinds_in_any_order() {
    for class in [Elf32, Elf64] {
        let arc = [
            vec![1],
            word(0x1010, class),
            word(0x1000, class),
            vec![7, 0, 0, 0],
        ]
        .concat();
        let numbers = [0x1000, 5, 0x1008, 6]
            .map(|number| word(number, class))
            .concat();
        let blocks = [vec![2, 2, 0, 0, 0], numbers].concat();
        let record = histogram(class, (0x1000, 0x1004), 1000, &[3, 9]);
        let gmon = read(&gnu(&[&blocks, &arc, &record]), class).unwrap();
        assert_eq!(gmon.histograms[0].bins, [3, 9]);
        let arcs = [CallArc {
            from: 0x1010,
            to: 0x1000,
            count: 7,
        }];
        assert_eq!(gmon.arcs, arcs);
        let blocks = [(0x1000, 5), (0x1008, 6)].map(|(address, count)| Block { address, count });
        assert_eq!(gmon.blocks, blocks);
    }
}

#[test]
fn a_file_of_bsd() {
    for class in [Elf32, Elf64] {
        let mut file = bsd(class, (0x1000, 0x1006), &[1, 0, 2]);
        let header = if class == Elf32 { 32 } else { 40 };
        assert_eq!(file.len(), header + 6);
        file.extend(
            [0x1010, 0x1000, 7]
                .map(|number| word(number, class))
                .concat(),
        );
        let gmon = read(&file, class).unwrap();
        assert_eq!(gmon.variant, Variant::Bsd44);
        assert_eq!(gmon.clock.unwrap().rate.get(), 100);
        assert_eq!(gmon.clock.unwrap().unit(), "seconds");
        assert_eq!(gmon.histograms[0].bins, [1, 0, 2]);
        assert_eq!(gmon.arcs[0].count, 7);
    }
}

#[test]
fn records_of_one_range_are_added_up() {
    let one = histogram(Elf64, (0x1000, 0x1004), 100, &[0xffff, 1]);
    let other = histogram(Elf64, (0x2000, 0x2004), 100, &[1, 1]);
    let gmon = read(&gnu(&[&one, &other, &one, &one]), Elf64).unwrap();
    assert_eq!(gmon.histograms.len(), 2);
    assert_eq!(gmon.histograms[0].bins, [3 * 0xffff, 3]);
}

#[test]
fn ranges_that_overlap_are_refused_and_neighbours_are_not() {
    let file = |high, low| {
        let one = histogram(Elf64, (0x1000, high), 100, &[1, 2]);
        gnu(&[&one, &histogram(Elf64, (low, 0x2000), 100, &[1, 2])])
    };
    assert!(read(&file(0x1004, 0x1004), Elf64).is_ok());
    let overlap = GmonError::Overlap {
        offset: 20 + 45,
        address: 0x1003,
    };
    assert_eq!(read(&file(0x1004, 0x1003), Elf64), Err(overlap));
    // The same range with other bins is no repetition.
    let one = histogram(Elf64, (0x1000, 0x1004), 100, &[1, 2]);
    let file = gnu(&[&one, &histogram(Elf64, (0x1000, 0x1004), 100, &[1])]);
    assert!(matches!(
        read(&file, Elf64),
        Err(GmonError::Overlap {
            address: 0x1000,
            ..
        })
    ));
}

#[test]
fn a_range_can_reach_the_end_of_the_address_space() {
    let record = histogram(Elf32, (0xffff_f000, 0), 100, &[1; 2048]);
    let gmon = read(&gnu(&[&record]), Elf32).unwrap();
    assert_eq!(
        (gmon.histograms[0].low, gmon.histograms[0].bytes),
        (0xffff_f000, 4096)
    );
    let record = histogram(Elf64, (u64::MAX - 3, 0), 100, &[1, 1]);
    assert_eq!(
        read(&gnu(&[&record]), Elf64).unwrap().histograms[0].bytes,
        4
    );
    let record = histogram(Elf32, (0x1000, 0), 100, &[1]);
    assert!(matches!(
        read(&gnu(&[&record]), Elf32),
        Err(GmonError::Range { .. })
    ));
}

#[test]
fn every_cut_is_an_error_that_tells_where() {
    let arc = [&[1][..], &[0; 20]].concat();
    let whole = gnu(&[
        &histogram(Elf64, (0x1000, 0x1008), 100, &[1, 2, 3, 4]),
        &arc,
    ]);
    let ends = [20, 20 + 49, whole.len()];
    for length in 4..whole.len() {
        let result = read(&whole[..length], Elf64);
        if ends.contains(&length) {
            assert!(result.is_ok(), "{length}: {result:?}");
            continue;
        }
        let Err(GmonError::Cut {
            offset, missing, ..
        }) = result
        else {
            panic!("{length}: {result:?}")
        };
        assert!(
            offset <= length && missing > 0,
            "{length}: {offset} {missing}"
        );
    }
    let whole = bsd(Elf64, (0x1000, 0x1008), &[1, 2]);
    for length in 0..whole.len() {
        assert!(read(&whole[..length], Elf64).is_err(), "{length}");
    }
}

#[test]
fn what_is_not_understood_is_named() {
    let record = histogram(Elf64, (0x1000, 0x1004), 100, &[1, 2]);
    let error = |records: &[&[u8]]| read(&gnu(records), Elf64).unwrap_err();
    assert_eq!(
        error(&[&record, &[7]]),
        GmonError::Tag { offset: 65, tag: 7 }
    );
    let without_rate = histogram(Elf64, (0x1000, 0x1004), 0, &[1, 2]);
    assert_eq!(error(&[&without_rate]), GmonError::NoRate { offset: 41 });
    let other_rate = histogram(Elf64, (0x2000, 0x2004), 99, &[1, 2]);
    assert_eq!(
        error(&[&record, &other_rate]),
        GmonError::Clock { offset: 86 }
    );
    let backwards = histogram(Elf64, (0x1004, 0x1000), 100, &[1]);
    assert!(
        error(&[&backwards])
            .to_string()
            .contains("0x1004 to 0x1000")
    );

    let header = |version: [u8; 4]| [&b"gmon"[..], &version, &[0; 12]].concat();
    let error = |file: &[u8]| read(file, Elf64).unwrap_err();
    assert_eq!(
        error(&header([0, 0, 0, 1])),
        GmonError::BigEndian { offset: 4 }
    );
    assert_eq!(error(&header([0xff, 0xff, 1, 0])), GmonError::Loader);
    assert_eq!(
        error(&header([2, 0, 0, 0])),
        GmonError::Version { version: 2 }
    );
    assert!(read(&header([0; 4]), Elf64).is_ok());
    for junk in [&b""[..], b"gmo", b"\x7fELF", &[0; 64]] {
        assert_eq!(error(junk), GmonError::Unknown);
    }
    let mut file = bsd(Elf64, (0x1000, 0x1004), &[1, 2]);
    file[20..24].reverse();
    assert_eq!(error(&file), GmonError::BigEndian { offset: 20 });
    let mut file = bsd(Elf64, (0x1000, 0x1004), &[1, 2]);
    file[28] = 32;
    assert_eq!(
        error(&file),
        GmonError::Counters {
            offset: 28,
            kind: 32
        }
    );
    for length in [0_u8, 39, 41] {
        let mut file = bsd(Elf64, (0x1000, 0x1004), &[1, 2]);
        file[16] = length;
        assert!(
            matches!(error(&file), GmonError::Damaged { offset: 16, .. }),
            "{length}"
        );
    }
}

#[test]
fn a_number_of_bins_is_not_believed_before_they_are_there() {
    let mut record = histogram(Elf64, (0x1000, u64::MAX), 100, &[]);
    record[17..21].copy_from_slice(&u32::MAX.to_le_bytes());
    let Err(GmonError::Cut { missing, .. }) = read(&gnu(&[&record]), Elf64) else {
        panic!("bins from nowhere")
    };
    assert_eq!(missing, 2 * u64::from(u32::MAX));
    let blocks = [&[2][..], &u32::MAX.to_le_bytes()].concat();
    assert!(read(&gnu(&[&blocks]), Elf64).is_err());
}

#[test]
fn files_of_one_program_add_up() {
    let file = |low, rate, bins: &[u16]| {
        let high = low + 2 * bins.len() as u64;
        read(&gnu(&[&histogram(Elf64, (low, high), rate, bins)]), Elf64).unwrap()
    };
    let mut sum = file(0x1000, 100, &[1, 2]);
    sum.add(file(0x1000, 100, &[10, 20])).unwrap();
    sum.add(file(0x2000, 100, &[5])).unwrap();
    assert_eq!(sum.histograms[0].bins, [11, 22]);
    assert_eq!(sum.ticks(), 38);
    let before = sum.clone();
    let overlap = MergeError::Overlap { address: 0x1002 };
    assert_eq!(sum.add(file(0x1002, 100, &[1])), Err(overlap));
    let clock = sum.add(file(0x1000, 99, &[1, 2])).unwrap_err();
    assert_eq!(
        clock.to_string(),
        r#"99 ticks in "seconds" here, 100 in "seconds" before"#
    );
    assert_eq!(sum, before);
    // One with calls only has no clock to disagree.
    sum.add(read(&gnu(&[]), Elf64).unwrap()).unwrap();
    assert_eq!(sum, before);
}

proptest! {
    /// Damage anywhere is an error or another profile, never a panic, and never more bins than
    /// the file has room for.
    #[test]
    fn damage_is_survived(
        class in prop_oneof![Just(Elf32), Just(Elf64)],
        variant in prop_oneof![Just(Variant::Gnu), Just(Variant::Bsd44)],
        bins in prop::collection::vec(any::<u16>(), 0..40),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let range = (0x1000, 0x1000 + 2 * bins.len() as u64);
        let mut file = match variant {
            Variant::Gnu => gnu(&[&histogram(class, range, 100, &bins), &[1; 30]]),
            Variant::Bsd44 => bsd(class, range, &bins),
        };
        for (at, value) in flips {
            let at = at.index(file.len());
            file[at] = value;
        }
        file.truncate(cut.index(file.len() + 1));
        if let Ok(gmon) = read(&file, class) {
            let bins: usize = gmon.histograms.iter().map(|one| one.bins.len()).sum();
            prop_assert!(2 * bins <= file.len());
        }
    }
}
