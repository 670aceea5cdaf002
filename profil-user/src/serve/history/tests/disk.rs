use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _};

use flate2::{Compression, write::ZlibEncoder};

use proptest::prelude::*;

use super::{ALL, everything, row, window};
use crate::serve::history::{Grouping, History, Limits, MINUTE, record::records_of};

#[test]
fn it_goes_on_where_the_last_one_ended() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("history");
    let mut history = History::open(&dir, Limits::default()).unwrap();
    for minute in 0..130 {
        history.enter(&window(
            minute * MINUTE,
            vec![row(1, "a", "a", "f", 0x100, [minute, 1])],
        ));
    }
    let before = everything(&history, Grouping::Address);
    drop(history);
    let again = History::open(&dir, Limits::default()).unwrap();
    assert_eq!(everything(&again, Grouping::Address), before);
    assert_eq!(again.losses().damaged, 0);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(dir.clone()), 0o700);
    let files: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 3);
    files
        .into_iter()
        .for_each(|file| assert_eq!(mode(file), 0o600));
    // The last minutes only, where fewer are kept.
    let few = History::open(
        &dir,
        Limits {
            minutes: 7,
            ..Limits::default()
        },
    )
    .unwrap();
    assert_eq!(few.timeline(ALL, 1).moments[0].began, 123 * MINUTE);
}

#[test]
fn files_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        disk: 1500,
        ..Limits::default()
    };
    let mut history = History::open(dir.path(), limits).unwrap();
    for hour in 0..40 {
        history.enter(&window(
            hour * 3600,
            vec![row(1, "a", "a", "f", 0x100, [hour + 1, 1])],
        ));
    }
    history.close();
    let sizes = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() <= 1500);
    drop(history);
    let again = History::open(dir.path(), limits).unwrap();
    assert_eq!(
        again.timeline(ALL, 1).moments.last().unwrap().began,
        39 * 3600
    );
}

#[test]
fn no_link_is_followed_and_no_device_read() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    let home = dir.path().join("history");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.join("history-00000000.minutes")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", home.join("history-00000001.minutes")).unwrap();
    let mut history = History::open(&home, Limits::default()).unwrap();
    history.enter(&window(60, vec![row(1, "a", "a", "f", 0x100, [1, 0])]));
    history.close();
    assert_eq!(history.losses().unwritten, 1);
    assert!(!elsewhere.exists());
}

/// What some minutes are on disk.
fn bytes_on_disk(minutes: u64) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let mut history = History::open(dir.path(), Limits::default()).unwrap();
    for minute in 0..minutes {
        history.enter(&window(
            minute * MINUTE,
            vec![row(1, "a", "a", "f", 0x100, [minute + 1, 1])],
        ));
    }
    drop(history);
    fs::read(dir.path().join("history-00000000.minutes")).unwrap()
}

#[test]
fn a_torn_end_costs_the_last_minute() {
    let bytes = bytes_on_disk(5);
    for cut in 1..40 {
        let (records, damaged) = records_of(&bytes[..bytes.len() - cut]);
        assert_eq!((records.len(), damaged), (4, 1), "{cut}");
    }
}

/// A million empty names in a record of a few kilobytes, whose CRC is right.
#[test]
fn a_record_that_unpacks_to_a_flood_is_not_believed() {
    let flood = [0x1a, 0].repeat(1 << 20);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&flood).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 10_000);
    let head = |body: &[u8]| {
        [
            (body.len() as u32).to_le_bytes(),
            crc32fast::hash(body).to_le_bytes(),
        ]
        .concat()
    };
    let file = [&[0x89, b'p', b'f', 1][..], &head(&packed), &packed].concat();
    assert_eq!(records_of(&file), (Vec::new(), 1));
    let bytes = bytes_on_disk(1);
    let good = &bytes[12..];
    assert_eq!(bytes[4..12], head(good), "it is the layout of a record");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A flipped bit costs the minute that it is in.
    #[test]
    fn a_flipped_bit_costs_a_minute(place in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut bytes = bytes_on_disk(5);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let (records, damaged) = records_of(&bytes);
        prop_assert_eq!(records.len(), 4);
        prop_assert!(damaged >= 1);
    }

    #[test]
    fn whatever_is_on_disk(bytes in prop::collection::vec(any::<u8>(), 0..300), place in any::<prop::sample::Index>()) {
        let mut file = bytes_on_disk(2);
        let place = place.index(file.len());
        file.splice(place..place, bytes);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("history-00000000.minutes"), file).unwrap();
        let history = History::open(dir.path(), Limits::default()).unwrap();
        prop_assert!(history.minutes() >= 1);
    }
}
