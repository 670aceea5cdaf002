//! The archive that the kernel unpacks into memory as its first file system: cpio, "new" format,
//! as in the kernel's own `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// Everything is aligned to this many bytes.
const ALIGNMENT: usize = 4;

/// The name of the entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive in the making.
#[derive(Debug)]
pub(super) struct Cpio<W> {
    to: W,
    entries: u32,
    directories: BTreeSet<String>,
}

impl<W: Write> Cpio<W> {
    pub(super) fn new(to: W) -> Self {
        Self {
            to,
            entries: 0,
            directories: BTreeSet::new(),
        }
    }

    /// Adds a directory, and those above it, unless they are there.
    pub(super) fn directory(&mut self, path: &str, mode: u32) -> io::Result<()> {
        let path = path.trim_matches('/');
        if path.is_empty() || self.directories.contains(path) {
            return Ok(());
        }
        self.parents(path)?;
        self.directories.insert(path.to_owned());
        self.entry(path, DIRECTORY | mode, (0, 0), &[])
    }

    /// Adds a file, and the directories above it.
    pub(super) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let path = path.trim_start_matches('/');
        self.parents(path)?;
        self.entry(path, REGULAR | mode, (0, 0), bytes)
    }

    /// Adds a character device.
    pub(super) fn device(&mut self, path: &str, mode: u32, number: (u32, u32)) -> io::Result<()> {
        let path = path.trim_start_matches('/');
        self.parents(path)?;
        self.entry(path, CHARACTER_DEVICE | mode, number, &[])
    }

    /// Ends the archive.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.entry(TRAILER, 0, (0, 0), &[])?;
        Ok(self.to)
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        match path.rsplit_once('/') {
            Some((parent, _)) => self.directory(parent, 0o755),
            None => Ok(()),
        }
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), bytes: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let too_large = |_| io::Error::other(format!("{name} does not fit into the archive"));
        let size = u32::try_from(bytes.len()).map_err(too_large)?;
        let name_size = u32::try_from(name.len() + 1).map_err(too_large)?;
        let (user, group, links, time, checksum) = (0, 0, 1, 0, 0);
        let mut head = b"070701".to_vec();
        for field in [
            self.entries,
            mode,
            user,
            group,
            links,
            time,
            size,
            0,
            0,
            device.0,
            device.1,
            name_size,
            checksum,
        ] {
            write!(head, "{field:08X}")?;
        }
        head.extend_from_slice(name.as_bytes());
        head.push(0);
        pad(&mut head);
        self.to.write_all(&head)?;
        self.to.write_all(bytes)?;
        let padding = bytes.len().next_multiple_of(ALIGNMENT) - bytes.len();
        self.to.write_all(&[0; ALIGNMENT][..padding])
    }
}

fn pad(head: &mut Vec<u8>) {
    head.resize(head.len().next_multiple_of(ALIGNMENT), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names, modes and contents in an archive.
    fn read(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut at = 0;
        loop {
            let head = &archive[at..at + 110];
            assert_eq!(&head[..6], b"070701");
            let field = |index: usize| {
                let digits = str::from_utf8(&head[6 + index * 8..][..8]).expect("digits");
                u32::from_str_radix(digits, 16).expect("hexadecimal")
            };
            let (mode, size, name_size) = (field(1), field(6) as usize, field(11) as usize);
            let name = &archive[at + 110..][..name_size];
            let name = name.strip_suffix(b"\0").expect("a name ends with zero");
            let name = String::from_utf8(name.to_vec()).expect("a name in UTF-8");
            let data = (at + 110 + name_size).next_multiple_of(ALIGNMENT);
            at = (data + size).next_multiple_of(ALIGNMENT);
            if name == TRAILER {
                assert_eq!(at, archive.len());
                return entries;
            }
            entries.push((name, mode, archive[data..data + size].to_vec()));
        }
    }

    #[test]
    fn directories_come_once_and_before_what_they_hold() {
        let mut cpio = Cpio::new(Vec::new());
        cpio.directory("tmp", 0o1777).expect("memory takes it");
        cpio.device("dev/console", 0o600, (5, 1))
            .expect("memory takes it");
        cpio.file("/a/b/one", 0o755, b"12345")
            .expect("memory takes it");
        cpio.file("/a/two", 0o644, b"").expect("memory takes it");
        let archive = cpio.finish().expect("memory takes it");
        let entry = |name: &str, mode, bytes: &[u8]| (name.to_owned(), mode, bytes.to_vec());
        assert_eq!(
            read(&archive),
            [
                entry("tmp", 0o041_777, b""),
                entry("dev", 0o040_755, b""),
                entry("dev/console", 0o020_600, b""),
                entry("a", 0o040_755, b""),
                entry("a/b", 0o040_755, b""),
                entry("a/b/one", 0o100_755, b"12345"),
                entry("a/two", 0o100_644, b""),
            ]
        );
    }

    #[test]
    fn a_head_is_as_the_kernel_wants_it() {
        let archive = Cpio::new(Vec::new()).finish().expect("memory takes it");
        let head = "070701000000010000000000000000000000000000000100000000\
                    00000000000000000000000000000000000000000000000B00000000TRAILER!!!\0\0\0\0";
        assert_eq!(String::from_utf8_lossy(&archive), head);
    }
}
