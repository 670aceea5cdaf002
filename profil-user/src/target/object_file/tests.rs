//! Segments, whoever wrote them.

use std::{fs::File, io::Write as _, path::Path};

use super::{ElfClass, MAX_NAMESAKES, ObjectError, ObjectFile, Segment, open_regular};

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

#[test]
fn a_segment_past_the_end_of_everything_has_no_offsets() {
    let object = object(&[segment(u64::MAX - 1, 0x1000, 0x1000, true)]);
    assert_eq!(object.offset_of(0x1001), Some(u64::MAX));
    assert_eq!(object.offset_of(0x1002), None);
    assert_eq!(object.link_address(5), None);
}

/// Sections of an ELF file (elf(5)), the first of them the one that means nothing: `sh_type`,
/// `sh_size`, and what is in them.
fn elf(sections: &[(u32, u64, &[u8])]) -> ObjectFile {
    const HEADERS: usize = 64;
    let mut image = b"\x7fELF\x02\x01\x01".to_vec();
    // And names of the sections: some there must be.
    let sections = [sections, &[(STRTAB, 1, b"\0")]].concat();
    image.resize(64 * (1 + sections.len()), 0);
    image[40] = HEADERS as u8;
    image[52] = 64;
    image[58] = 64;
    image[60..62].copy_from_slice(&(sections.len() as u16).to_le_bytes());
    image[62] = sections.len() as u8 - 1;
    for (index, &(kind, size, content)) in sections.iter().enumerate() {
        let header = HEADERS + 64 * index;
        let place = image.len() as u64;
        image[header + 4..header + 8].copy_from_slice(&kind.to_le_bytes());
        image[header + 24..header + 32].copy_from_slice(&place.to_le_bytes());
        image[header + 32..header + 40].copy_from_slice(&size.to_le_bytes());
        // sh_link, the strings of symbols; and sh_entsize
        image[header + 40] = 2;
        image[header + 56] = 24;
        image.extend(content);
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&image).unwrap();
    ObjectFile::parse(file).unwrap()
}

const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;

/// Symbols at these addresses, all called `f`.
fn called_f(addresses: impl Iterator<Item = u64>) -> Vec<u8> {
    let symbol = |address: u64| {
        let mut symbol = [0; 24];
        (symbol[0], symbol[6]) = (1, 1);
        symbol[8..16].copy_from_slice(&address.to_le_bytes());
        symbol
    };
    addresses.flat_map(symbol).collect()
}

#[test]
fn a_name_is_found_whole_and_not_without_end() {
    let found = |symbols: &[u8], strings: &[u8], name| {
        let file = elf(&[
            (0, 0, b""),
            (SYMTAB, symbols.len() as u64, symbols),
            (STRTAB, strings.len() as u64, strings),
        ]);
        file.symbols_named(name).unwrap()
    };
    let some = called_f([0x10, 0x20, 0x10].into_iter());
    assert_eq!(found(&some, b"\0f\0", "f"), [0x10, 0x20]);
    assert_eq!(found(&some, b"\0f\0", "ff"), [0_u64; 0]);
    assert_eq!(found(&some, b"\0ff\0", "f"), [0_u64; 0]);
    // Neither ends, nor begins.
    assert_eq!(found(&some, b"\0f", "f"), [0_u64; 0]);
    assert_eq!(found(&some, b"", "f"), [0_u64; 0]);
    let many = called_f(1..1000);
    assert_eq!(found(&many, b"\0f\0", "f").len(), MAX_NAMESAKES);
}

#[test]
fn tables_that_nobody_writes_are_not_searched() {
    let half = 1 << 63;
    for sizes in [[half, half], [u64::MAX, 2], [1 << 40, 0]] {
        let file = elf(&[
            (0, 0, b""),
            (SYMTAB, sizes[0], b""),
            (SYMTAB, sizes[1], b""),
        ]);
        let refused = file.symbols_named("f");
        let is_size = matches!(refused, Err(ObjectError::TooManySymbols(bytes)) if bytes > 1 << 39);
        assert!(is_size, "{refused:?}");
    }
    let symbols = called_f(0..1);
    let file = elf(&[
        (0, 0, b""),
        (SYMTAB, 24, &symbols),
        (STRTAB, 1 << 40, b"\0f\0"),
    ]);
    let refused = file.symbols_named("f");
    assert!(matches!(refused, Err(ObjectError::TooManySymbols(_))));
}

#[test]
fn sections_that_nobody_writes_are_not_read() {
    let mut file = tempfile::tempfile().unwrap();
    let mut image = b"\x7fELF\x02\x01\x01".to_vec();
    image.resize(128, 0);
    // No number of sections means that the first section has it for its size.
    (image[40], image[52], image[58]) = (64, 64, 64);
    let count: u64 = 1 << 20;
    image[64 + 32..64 + 40].copy_from_slice(&count.to_le_bytes());
    file.write_all(&image).unwrap();
    file.set_len(1 << 40).unwrap();
    let refused = ObjectFile::parse(file).unwrap().symbols_named("f");
    let is_count = matches!(refused, Err(ObjectError::TooManyHeaders(headers)) if headers == count);
    assert!(is_count, "{refused:?}");
}
