//! What a file has of DWARF, and whether it is fit to be read: all of it is read, and unpacked into
//! memory where it is compressed.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
};

use flate2::read::ZlibDecoder;
use object::{
    Endianness, ReadRef,
    elf::{ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD},
    read::elf::{CompressionHeader as _, FileHeader, SectionHeader},
};

use crate::target::ObjectFile;

/// The sections of debug information in a file.
#[derive(Debug, Default)]
pub(super) struct DebugInfo {
    /// Whether lines are among it.
    pub(super) has_lines: bool,
    /// Whether a part of it is in another file, whose name is in this one.
    pub(super) is_split: bool,
    /// Bytes of the sections that are not compressed.
    plain_bytes: u64,
    packed: Vec<Packed>,
    /// Whether a section cannot be read at all.
    is_broken: bool,
}

/// A compressed section.
#[derive(Clone, Copy, Debug)]
struct Packed {
    /// By what: `ch_type` (elf(5)).
    method: u32,
    /// Where in the file.
    offset: u64,
    bytes: u64,
    /// What it says it grows to.
    unpacked_bytes: u64,
}

/// More than the debug information of the largest programs there are.
const MAX_BYTES: u64 = 4 << 30;

/// What may be unpacked: it takes that much memory.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;

impl DebugInfo {
    /// Takes note of a section, if it is one of debug information.
    pub(super) fn add<'data, Section>(
        &mut self,
        name: &[u8],
        section: &Section,
        endian: Endianness,
        data: impl ReadRef<'data>,
    ) where
        Section: SectionHeader<Elf: FileHeader<Endian = Endianness>, Endian = Endianness>,
    {
        self.is_split |= matches!(name, b".gnu_debugaltlink" | b".debug_sup");
        if !name.starts_with(b".debug_") {
            return;
        }
        self.has_lines |= name == b".debug_line";
        match section.compression(endian, data) {
            Err(_) => self.is_broken = true,
            Ok(None) => {
                let bytes = section.sh_size(endian).into();
                self.plain_bytes = self.plain_bytes.saturating_add(bytes);
            }
            Ok(Some((header, offset, bytes))) => self.packed.push(Packed {
                method: header.ch_type(endian),
                offset,
                bytes,
                unpacked_bytes: header.ch_size(endian).into(),
            }),
        }
    }

    /// Whether it can be read from that file: it is no larger than believable, was really written,
    /// and what is compressed grows to just what it says.
    pub(super) fn is_fit(&self, file: &ObjectFile) -> bool {
        let fits = || -> io::Result<bool> {
            let mut file = File::open(file.path())?;
            // A file with holes can claim sections of any size.
            let written = file.metadata()?.blocks().saturating_mul(512);
            let sizes = self.packed.iter().map(|packed| packed.unpacked_bytes);
            let unpacked = sizes.fold(0, u64::saturating_add);
            if self.is_broken
                || self.plain_bytes > MAX_BYTES.min(written)
                || unpacked > MAX_UNPACKED_BYTES
            {
                return Ok(false);
            }
            for packed in &self.packed {
                if packed.bytes > written || !packed.keeps_its_word(&mut file)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        fits().unwrap_or(false)
    }
}

impl Packed {
    fn keeps_its_word(&self, file: &mut File) -> io::Result<bool> {
        file.seek(SeekFrom::Start(self.offset))?;
        let bytes = file.take(self.bytes);
        let unpacked: &mut dyn Read = match self.method {
            ELFCOMPRESS_ZLIB => &mut ZlibDecoder::new(bytes),
            ELFCOMPRESS_ZSTD => &mut zstd::Decoder::with_buffer(BufReader::new(bytes))?,
            _ => return Ok(false),
        };
        let mut unpacked = unpacked.take(self.unpacked_bytes.saturating_add(1));
        let length = io::copy(&mut unpacked, &mut io::sink())?;
        Ok(length == self.unpacked_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use crate::{symbolize::sections::Sections, target::ObjectFile};

    /// A program whose debug information is compressed by the linker.
    fn program(dir: &Path, flag: &str) -> Vec<u8> {
        fs::write(dir.join("program.c"), "int main(void) { return 0; }").unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-g", flag, "program.c", "-o", "program"]);
        assert!(cc.current_dir(dir).status().unwrap().success());
        fs::read(dir.join("program")).unwrap()
    }

    fn is_fit(dir: &Path, image: &[u8]) -> bool {
        let path = dir.join("changed");
        fs::write(&path, image).unwrap();
        let file = ObjectFile::open_named(&path).unwrap();
        let sections = Sections::read(&file).unwrap();
        assert!(sections.debug.has_lines);
        sections.debug.is_fit(&file)
    }

    /// Where in a file the headers of compressed sections are.
    fn compression_headers(image: &[u8]) -> Vec<usize> {
        const COMPRESSED: u64 = 1 << 11;
        let word = |at: usize, bytes: usize| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&image[at..at + bytes]);
            u64::from_le_bytes(value)
        };
        let (sections, count) = (word(40, 8) as usize, word(60, 2) as usize);
        (0..count)
            .map(|index| sections + 64 * index)
            .filter(|&at| word(at + 8, 8) & COMPRESSED != 0)
            .map(|at| word(at + 24, 8) as usize)
            .collect()
    }

    #[test]
    fn what_is_not_what_it_says_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(is_fit(dir, &program(dir, "-gz=none")));
        let image = program(dir, "-gz=zlib");
        assert!(is_fit(dir, &image));
        let headers = compression_headers(&image);
        assert!(!headers.is_empty());
        for at in headers {
            // ch_size and ch_type (elf(5))
            let size = u64::from_le_bytes(image[at + 8..at + 16].try_into().unwrap());
            for size in [0, size - 1, size + 1, 2 << 30, u64::MAX] {
                let mut image = image.clone();
                image[at + 8..at + 16].copy_from_slice(&size.to_le_bytes());
                assert!(!is_fit(dir, &image), "{size}");
            }
            for method in [0, 2, 7] {
                let mut image = image.clone();
                image[at] = method;
                assert!(!is_fit(dir, &image), "method {method}");
            }
        }
    }

    #[test]
    fn either_method_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let zlib = program(dir, "-gz=zlib");
        let at = compression_headers(&zlib)[0];
        // Not every linker knows zstd: the first section is packed again by ourselves.
        let sections = {
            let file = ObjectFile::open_named(&dir.join("program")).unwrap();
            Sections::read(&file).unwrap()
        };
        let packed = sections.debug.packed[0];
        assert_eq!(packed.offset as usize, at + 24);
        let end = at + 24 + packed.bytes as usize;
        let mut plain = Vec::new();
        let mut unpack = flate2::read::ZlibDecoder::new(&zlib[at + 24..end]);
        std::io::Read::read_to_end(&mut unpack, &mut plain).unwrap();
        let again = zstd::encode_all(&plain[..], 19).unwrap();
        let mut image = zlib.clone();
        image[at] = 2;
        // At the end of the file, where there is room.
        let place = image.len();
        let header = image[at..at + 24].to_vec();
        image.extend(header);
        image.extend(&again);
        let section = section_at(&image, at);
        image[section + 24..section + 32].copy_from_slice(&(place as u64).to_le_bytes());
        let bytes = 24 + again.len() as u64;
        image[section + 32..section + 40].copy_from_slice(&bytes.to_le_bytes());
        assert!(is_fit(dir, &image));
        let last = image.len() - 1;
        assert!(!is_fit(dir, &image[..last]));
    }

    /// The header of the section at an offset.
    fn section_at(image: &[u8], offset: usize) -> usize {
        let word = |at: usize, bytes: usize| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&image[at..at + bytes]);
            u64::from_le_bytes(value) as usize
        };
        let (sections, count) = (word(40, 8), word(60, 2));
        (0..count)
            .map(|index| sections + 64 * index)
            .find(|&at| word(at + 24, 8) == offset)
            .unwrap()
    }
}
