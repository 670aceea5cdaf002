//! What processes and the kernel say of them: mappings, perf maps, side-band records.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher as _},
};

use profil_user::hostile;

use crate::{Target, memory};

pub(crate) const MAPPINGS: Target = Target {
    name: "mappings",
    seeds: mappings,
    run: read_mappings,
};

pub(crate) const PERF_MAP: Target = Target {
    name: "perf-map",
    seeds: perf_maps,
    run: read_perf_map,
};

pub(crate) const RECORDS: Target = Target {
    name: "records",
    seeds: records,
    run: read_records,
};

/// Any of the readers may take this many times the bytes: a line of a few letters is a mapping with
/// all its fields, and is copied while a list grows.
const TIMES: usize = 64;
const A_LITTLE: usize = 4096;

/// Runs a reader, and wants it to be content with the memory.
fn within_bounds<T: Hash>(input: &[u8], read: impl FnOnce() -> T) -> Vec<u64> {
    let (read, most) = memory::most_during(read);
    let bound = TIMES * input.len() + A_LITTLE;
    assert!(most <= bound, "{most} bytes of memory for {}", input.len());
    let mut outcome = DefaultHasher::new();
    read.hash(&mut outcome);
    vec![outcome.finish()]
}

fn mappings() -> Vec<Vec<u8>> {
    let mut own = fs::read("/proc/self/maps").unwrap_or_default();
    own.truncate(2048);
    let odd = [
        &b"1000-2000 r-xp 00000000 00:00 0 \n2000-3000 rwxp 00000000 00:00 0 [anon:jit]\n"[..],
        b"7f0123456000-7f01235cb000 r-xp 00026000 fe:0a 1835    /a b\\012c (deleted)\n",
        b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
    ];
    odd.into_iter().map(<[u8]>::to_vec).chain([own]).collect()
}

fn read_mappings(input: &[u8]) -> Vec<u64> {
    within_bounds(input, || {
        let mappings = hostile::mappings(input);
        let lines = input.split(|&byte| byte == b'\n').count();
        assert!(mappings.len() <= lines, "mappings from nowhere");
        for (start, end) in &mappings {
            assert!(start < end, "{start:x}-{end:x} is no mapping");
        }
        mappings.len()
    })
}

fn perf_maps() -> Vec<Vec<u8>> {
    [
        &b"1000 10 first\n0x1010 0x8 LazyCompile:~f a.js:1\r\n"[..],
        b"1000 40 old\n1010 10 new\n1018 40 newer\n1000 0 nothing\n",
        b"0 ffffffffffffffff all\nfffffffffffffff0 20 end\n7 1 \xff\xfe\n12",
    ]
    .map(<[u8]>::to_vec)
    .to_vec()
}

fn read_perf_map(input: &[u8]) -> Vec<u64> {
    const ADDRESSES: [u64; 7] = [0, 7, 0x1000, 0x100f, 0x1018, 0x1040, u64::MAX];
    within_bounds(input, || {
        let found = hostile::perf_map(input, &ADDRESSES)?;
        for (address, found) in ADDRESSES.iter().zip(&found) {
            if let Some((name, start)) = found {
                assert!(start <= address, "{name} begins behind its address");
                assert!(!name.is_empty() && !name.contains('\n'), "{name:?}");
            }
        }
        let starts = found
            .iter()
            .map(|found| found.as_ref().map(|(_, start)| *start));
        Some(starts.collect::<Vec<_>>())
    })
}

/// A record: its kind, `misc`, its body and the trailer of every one.
fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = (8 + body.len() + 24) as u16;
    let mut record = kind.to_ne_bytes().to_vec();
    record.extend(misc.to_ne_bytes());
    record.extend(size.to_ne_bytes());
    record.extend(body);
    record.extend([7; 24]);
    record
}

/// One of each kind: `LOST`, `COMM`, `EXIT`, `FORK`, `MMAP2` with an inode and with a build id.
fn records() -> Vec<Vec<u8>> {
    let mapped = |name: &[u8]| {
        let numbers = [1_u64 | 2 << 32, 0x40_0000, 0x1000, 0x2000, 3, 4, 5, 4];
        let mut body: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        body.extend(name);
        body
    };
    let all = [
        record(2, 0, &[1; 16]),
        record(3, 1 << 13, b"\x01\0\0\0\x02\0\0\0name\0\0\0\0"),
        record(4, 0, &[1; 24]),
        record(7, 0, &[1; 24]),
        record(10, 2, &mapped(b"/usr/lib/libc.so.6\0\0\0\0\0\0")),
        record(10, 1 << 14, &mapped(b"[vdso]\0\0")),
    ];
    let whole = all.concat();
    all.into_iter().chain([whole]).collect()
}

fn read_records(input: &[u8]) -> Vec<u64> {
    within_bounds(input, || {
        let read = hostile::records(input);
        assert!(
            read.text_bytes + read.rest <= input.len(),
            "text from nowhere"
        );
        let all = read.told + read.passed + read.malformed;
        assert!(8 * all + read.rest <= input.len(), "records from nowhere");
        let size = |number: usize| number.checked_ilog2();
        (
            [read.told, read.passed, read.malformed, read.rest].map(size),
            read.text_bytes % 8,
        )
    })
}
