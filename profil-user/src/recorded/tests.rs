use std::{fs, path::PathBuf};

use super::{Executable, Recorded, RecordedError};

/// This test, whose functions are known.
fn this() -> Executable {
    Executable::open("/proc/self/exe".as_ref(), &[]).unwrap()
}

fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// A file with one bin of two bytes at `low`.
fn one_bin(low: u64, ticks: u16) -> Vec<u8> {
    let mut bytes = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(low.to_le_bytes());
    bytes.extend((low + 2).to_le_bytes());
    bytes.extend([1, 0, 0, 0, 100, 0, 0, 0]);
    bytes.extend(b"seconds\0\0\0\0\0\0\0\0s");
    bytes.extend(ticks.to_le_bytes());
    bytes
}

#[test]
fn files_add_up_and_text_that_is_not_there_is_noticed() {
    let (_dir, path) = file("a", &one_bin(0xffff_ffff_8000_0000, 7));
    let recorded = Recorded::read(&[path.clone(), path], &this()).unwrap();
    assert_eq!((recorded.ticks(), recorded.outside), (14, 14));
    assert_eq!(recorded.sources.len(), 2);
    assert_eq!(recorded.sources[1].ticks, 7);
}

#[test]
fn a_file_of_another_width_is_said_to_be_one() {
    let mut bytes = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(0x1000_u32.to_le_bytes());
    bytes.extend(0x1002_u32.to_le_bytes());
    bytes.extend([1, 0, 0, 0, 100, 0, 0, 0]);
    bytes.extend(b"seconds\0\0\0\0\0\0\0\0s\x01\0");
    let (_dir, path) = file("a", &bytes);
    let error = Recorded::read(&[path], &this()).unwrap_err();
    assert!(matches!(error, RecordedError::OtherClass { .. }), "{error}");
    assert!(error.to_string().contains("32-bit"), "{error}");
}

#[test]
fn a_file_without_a_histogram_is_an_error() {
    let (_dir, path) = file("a", b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let error = Recorded::read(&[path], &this()).unwrap_err();
    assert!(matches!(error, RecordedError::NoHistogram(_)), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn a_big_endian_program_is_refused() {
    let mut image = fs::read("/proc/self/exe").unwrap();
    image[5] = 2;
    // All of its numbers are backwards now; those that matter are none.
    image[32..64].fill(0);
    let (_dir, path) = file("a", &image);
    let error = Executable::open(&path, &[]).unwrap_err();
    assert!(matches!(error, RecordedError::Executable { .. }), "{error}");
}
