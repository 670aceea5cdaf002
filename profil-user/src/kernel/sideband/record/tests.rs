use perf_event_open_sys::bindings::{
    PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_LOST,
    PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MISC_MMAP_BUILD_ID, PERF_RECORD_MMAP2,
    PERF_RECORD_THROTTLE,
};
use proptest::prelude::*;

use super::{Event, HEADER, Malformed, Mapped, MappedFile, Record, TRAILER, parse, split_first};

const TIME_NS: u64 = 0x0102_0304_0506_0708;

/// A record as the kernel writes it, by the task 70/71.
fn record(kind: u32, misc: u32, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    let size = HEADER + body.len() + TRAILER;
    let mut bytes = Vec::new();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((misc as u16).to_ne_bytes());
    bytes.extend((size as u16).to_ne_bytes());
    bytes.extend(body);
    bytes.extend(words(&[70, 71]));
    bytes.extend(TIME_NS.to_ne_bytes());
    bytes.extend(words(&[1, 0]));
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_ne_bytes()).collect()
}

fn mmap2(misc: u32, file: &[u8], protection: i32, path: &[u8]) -> Vec<u8> {
    record(
        PERF_RECORD_MMAP2,
        misc,
        &[
            &words(&[7, 8]),
            &longs(&[0x1000, 0x3000, 0x2000]),
            file,
            &words(&[protection as u32, 0]),
            path,
        ],
    )
}

fn good() -> Vec<Vec<u8>> {
    let executable = libc::PROT_READ | libc::PROT_EXEC;
    let inode = [words(&[8, 1]), longs(&[42, 5])].concat();
    let build_id = [&[20, 0, 0, 0][..], &[0xab; 20]].concat();
    let path = b"/usr/bin/true\0\0\0";
    let by_build_id = PERF_RECORD_MISC_MMAP_BUILD_ID;
    vec![
        mmap2(0, &inode, executable, path),
        mmap2(by_build_id, &build_id, executable, path),
        record(
            PERF_RECORD_COMM,
            PERF_RECORD_MISC_COMM_EXEC,
            &[&words(&[7, 8]), b"true\0\0\0\0"],
        ),
        record(
            PERF_RECORD_COMM,
            0,
            &[&words(&[7, 8]), b"8 bytes!\0\0\0\0\0\0\0\0"],
        ),
        record(
            PERF_RECORD_FORK,
            0,
            &[&words(&[7, 5, 8, 6]), &longs(&[TIME_NS])],
        ),
        record(
            PERF_RECORD_EXIT,
            0,
            &[&words(&[7, 5, 8, 6]), &longs(&[TIME_NS])],
        ),
        record(PERF_RECORD_LOST, 0, &[&longs(&[3, 12])]),
    ]
}

#[test]
fn each_kind_says_what_happened_to_whom_and_when() {
    let inode = MappedFile::Inode {
        device: (8, 1),
        inode: 42,
    };
    let build_id = MappedFile::BuildId {
        bytes: [0xab; 20],
        length: 20,
    };
    let mapped = |file| {
        Event::Mapped(Mapped {
            start: 0x1000,
            end: 0x4000,
            offset: 0x2000,
            file,
            path: b"/usr/bin/true".to_vec(),
        })
    };
    let named = |name: &[u8], exec| Event::Named {
        name: name.to_vec(),
        exec,
    };
    let started = Event::Started {
        parent_tgid: 5,
        parent_tid: 6,
    };
    let expected = [
        (7, 8, mapped(inode)),
        (7, 8, mapped(build_id)),
        (7, 8, named(b"true", true)),
        (7, 8, named(b"8 bytes!", false)),
        (7, 8, started),
        (7, 8, Event::Ended),
        (70, 71, Event::Lost { records: 12 }),
    ];
    for (bytes, (tgid, tid, event)) in good().iter().zip(expected) {
        let expected = Record {
            time_ns: TIME_NS,
            tgid,
            tid,
            event,
        };
        assert_eq!(parse(bytes), Ok(Some(expected)));
    }
}

#[test]
fn data_and_kinds_of_no_use_are_passed_over() {
    let inode = [words(&[8, 1]), longs(&[42, 5])].concat();
    let data = mmap2(0, &inode, libc::PROT_READ, b"/lib/data\0\0\0\0\0\0\0");
    assert_eq!(parse(&data), Ok(None));
    let throttle = record(PERF_RECORD_THROTTLE, 0, &[&longs(&[1, 2, 3])]);
    assert_eq!(parse(&throttle), Ok(None));
}

#[test]
fn a_build_id_is_never_longer_than_its_bytes() {
    let build_id = [&[255, 0, 0, 0][..], &[0xab; 20]].concat();
    let bytes = mmap2(
        PERF_RECORD_MISC_MMAP_BUILD_ID,
        &build_id,
        libc::PROT_EXEC,
        b"",
    );
    let Ok(Some(Record {
        event: Event::Mapped(mapped),
        ..
    })) = parse(&bytes)
    else {
        panic!("a mapping");
    };
    assert!(matches!(
        mapped.file,
        MappedFile::BuildId { length: 20, .. }
    ));
}

#[test]
fn records_are_taken_one_after_the_other() {
    let all = good().concat();
    let mut rest = &all[..];
    for expected in good() {
        assert_eq!(split_first(&mut rest), Some(&expected[..]));
    }
    assert_eq!(split_first(&mut rest), None, "nothing is left");

    let too_small = record(0, 0, &[]);
    let mut too_small = &too_small[..HEADER - 1];
    assert_eq!(split_first(&mut too_small), None);
    let mut empty = &[0; 64][..];
    assert_eq!(split_first(&mut empty), None, "would never end");
}

proptest! {
    #[test]
    fn whatever_the_bytes_nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = parse(&bytes);
        let mut rest = &bytes[..];
        while let Some(record) = split_first(&mut rest) {
            prop_assert!(record.len() >= HEADER);
        }
    }

    #[test]
    fn good_records_may_be_cut_and_changed(
        which in 0..good().len(),
        length in 0..200usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = good().swap_remove(which);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(length);
        if let Ok(Some(Record { event: Event::Mapped(mapped), .. })) = parse(&bytes) {
            prop_assert!(mapped.start <= mapped.end);
            prop_assert!(mapped.path.len() <= bytes.len());
        }
    }

    #[test]
    fn what_ends_before_its_trailer_is_malformed(which in 0..good().len()) {
        let bytes = good().swap_remove(which);
        prop_assert_eq!(parse(&bytes[..HEADER + TRAILER - 1]), Err(Malformed));
    }
}
