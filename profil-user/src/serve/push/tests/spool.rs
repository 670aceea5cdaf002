//! Files that wait.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
    time::Duration,
};

use proptest::prelude::*;

use super::{config, numbered, pushed, receiver::Receiver, start, try_start, wait};
use crate::serve::push::{
    line::Line,
    parcel::{Content, Damaged, FRAME, Parcel},
    spool::Spool,
};

fn parcel(body: &[u8]) -> Parcel {
    Parcel {
        content: Content::Pprof,
        began_ns: 1,
        until_ns: 2,
        sample_rate_hz: 97.0,
        body: body.to_vec(),
    }
}

fn open(path: &Path, most_bytes: u64) -> Line {
    let (spool, stored, foreign) = Spool::open(path, Duration::from_millis(100)).unwrap();
    Line::in_spool(spool, stored, foreign, most_bytes)
}

/// Everything that waits, as it would be sent.
fn drain(line: &mut Line) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while let Some((number, parcel)) = line.first(Content::Pprof) {
        bodies.push(parcel.body);
        line.remove(number).unwrap();
    }
    bodies
}

fn figures(line: &Line) -> crate::serve::push::Figures {
    let mut figures = crate::serve::push::Figures::default();
    line.enter(&mut figures);
    figures
}

#[test]
fn files_are_for_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let mut line = open(&path, 1 << 20);
    line.add(parcel(b"body")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    let files: Vec<_> = fs::read_dir(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].metadata().unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn the_oldest_goes_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let each = (FRAME + 1) as u64;
    let mut line = open(&path, 3 * each);
    for body in [b"1", b"2", b"3", b"4", b"5"] {
        line.add(parcel(body)).unwrap();
    }
    assert_eq!(figures(&line).dropped, 2);
    assert_eq!(figures(&line).spooled_bytes, 3 * each);
    drop(line);
    // The next one may keep less.
    let mut line = open(&path, 2 * each);
    assert_eq!(figures(&line).dropped, 1);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    // And none that is too large for it, for which all others would have to go.
    line.add(parcel(&[0; 200])).unwrap();
    assert_eq!(figures(&line).dropped, 2);
    assert_eq!(drain(&mut line), [b"4", b"5"]);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn what_is_not_ours_or_damaged_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let mut line = open(&path, 1 << 20);
    for body in [b"1", b"2", b"3"] {
        line.add(parcel(body)).unwrap();
    }
    drop(line);
    let name = |number: u32| path.join(format!("{number:020}.push"));
    let mut damaged = fs::read(name(1)).unwrap();
    damaged[FRAME - 4] ^= 1;
    fs::write(name(1), &damaged).unwrap();
    fs::write(path.join("README"), "foreign").unwrap();
    fs::write(path.join("5.push"), "foreign").unwrap();
    fs::write(
        path.join(format!("{:020}.push", u64::MAX)),
        parcel(b"9").pack(),
    )
    .unwrap();
    // Another's file by a link is nobody's.
    let victim = directory.path().join("victim");
    fs::write(&victim, parcel(b"victim").pack()).unwrap();
    symlink(&victim, name(7)).unwrap();
    // As a process that was killed leaves it.
    fs::write(path.join(format!("{:020}.aside", 3)), "half").unwrap();

    let mut line = open(&path, 1 << 20);
    assert_eq!((figures(&line).waiting, figures(&line).skipped), (3, 4));
    assert_eq!(drain(&mut line), [b"1", b"3"]);
    assert_eq!(figures(&line).skipped, 5);
    assert_eq!(fs::read(name(1)).unwrap(), damaged);
    assert!(victim.exists() && name(7).is_symlink());
    assert!(!path.join(format!("{:020}.aside", 3)).exists());
    assert_eq!(fs::read_dir(&path).unwrap().count(), 5);
}

#[test]
fn what_waits_for_another_kind_of_receiver_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut line = open(&directory.path().join("spool"), 1 << 20);
    line.add(Parcel {
        content: Content::Otlp,
        ..parcel(b"1")
    })
    .unwrap();
    line.add(parcel(b"2")).unwrap();
    assert_eq!(drain(&mut line), [b"2"]);
    assert_eq!(figures(&line).skipped, 1);
}

#[test]
fn a_directory_that_is_no_good_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let said = |path: &Path| {
        Spool::open(path, Duration::from_millis(100))
            .unwrap_err()
            .to_string()
    };
    let open_to_all = directory.path().join("lax");
    fs::create_dir(&open_to_all).unwrap();
    fs::set_permissions(&open_to_all, Permissions::from_mode(0o755)).unwrap();
    assert!(said(&open_to_all).ends_with("others may enter it; chmod 700 it, or give another"));
    let link = directory.path().join("link");
    symlink(&open_to_all, &link).unwrap();
    assert!(said(&link).contains("(os error "));
    assert!(said(&directory.path().join("no/where")).contains("(os error 2)"));
    let used = directory.path().join("used");
    let _user = open(&used, 1);
    assert!(said(&used).ends_with("another process uses it; end that, or give another directory"));
}

#[test]
fn a_disk_that_takes_nothing_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let receiver = Receiver::new([]);
    let (pusher, lines) = start(config(&receiver.url(), Some(&path)));
    // Nothing can be written into a directory that is gone.
    fs::remove_dir(&path).unwrap();
    for number in 1..=2 {
        pusher.offer(pushed(number));
    }
    let figures = wait(&pusher, |figures| figures.sent == 2);
    assert_eq!(figures.dropped, 0);
    assert_eq!(super::bodies(&receiver.asked()), numbered([1, 2]));
    assert!(
        lines.all()[0].starts_with("cannot keep a profile in "),
        "{:?}",
        lines.all()
    );
}

#[test]
fn a_spool_that_cannot_be_is_an_error_at_the_start() {
    let (started, _) = try_start(config(
        "http://127.0.0.1:1",
        Some(Path::new("/proc/no/spool")),
    ));
    started.unwrap_err();
}

proptest! {
    #[test]
    fn a_parcel_is_read_as_it_was_written(
        is_otlp: bool, began_ns: u64, until_ns: u64, rate in 0.0..1e6_f64, body: Vec<u8>,
        flip: proptest::sample::Index, bit in 0..8_u32,
    ) {
        let content = if is_otlp { Content::Otlp } else { Content::Pprof };
        let parcel = Parcel { content, began_ns, until_ns, sample_rate_hz: rate, body };
        let mut bytes = parcel.pack();
        prop_assert_eq!(bytes.len(), FRAME + parcel.body.len());
        prop_assert_eq!(Parcel::unpack(&bytes), Ok(parcel));
        // A bit more or less, and it is none.
        prop_assert_eq!(Parcel::unpack(&bytes[..flip.index(bytes.len())]), Err(Damaged));
        let place = flip.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert_eq!(Parcel::unpack(&bytes), Err(Damaged));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), place: proptest::sample::Index,
        byte: u8, body in prop::collection::vec(any::<u8>(), 0..9), more in 0..9_usize, is_changed: bool,
    ) {
        // Nothing but noise, or almost a parcel; both under a CRC that is right.
        let mut almost = parcel(&body).pack();
        almost.truncate(almost.len() - 4);
        if is_changed {
            let place = place.index(almost.len());
            almost[place] = byte;
        }
        almost.extend(vec![0; more]);
        for mut bytes in [bytes, almost] {
            prop_assert!(Parcel::unpack(&bytes).is_err());
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            if let Ok(parcel) = Parcel::unpack(&bytes) {
                prop_assert_eq!(parcel.pack(), bytes);
            }
        }
    }
}
