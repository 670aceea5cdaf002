//! The executable mappings of a process, from `/proc/PID/maps` (proc_pid_maps(5)).

use std::{ffi::OsString, fs, io, os::unix::ffi::OsStringExt as _, path::PathBuf};

use crate::profile::BuildId;

/// One executable mapping.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mapping {
    /// First address, in the process.
    pub(crate) start: u64,
    /// First address past it.
    pub(crate) end: u64,
    /// What is mapped.
    pub(crate) backing: Backing,
}

/// What lies behind a mapping.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Backing {
    /// A file.
    File(FileMapping),
    /// The kernel's code for user mode (vdso(7)).
    Vdso,
    /// Memory without a file: generated code, usually.
    Anonymous,
    /// The kernel's own text, the same for all.
    Kernel,
}

/// The file behind a mapping.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FileMapping {
    /// Offset in the file of the mapping's first byte.
    pub(crate) offset: u64,
    pub(crate) id: FileId,
    /// Which build it is, where that is how the kernel names it.
    pub(crate) build_id: Option<BuildId>,
    /// The path in the process's own view of the file system.
    pub(crate) path: PathBuf,
}

/// Which file it is, whatever its path says today.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct FileId {
    /// Device, as major and minor number.
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
}

impl FileId {
    /// Of a file that the kernel names by its build alone.
    pub(crate) const UNKNOWN: Self = Self {
        device: (0, 0),
        inode: 0,
    };
}

impl FileMapping {
    /// Whether both are the same file, as far as is known.
    fn is_same_file(&self, other: &Self) -> bool {
        if self.id == FileId::UNKNOWN || other.id == FileId::UNKNOWN {
            self.path == other.path
        } else {
            self.id == other.id
        }
    }
}

impl Mapping {
    /// Whether this mapping shows at every address that both have what `other` did.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (&self.backing, &other.backing) {
            (Backing::File(file), Backing::File(before)) => {
                let start_of_file =
                    |mapping: &Self, file: &FileMapping| mapping.start.wrapping_sub(file.offset);
                file.is_same_file(before)
                    && start_of_file(self, file) == start_of_file(other, before)
            }
            (backing, before) => backing == before,
        }
    }

    /// Whether this mapping shows all that `other` did, at the same addresses.
    pub(crate) fn shows(&self, other: &Self) -> bool {
        if self.start > other.start || self.end < other.end {
            return false;
        }
        match (&self.backing, &other.backing) {
            (Backing::File(file), Backing::File(before)) => {
                file.is_same_file(before)
                    && file.offset.wrapping_add(other.start - self.start) == before.offset
            }
            (backing, before) => backing == before,
        }
    }
}

/// Reads the executable mappings of a process, in ascending order of address. Empty if it has
/// ended.
///
/// # Errors
///
/// If the process is gone or the kernel refuses to tell.
pub(crate) fn read(tgid: u32) -> io::Result<Vec<Mapping>> {
    let mappings = read_file(&format!("/proc/{tgid}/maps"))?;
    if !mappings.is_empty() {
        return Ok(mappings);
    }
    // A process whose first thread has ended shows its memory through the others only.
    for entry in fs::read_dir(format!("/proc/{tgid}/task"))? {
        let path = entry?.path().join("maps");
        match path.to_str().map(read_file) {
            Some(Ok(mappings)) if !mappings.is_empty() => return Ok(mappings),
            _ => {}
        }
    }
    Ok(mappings)
}

fn read_file(path: &str) -> io::Result<Vec<Mapping>> {
    // Bytes, because a path is not always UTF-8.
    let text = fs::read(path)?;
    Ok(parse(&text).collect())
}

/// The executable mappings in such a text.
pub(crate) fn parse(text: &[u8]) -> impl Iterator<Item = Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(parse_line)
}

