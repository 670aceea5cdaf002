//! The reader of gmon.out files, and what shares their ticks out to functions.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher as _},
    mem::discriminant,
    sync::OnceLock,
};

use profil_user::{
    ElfClass, Executable, Recorded,
    import::gmon::{self, Gmon, GmonError},
};

use crate::{Target, memory};

pub(crate) const TARGET: Target = Target {
    name: "gmon",
    seeds,
    run,
};

/// The reader may take this many times the file's bytes, and a little.
const TIMES: usize = 16;
const A_LITTLE: usize = 4096;

/// Well-formed files of every kind.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for class in [ElfClass::Elf32, ElfClass::Elf64] {
        let text = some_text();
        let one = histogram(class, (text, text + 16), &[1, 2, 0, 0xffff]);
        let other = histogram(class, (text + 0x1000, text + 0x100c), &[7, 0, 9]);
        let narrow = histogram(class, (text + 0x2000, text + 0x2002), &[8]);
        let high = histogram(class, (u64::MAX << 12, 0), &[3; 64]);
        let arc = [vec![1], words(class, &[text, text + 8]), vec![5, 0, 0, 0]].concat();
        let blocks = [vec![2, 2, 0, 0, 0], words(class, &[text, 3, text + 8, 4])].concat();
        for records in [
            vec![],
            vec![&one],
            vec![&one, &arc],
            vec![&blocks, &one, &other, &one, &arc, &arc],
            vec![&high],
            vec![&narrow],
            vec![&narrow, &narrow, &one],
        ] {
            let header = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
            let records = records.into_iter().flatten().copied();
            seeds.push(header.into_iter().chain(records).collect());
        }
        seeds.push(bsd(class, (text, text + 16), &[1, 2, 0, 0xffff]));
    }
    seeds
}

/// A file with one histogram, of two bytes of text a bin.
pub(crate) fn one_of(class: ElfClass, low: u64, bins: &[u16]) -> Vec<u8> {
    let mut file = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(histogram(class, (low, low + 2 * bins.len() as u64), bins));
    file
}

fn words(class: ElfClass, numbers: &[u64]) -> Vec<u8> {
    let bytes = match class {
        ElfClass::Elf32 => 4,
        ElfClass::Elf64 => 8,
    };
    let numbers = numbers.iter();
    numbers
        .flat_map(|number| number.to_le_bytes().into_iter().take(bytes))
        .collect()
}

fn counters(bins: &[u16]) -> impl Iterator<Item = u8> {
    bins.iter().flat_map(|bin| bin.to_le_bytes())
}

fn histogram(class: ElfClass, (low, high): (u64, u64), bins: &[u16]) -> Vec<u8> {
    let mut record = vec![0];
    record.extend(words(class, &[low, high]));
    record.extend((bins.len() as u32).to_le_bytes());
    record.extend(100_u32.to_le_bytes());
    record.extend(b"seconds\0\0\0\0\0\0\0\0s");
    record.extend(counters(bins));
    record
}

fn bsd(class: ElfClass, (low, high): (u64, u64), bins: &[u16]) -> Vec<u8> {
    let mut file = words(class, &[low, high]);
    let length = (file.len() + 24 + 2 * bins.len()) as u32;
    file.extend(length.to_le_bytes());
    file.extend(0x0005_1879_u32.to_le_bytes());
    file.extend(100_u32.to_le_bytes());
    file.extend([0; 12]);
    file.extend(counters(bins));
    file.extend(words(class, &[low, high, 1]));
    file
}

/// The link-time address of some function here.
fn some_text() -> u64 {
    let here = run as fn(&[u8]) -> Vec<u64> as usize as u64;
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let base = maps.split('-').next();
    let base = base.and_then(|base| u64::from_str_radix(base, 16).ok());
    base.map_or(0x40_1000, |base| here - base)
}

/// Reads the file as one of each width.
fn run(input: &[u8]) -> Vec<u64> {
    let outcome = |class| {
        let mut outcome = DefaultHasher::new();
        let (read, most) = memory::most_during(|| gmon::read(input, class));
        let bound = TIMES * input.len() + A_LITTLE;
        assert!(
            most <= bound,
            "{most} bytes of memory for {} of a file",
            input.len()
        );
        match read {
            Ok(gmon) => {
                check(&gmon, input);
                shape(&gmon).hash(&mut outcome);
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("byte "), "{text}");
                kind(&error).hash(&mut outcome);
            }
        }
        class_number(class).hash(&mut outcome);
        outcome.finish()
    };
    [ElfClass::Elf32, ElfClass::Elf64].map(outcome).to_vec()
}

fn class_number(class: ElfClass) -> u8 {
    u8::from(class == ElfClass::Elf64)
}

/// What must be true of everything that is believed.
fn check(gmon: &Gmon, input: &[u8]) {
    let bins: usize = gmon.histograms.iter().map(|one| one.bins.len()).sum();
    assert!(2 * bins <= input.len(), "bins from nowhere");
    let mut end = Some(0);
    for one in &gmon.histograms {
        let follows = end.is_some_and(|end| one.low >= end);
        assert!(follows, "histograms overlap, or are not sorted");
        assert!(one.bytes >= one.bins.len() as u64, "bins without bytes");
        end = one.low.checked_add(one.bytes);
    }

    let mut twice = gmon.clone();
    assert_eq!(
        twice.add(gmon.clone()),
        Ok(()),
        "a file does not go with itself"
    );
    assert_eq!(twice.ticks(), 2 * gmon.ticks(), "ticks are lost in a sum");

    if let Some(clock) = gmon.clock {
        let recorded = Recorded::of(clock, &gmon.histograms, Vec::new(), this());
        assert_eq!(
            recorded.ticks(),
            gmon.ticks(),
            "ticks are lost in functions"
        );
    }
}

/// Some program with functions: this one.
fn this() -> &'static Executable {
    static THIS: OnceLock<Executable> = OnceLock::new();
    THIS.get_or_init(|| match Executable::open("/proc/self/exe".as_ref(), &[]) {
        Ok(executable) => executable,
        Err(error) => panic!("{error}"),
    })
}

/// What kind of profile it is, roughly.
fn shape(gmon: &Gmon) -> impl Hash {
    let size = |number: usize| number.checked_ilog2();
    let bins = gmon.histograms.iter().map(|one| one.bins.len()).max();
    (
        discriminant(&gmon.variant),
        size(gmon.histograms.len()),
        bins.and_then(size),
        size(gmon.arcs.len()),
        size(gmon.blocks.len()),
    )
}

/// What kind of error it is, and where, roughly.
fn kind(error: &GmonError) -> impl Hash + use<> {
    let place = match error {
        GmonError::Cut { offset, .. }
        | GmonError::Tag { offset, .. }
        | GmonError::Range { offset, .. }
        | GmonError::Overlap { offset, .. }
        | GmonError::NoRate { offset }
        | GmonError::Clock { offset }
        | GmonError::Damaged { offset, .. } => offset.checked_ilog2(),
        _ => None,
    };
    (discriminant(error), place)
}
