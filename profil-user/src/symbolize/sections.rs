//! Where an ELF file's sections lie, for symbols that do not say where they end.

use std::{fs::File, ops::Range};

use object::{Object as _, ObjectSection as _, ReadCache, SectionFlags, elf::SHF_EXECINSTR};

use crate::target::ObjectFile;

/// The link-time ranges of a file's sections of code.
#[derive(Debug)]
pub(super) struct Sections(Vec<Range<u64>>);

impl Sections {
    /// More than any linker writes; what claims more is broken or hostile.
    const MOST: usize = 65_536;

    /// Reads them; `None` if the file has no readable section table.
    pub(super) fn read(file: &ObjectFile) -> Option<Self> {
        let file = ReadCache::new(File::open(file.path()).ok()?);
        let elf = object::File::parse(&file).ok()?;
        let ranges = elf
            .sections()
            .take(Self::MOST)
            .filter(|section| is_code(section.flags()) && section.size() > 0)
            .map(|section| section.address()..section.address().saturating_add(section.size()));
        Some(Self(ranges.collect()))
    }

    /// Whether two addresses lie in the same section.
    pub(super) fn together(&self, first: u64, second: u64) -> bool {
        self.0
            .iter()
            .any(|range| range.contains(&first) && range.contains(&second))
    }
}

/// Sections that are not loaded, debug information above all, have the address 0 and would seem
/// to hold half of the program.
fn is_code(flags: SectionFlags) -> bool {
    match flags {
        SectionFlags::Elf { sh_flags } => sh_flags & u64::from(SHF_EXECINSTR) != 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::Sections;
    use crate::target::ObjectFile;

    #[test]
    fn only_code_counts() {
        // This test has a symbol table and debug information, larger than its first sections.
        let this = ObjectFile::parse(File::open("/proc/self/exe").unwrap()).unwrap();
        let sections = Sections::read(&this).unwrap();
        assert!(!sections.0.is_empty());
        for range in &sections.0 {
            assert!(range.start > 0, "{range:x?}");
        }
    }

    #[test]
    fn addresses_are_together_only_in_one_section() {
        let sections = Sections(vec![0x1000..0x1010, 0x1010..0x1020]);
        assert!(sections.together(0x1000, 0x100f));
        assert!(!sections.together(0x100f, 0x1010));
        assert!(!sections.together(0x1020, 0x1020));
    }
}
