//! What an ELF file's section headers say: where code lies, for symbols that do not say where
//! they end; which tables it has, and how large they are, before anybody reads them; and which
//! other file has the rest.

use std::{
    ffi::OsString,
    fs::File,
    ops::Range,
    os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _},
};

use object::{
    Endian as _, Endianness, FileKind, ReadCache, ReadRef,
    elf::{
        FileHeader32, FileHeader64, SHF_COMPRESSED, SHF_EXECINSTR, SHT_DYNSYM, SHT_NOBITS,
        SHT_STRTAB, SHT_SYMTAB,
    },
    read::elf::{FileHeader, SectionHeader as _},
};

use super::debug_info::DebugInfo;
use crate::target::{MAX_SECTIONS, ObjectFile};

/// The sections of a file that is fit to be read.
#[derive(Debug)]
pub(super) struct Sections {
    /// Link-time ranges of the sections of code.
    code: Vec<Range<u64>>,
    /// Those of the procedure linkage tables among them: no symbol is for what lies there.
    linkage: Vec<Range<u64>>,
    /// Those that are in another file: this one is a debug file.
    elsewhere: Vec<Range<u64>>,
    /// Bytes of all symbol and string tables.
    symbol_bytes: u64,
    /// Whether there is a `.symtab`, and not the exported symbols alone.
    pub(super) has_symbols: bool,
    /// Which file was split off from this one.
    pub(super) debug_link: Option<DebugLink>,
    /// What it has of DWARF.
    pub(super) debug: DebugInfo,
}

/// `.gnu_debuglink`: the name of the file that a program's symbols were put into, and its CRC.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DebugLink {
    /// Without a directory. Untrusted.
    pub(super) name: OsString,
    pub(super) crc: u32,
}

/// The longest name of a file, and a CRC, with room to spare.
const MAX_LINK_BYTES: u64 = 4096;

/// More than the symbols of the largest programs there are. To look up one name in as much takes
/// about 600 MiB of memory.
const MAX_SYMBOL_BYTES: u64 = 256 << 20;

impl Sections {
    /// Reads the headers; `None` if they cannot be read, or should not be believed.
    pub(super) fn read(file: &ObjectFile) -> Option<Self> {
        let file = File::open(file.path()).ok()?;
        let metadata = file.metadata().ok()?;
        let cache = ReadCache::new(file);
        let sections = match FileKind::parse(&cache).ok()? {
            FileKind::Elf32 => read_headers::<FileHeader32<Endianness>>(&cache)?,
            FileKind::Elf64 => read_headers::<FileHeader64<Endianness>>(&cache)?,
            _ => return None,
        };
        // A file with holes can claim tables of any size that nobody ever wrote.
        let written = metadata.blocks().saturating_mul(512);
        let believed = sections.symbol_bytes <= MAX_SYMBOL_BYTES.min(written);
        believed.then_some(sections)
    }

    /// The first address past the section of code that holds `address`.
    pub(super) fn end_of(&self, address: u64) -> Option<u64> {
        let section = self.code.iter().find(|range| range.contains(&address));
        section.map(|range| range.end)
    }

    /// Whether an address is in a procedure linkage table, by which other objects are called.
    pub(super) fn is_linkage(&self, address: u64) -> bool {
        self.linkage.iter().any(|range| range.contains(&address))
    }

    /// Whether the code at an address is in another file.
    pub(super) fn is_elsewhere(&self, address: u64) -> bool {
        self.elsewhere.iter().any(|range| range.contains(&address))
    }

    /// Whether two addresses lie in the same section of code.
    pub(super) fn together(&self, first: u64, second: u64) -> bool {
        self.code
            .iter()
            .any(|range| range.contains(&first) && range.contains(&second))
    }
}

fn read_headers<'data, Header>(data: impl ReadRef<'data>) -> Option<Sections>
where
    Header: FileHeader<Endian = Endianness>,
{
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if header.shnum(endian, data).ok()? as u64 > MAX_SECTIONS {
        return None;
    }
    let table = header.sections(endian, data).ok()?;
    let mut sections = Sections {
        code: Vec::new(),
        linkage: Vec::new(),
        elsewhere: Vec::new(),
        symbol_bytes: 0,
        has_symbols: false,
        debug_link: None,
        debug: DebugInfo::default(),
    };
    for section in table.iter() {
        let (address, size) = (
            section.sh_addr(endian).into(),
            section.sh_size(endian).into(),
        );
        let name = table.section_name(endian, section).unwrap_or_default();
        let (kind, flags) = (section.sh_type(endian), section.sh_flags(endian).into());
        // Sections that are not loaded, debug information above all, have the address 0 and would
        // seem to hold half of the program.
        if flags & u64::from(SHF_EXECINSTR) != 0 && size > 0 {
            let range = address..address.saturating_add(size);
            // Also `.plt.got`, `.plt.sec`, and `.iplt` of programs without a dynamic linker.
            if name.starts_with(b".plt") || name == b".iplt" {
                sections.linkage.push(range.clone());
            }
            if kind == SHT_NOBITS {
                sections.elsewhere.push(range.clone());
            }
            sections.code.push(range);
        }
        if matches!(kind, SHT_SYMTAB | SHT_DYNSYM | SHT_STRTAB) {
            // Nobody compresses them, and what they would grow to cannot be known.
            if flags & u64::from(SHF_COMPRESSED) != 0 {
                return None;
            }
            sections.symbol_bytes = sections.symbol_bytes.saturating_add(size);
        }
        // The first symbol is always there, and means nothing (elf(5)).
        sections.has_symbols |= kind == SHT_SYMTAB && size > section.sh_entsize(endian).into();
        if kind == SHT_NOBITS {
            continue;
        }
        if name == b".gnu_debuglink" && size <= MAX_LINK_BYTES {
            let bytes = section.data(endian, data).ok()?;
            sections.debug_link = debug_link(bytes, endian);
        }
        sections.debug.add(name, section, endian, data);
    }
    Some(sections)
}