/// Parses one line; `None` if it does not describe executable memory that user code runs in.
///
/// Format: `START-END PERMS OFFSET MAJOR:MINOR INODE` and, after blanks, a path.
pub(super) fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let range = text(fields.next()?)?;
    let permissions = fields.next()?;
    let offset = hexadecimal(text(fields.next()?)?)?;
    let device = text(fields.next()?)?;
    let inode = text(fields.next()?)?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();

    if permissions.get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
    if start >= end {
        return None;
    }
    let backing = match path {
        b"[vdso]" => Backing::Vdso,
        // Emulated by the kernel: no tick ever falls in it.
        b"[vsyscall]" => return None,
        _ if inode == 0 => Backing::Anonymous,
        _ => {
            let (major, minor) = device.split_once(':')?;
            let major = u32::from_str_radix(major, 16).ok()?;
            let minor = u32::from_str_radix(minor, 16).ok()?;
            Backing::File(FileMapping {
                offset,
                id: FileId {
                    device: (major, minor),
                    inode,
                },
                build_id: None,
                path: PathBuf::from(OsString::from_vec(unescape(path))),
            })
        }
    };
    Some(Mapping {
        start,
        end,
        backing,
    })
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// The kernel writes a line end inside a path as `\012`, and nothing else differently.
fn unescape(path: &[u8]) -> Vec<u8> {
    const ESCAPED: &[u8] = br"\012";

    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(&byte) = rest.first() {
        if let Some(after) = rest.strip_prefix(ESCAPED) {
            plain.push(b'\n');
            rest = after;
        } else {
            plain.push(byte);
            rest = &rest[1..];
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::{Backing, FileId, FileMapping, Mapping, parse_line, read};

    fn file(line: &[u8]) -> FileMapping {
        match parse_line(line).unwrap().backing {
            Backing::File(file) => file,
            other => panic!("not a file: {other:?}"),
        }
    }

    #[test]
    fn a_line_of_text_is_read_whole() {
        let line = b"7f0123456000-7f01235cb000 r-xp 00026000 fe:0a 1835 \
                     \x20                    /usr/lib/libc.so.6";
        let expected = Mapping {
            start: 0x7f01_2345_6000,
            end: 0x7f01_235c_b000,
            backing: Backing::File(FileMapping {
                offset: 0x26000,
                id: FileId {
                    device: (0xfe, 0x0a),
                    inode: 1835,
                },
                build_id: None,
                path: PathBuf::from("/usr/lib/libc.so.6"),
            }),
        };
        assert_eq!(parse_line(line), Some(expected));
    }

    #[test]
    fn memory_that_is_not_executed_is_passed_over() {
        assert_eq!(
            parse_line(b"1000-2000 rw-p 00000000 fe:00 12 /bin/sh"),
            None
        );
    }

    #[test]
    fn what_has_no_file_is_told_apart() {
        let backing = |line: &[u8]| parse_line(line).map(|mapping| mapping.backing);
        assert_eq!(
            backing(b"1000-2000 r-xp 00000000 00:00 0     [vdso]"),
            Some(Backing::Vdso)
        );
        assert_eq!(
            backing(b"1000-2000 rwxp 00000000 00:00 0 "),
            Some(Backing::Anonymous)
        );
        assert_eq!(
            backing(b"1000-2000 rwxp 00000000 00:00 0"),
            Some(Backing::Anonymous)
        );
        assert_eq!(
            backing(b"1000-2000 rwxp 00000000 00:00 0  [anon:jit]"),
            Some(Backing::Anonymous)
        );
        assert_eq!(
            backing(b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]"),
            None
        );
    }

    #[test]
    fn a_path_may_hold_blanks_and_line_ends() {
        let path = file(br"1000-2000 r-xp 00000000 fe:00 12   /a b\012c\x (deleted)").path;
        assert_eq!(path, PathBuf::from("/a b\nc\\x (deleted)"));
    }

    #[test]
    fn a_mapping_may_grow_but_not_become_another() {
        let mapping = |line: &[u8]| parse_line(line).unwrap();
        let before = mapping(b"2000-3000 r-xp 00001000 fe:00 12 /a");
        for same in [
            &b"2000-3000 r-xp 00001000 fe:00 12 /a"[..],
            b"1000-4000 r-xp 00000000 fe:00 12 /a",
            b"2000-3000 rwxp 00001000 fe:00 12 /renamed",
        ] {
            assert!(mapping(same).shows(&before));
        }
        for other in [
            &b"2000-3000 r-xp 00001000 fe:00 13 /a"[..],
            b"2000-3000 r-xp 00000000 fe:00 12 /a",
            b"2000-2800 r-xp 00001000 fe:00 12 /a",
            b"2000-3000 r-xp 00000000 00:00 0 ",
        ] {
            assert!(!mapping(other).shows(&before));
        }
    }

    #[test]
    fn a_part_of_a_mapping_agrees_with_it() {
        let mapping = |line: &[u8]| parse_line(line).unwrap();
        let whole = mapping(b"2000-9000 r-xp 00001000 fe:00 12 /a");
        for (part, agrees) in [
            (&b"2000-3000 r-xp 00001000 fe:00 12 /a"[..], true),
            (b"3000-4000 r-xp 00002000 fe:00 12 /a", true),
            (b"3000-4000 r-xp 00001000 fe:00 12 /a", false),
            (b"3000-4000 r-xp 00002000 fe:00 13 /a", false),
            (b"3000-4000 r-xp 00000000 00:00 0 ", false),
        ] {
            assert_eq!(mapping(part).agrees(&whole), agrees);
        }
    }

    #[test]
    fn this_process_has_mappings_in_order() {
        let mappings = read(std::process::id()).unwrap();
        assert!(mappings.is_sorted_by_key(|mapping| mapping.start));
        let here = this_process_has_mappings_in_order as fn() as usize as u64;
        assert!(
            mappings
                .iter()
                .any(|mapping| mapping.start <= here && here < mapping.end)
        );
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in prop::collection::vec(any::<u8>(), 0..80)) {
            parse_line(&line);
        }

        #[test]
        fn no_field_is_too_odd(
            range in "[0-9a-f]{0,20}-?[0-9a-f]{0,20}", offset in "[0-9a-fx]{0,20}",
            device in "[0-9a-f]{0,9}:?[0-9a-f]{0,9}", inode in "[0-9]{0,25}",
        ) {
            parse_line(format!("{range} r-xp {offset} {device} {inode} /p").as_bytes());
        }
    }
}
