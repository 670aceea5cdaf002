//! Segments, whoever wrote them.

use std::{fs::File, io::Write as _, path::Path};

use super::{ElfClass, ObjectError, ObjectFile, Segment, open_regular};

fn object(segments: &[Segment]) -> ObjectFile {
    let file = File::open("/proc/self/exe").unwrap();
    ObjectFile {
        file,
        class: ElfClass::Elf64,
        segments: segments.to_vec(),
        build_id: None,
        state: (0, 0, 0),
    }
}

fn segment(offset: u64, file_bytes: u64, address: u64, executable: bool) -> Segment {
    Segment {
        offset,
        file_bytes,
        address,
        executable,
    }
}

#[test]
fn the_segment_that_holds_the_offset_gives_the_address() {
    let object = object(&[
        segment(0, 0x500, 0x40_0000, false),
        segment(0x1000, 0x2000, 0x7000_0000, true),
        segment(0x3000, 0x1000, 0x10_0000, true),
    ]);
    for (offset, address) in [
        (0x1000, 0x7000_0000),
        (0x2fff, 0x7000_1fff),
        (0x3000, 0x10_0000),
        (0x3fff, 0x10_0fff),
        (0x10, 0x40_0010),
    ] {
        assert_eq!(
            object.link_address(offset),
            Some(address),
            "offset {offset:#x}"
        );
    }
    assert_eq!(object.link_address(0x9000), None);
}

#[test]
fn a_page_that_two_segments_share_is_text() {
    let object = object(&[
        segment(0, 0x1800, 0x1000, false),
        segment(0x1400, 0x800, 0x8400, true),
    ]);
    assert_eq!(object.link_address(0x1400), Some(0x8400));
    assert_eq!(object.link_address(0x13ff), Some(0x23ff));
}

#[test]
fn the_rest_of_a_page_belongs_to_its_text() {
    let object = object(&[segment(0x1234, 0x100, 0x40_1234, true)]);
    assert_eq!(object.link_address(0x1000), Some(0x40_1000));
    assert_eq!(object.link_address(0x1fff), Some(0x40_1fff));
}

#[test]
fn this_test_is_an_elf_file() {
    let object = ObjectFile::parse(File::open("/proc/self/exe").unwrap()).unwrap();
    assert!(object.segments.iter().any(|segment| segment.executable));
}

#[test]
fn a_file_that_is_written_into_is_noticed() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&std::fs::read("/proc/self/exe").unwrap())
        .unwrap();
    let object = ObjectFile::parse(file.reopen().unwrap()).unwrap();
    assert!(object.is_unchanged());
    file.write_all(b"more").unwrap();
    assert!(!object.is_unchanged());
}

#[test]
fn what_is_not_an_elf_file_is_an_error() {
    for content in [
        &b""[..],
        b"\x7fELF",
        b"#!/bin/sh\n",
        &[0; 4096],
        b"\x7fELF\x01\x01\x01",
    ] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        ObjectFile::parse(file).unwrap_err();
    }
}

#[test]
fn what_is_not_a_regular_file_is_never_opened() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    for path in [&fifo, Path::new("/dev/zero"), Path::new("/")] {
        assert!(
            matches!(open_regular(path), Err(ObjectError::NotRegular)),
            "{path:?}"
        );
    }
}