/// The contents of `.gnu_debuglink`: a name, zeros up to a multiple of four bytes, the CRC.
fn debug_link(bytes: &[u8], endian: Endianness) -> Option<DebugLink> {
    let length = bytes.iter().position(|&byte| byte == 0)?;
    let name = &bytes[..length];
    let crc = bytes
        .get((length + 1).next_multiple_of(4)..)?
        .first_chunk()?;
    // A plain name: it must not lead out of the directories that are searched.
    let plain = !name.is_empty() && !name.contains(&b'/') && name != b"." && name != b"..";
    plain.then(|| DebugLink {
        name: OsString::from_vec(name.to_vec()),
        crc: endian.read_u32(*crc),
    })
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use super::{DebugInfo, DebugLink, Endianness, Sections, debug_link};
    use crate::target::ObjectFile;

    #[test]
    fn only_code_counts() {
        // This test has a symbol table and debug information, larger than its first sections.
        let this = ObjectFile::parse(File::open("/proc/self/exe").unwrap()).unwrap();
        let sections = Sections::read(&this).unwrap();
        assert!(!sections.code.is_empty());
        for range in &sections.code {
            assert!(range.start > 0, "{range:x?}");
        }
    }

    #[test]
    fn addresses_are_together_only_in_one_section() {
        let sections = Sections {
            code: vec![0x1000..0x1010, 0x1010..0x1020],
            linkage: Vec::new(),
            elsewhere: Vec::new(),
            symbol_bytes: 0,
            has_symbols: false,
            debug_link: None,
            debug: DebugInfo::default(),
        };
        assert!(sections.together(0x1000, 0x100f));
        assert!(!sections.together(0x100f, 0x1010));
        assert!(!sections.together(0x1020, 0x1020));
    }

    #[test]
    fn a_link_is_a_plain_name_and_a_crc() {
        let link = |bytes: &[u8]| debug_link(bytes, Endianness::Little);
        for (bytes, name) in [
            (&b"a.debug\0\x78\x56\x34\x12"[..], "a.debug"),
            (b"abc\0\x78\x56\x34\x12", "abc"),
            (b"ab\0\0\x78\x56\x34\x12", "ab"),
            (b"abcd\0\0\0\0\x78\x56\x34\x12and more", "abcd"),
        ] {
            let (name, crc) = (name.into(), 0x1234_5678);
            assert_eq!(link(bytes), Some(DebugLink { name, crc }));
        }
        for bytes in [
            &b""[..],
            b"\0",
            b"\0\0\0\0\x78\x56\x34\x12",
            b"no end",
            b"abc\0\x78\x56\x34",
            b"../a\0\0\0\0\x78\x56\x34\x12",
            b"..\0\0\x78\x56\x34\x12",
            b"/ab\0\x78\x56\x34\x12",
        ] {
            assert_eq!(link(bytes), None, "{bytes:?}");
        }
        let big = debug_link(b"abc\0\x12\x34\x56\x78", Endianness::Big);
        assert_eq!(big.map(|link| link.crc), Some(0x1234_5678));
    }

    /// Our own executable with one section's size overwritten, as a file with a hole at its end.
    fn with_symbol_table_of(bytes: u64) -> ObjectFile {
        let mut image = std::fs::read("/proc/self/exe").unwrap();
        let word = |image: &[u8], at: usize, size: usize| {
            let mut value = [0; 8];
            value[..size].copy_from_slice(&image[at..at + size]);
            u64::from_le_bytes(value) as usize
        };
        // e_shoff, e_shnum; then sh_type and sh_size in headers of 64 bytes (elf(5)).
        let (table, count) = (word(&image, 40, 8), word(&image, 60, 2));
        let symtab = (0..count)
            .map(|index| table + 64 * index)
            .find(|&at| word(&image, at + 4, 4) == 2)
            .unwrap();
        image[symtab + 32..symtab + 40].copy_from_slice(&bytes.to_le_bytes());
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(&image).unwrap();
        file.set_len(1 << 40).unwrap();
        ObjectFile::parse(file).unwrap()
    }

    #[test]
    fn tables_that_nobody_wrote_are_not_believed() {
        for bytes in [1 << 30, u64::MAX, u64::MAX / 2] {
            assert!(
                Sections::read(&with_symbol_table_of(bytes)).is_none(),
                "{bytes}"
            );
        }
        assert!(Sections::read(&with_symbol_table_of(48)).is_some());
    }
}
