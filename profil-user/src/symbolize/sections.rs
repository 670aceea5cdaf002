//! What an ELF file's section headers say: where code lies, for symbols that do not say where
//! they end, and how large its symbol tables are, before anybody reads them.

use std::{fs::File, ops::Range, os::unix::fs::MetadataExt as _};

use object::{
    Endianness, FileKind, ReadCache, ReadRef,
    elf::{FileHeader32, FileHeader64, SHF_EXECINSTR, SHT_DYNSYM, SHT_STRTAB, SHT_SYMTAB},
    read::elf::{FileHeader, SectionHeader as _},
};

use crate::target::{MAX_SECTIONS, ObjectFile};

/// The sections of a file that is fit to be read.
#[derive(Debug)]
pub(super) struct Sections {
    /// Link-time ranges of the sections of code.
    code: Vec<Range<u64>>,
    /// Bytes of all symbol and string tables.
    symbol_bytes: u64,
}

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
    let mut sections = Sections {
        code: Vec::new(),
        symbol_bytes: 0,
    };
    for section in header.section_headers(endian, data).ok()? {
        let (address, size) = (
            section.sh_addr(endian).into(),
            section.sh_size(endian).into(),
        );
        // Sections that are not loaded, debug information above all, have the address 0 and would
        // seem to hold half of the program.
        if section.sh_flags(endian).into() & u64::from(SHF_EXECINSTR) != 0 && size > 0 {
            sections.code.push(address..address.saturating_add(size));
        }
        if matches!(
            section.sh_type(endian),
            SHT_SYMTAB | SHT_DYNSYM | SHT_STRTAB
        ) {
            sections.symbol_bytes = sections.symbol_bytes.saturating_add(size);
        }
    }
    Some(sections)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use super::Sections;
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
            symbol_bytes: 0,
        };
        assert!(sections.together(0x1000, 0x100f));
        assert!(!sections.together(0x100f, 0x1010));
        assert!(!sections.together(0x1020, 0x1020));
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
