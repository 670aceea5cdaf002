//! Where functions begin and end, for ticks that are known by a wide range of text only.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use object::{
    Endianness, FileKind, ReadCache, ReadRef,
    elf::{
        FileHeader32, FileHeader64, SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC, STT_GNU_IFUNC,
        STT_NOTYPE,
    },
    read::elf::{FileHeader, Sym as _},
};
use profil_common::TEXT_BYTES_PER_BIN;

use super::{
    image::{Image, Places},
    sections::Sections,
    symbols::is_mapping_name,
};
use crate::target::ObjectFile;

/// The text of an object, cut wherever a function begins or ends; in whole units of two bytes, a
/// unit being that of the function that begins in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    /// Sorted: where a stretch begins, and whether it is in a function. It ends with the next.
    cuts: Vec<(u64, bool)>,
}

/// A stretch of text that is in one function, or in none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stretch {
    /// First address.
    pub(crate) start: u64,
    /// First address past it; none for the last.
    pub(crate) end: Option<u64>,
    /// Whether a function covers it.
    pub(crate) named: bool,
}

impl Extents {
    /// Reads the symbol tables of a file that is named `path`, and of its debug file. Of one that
    /// should not be read, nothing is known.
    pub(crate) fn read(file: &ObjectFile, path: &Path, debug_dirs: &[PathBuf]) -> Self {
        let places = Places {
            roots: vec!["/".into()],
            dirs: debug_dirs,
            lines: false,
        };
        let Ok(image) = Image::read(file, Some(path), &places) else {
            return Self::default();
        };
        let symbols = image
            .sources(file)
            .filter_map(|(file, _)| symbols_of(file))
            .flatten()
            .collect();
        // Sections lie where they lie in both.
        Self::of(symbols, |start| {
            let mut sources = image.sources(file);
            sources.find_map(|(_, sections)| sections.end_of(start))
        })
    }

    /// Cuts the text by functions (address and size). One without a size goes as far as the next
    /// one, within the section whose end `section_end` tells, unless one with a size starts there.
    pub(crate) fn of(
        mut symbols: Vec<(u64, u64)>,
        section_end: impl Fn(u64) -> Option<u64>,
    ) -> Self {
        let down = |address: u64| address - address % TEXT_BYTES_PER_BIN;
        symbols.sort_unstable();
        symbols.dedup();
        let mut edges: Vec<(u64, i64)> = Vec::with_capacity(2 * symbols.len());
        for (index, &(start, size)) in symbols.iter().enumerate() {
            let end = if size > 0 {
                start.saturating_add(size)
            } else {
                let after = symbols[index..].partition_point(|&(other, _)| other == start);
                // Where one with a size starts too, that one says where it ends.
                if symbols[index + after - 1].1 > 0 {
                    continue;
                }
                let next = symbols.get(index + after).map_or(u64::MAX, |next| next.0);
                section_end(start).map_or(start, |end| end.min(next))
            };
            let end = down(end.saturating_add(TEXT_BYTES_PER_BIN - 1));
            if end > down(start) {
                edges.push((down(start), 1));
                edges.push((end, -1));
            }
        }
        edges.sort_unstable();
        let mut cuts: Vec<(u64, bool)> = Vec::with_capacity(edges.len());
        let mut depth = 0;
        for (address, step) in edges {
            depth += step;
            match cuts.last_mut() {
                Some(last) if last.0 == address => last.1 = depth > 0,
                _ => cuts.push((address, depth > 0)),
            }
        }
        Self { cuts }
    }

    /// The stretches from the one that holds `address` on.
    pub(crate) fn from(&self, address: u64) -> impl Iterator<Item = Stretch> {
        let next = self.cuts.partition_point(|&(start, _)| start <= address);
        let before = (next == 0).then_some((0, false));
        let rest = &self.cuts[next.saturating_sub(1)..];
        let ends = self.cuts[next..].iter().map(|&(start, _)| Some(start));
        before
            .into_iter()
            .chain(rest.iter().copied())
            .zip(ends.chain([None]))
            .map(|((start, named), end)| Stretch { start, end, named })
    }
}

/// The first address past the function that starts at `start`, by the symbol tables of these files:
/// what the largest symbol says that starts there or, where none says anything, the next one or the
/// end of the section.
pub(super) fn end_of_function<'a>(
    sources: impl Iterator<Item = (&'a ObjectFile, &'a Sections)>,
    start: u64,
) -> Option<u64> {
    let mut section_end = None;
    let mut symbols = Vec::new();
    for (file, sections) in sources {
        section_end = section_end.or_else(|| sections.end_of(start));
        symbols.extend(symbols_of(file).unwrap_or_default());
    }
    let here = symbols.iter().filter(|(address, _)| *address == start);
    let size = here.map(|&(_, size)| size).max()?;
    if size > 0 {
        return start.checked_add(size);
    }
    let after = symbols.iter().map(|&(address, _)| address);
    let next = after.filter(|&address| address > start).min();
    [next, section_end].into_iter().flatten().min()
}

fn symbols_of(file: &ObjectFile) -> Option<Vec<(u64, u64)>> {
    let cache = ReadCache::new(File::open(file.path()).ok()?);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf32 => symbols::<FileHeader32<Endianness>>(&cache),
        FileKind::Elf64 => symbols::<FileHeader64<Endianness>>(&cache),
        _ => None,
    }
}

/// Address and size of everything that can name an address: the choice of blazesym, which is asked
/// for the names.
fn symbols<'data, Header>(data: impl ReadRef<'data>) -> Option<Vec<(u64, u64)>>
where
    Header: FileHeader<Endian = Endianness>,
{
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let mut found = Vec::new();
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        let table = sections.symbols(endian, data, kind).ok()?;
        let functions = table.iter().filter(|symbol| {
            matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE)
                && symbol.st_shndx(endian) != SHN_UNDEF
                && !(symbol.st_size(endian).into() == 0
                    && symbol
                        .name(endian, table.strings())
                        .is_ok_and(is_mapping_name))
        });
        found.extend(functions.map(|symbol| {
            let (address, size) = (symbol.st_value(endian), symbol.st_size(endian));
            (address.into(), size.into())
        }));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::{Extents, Stretch};

    fn stretches(symbols: &[(u64, u64)], from: u64) -> Vec<(u64, Option<u64>, bool)> {
        let extents = Extents::of(symbols.to_vec(), |_| Some(0x2000));
        let list = extents.from(from);
        list.map(|Stretch { start, end, named }| (start, end, named))
            .collect()
    }

    #[test]
    fn text_is_cut_where_functions_begin_and_end() {
        let symbols = [(0x1000, 0x10), (0x1020, 0x10)];
        let all = [
            (0, Some(0x1000), false),
            (0x1000, Some(0x1010), true),
            (0x1010, Some(0x1020), false),
            (0x1020, Some(0x1030), true),
            (0x1030, None, false),
        ];
        assert_eq!(stretches(&symbols, 0), all);
        assert_eq!(stretches(&symbols, 0xfff), all);
        assert_eq!(stretches(&symbols, 0x1000), all[1..]);
        assert_eq!(stretches(&symbols, 0x101f), all[2..]);
        assert_eq!(stretches(&symbols, u64::MAX), all[4..]);
    }

    #[test]
    fn nothing_known_is_one_stretch() {
        assert_eq!(stretches(&[], 5), [(0, None, false)]);
    }

    #[test]
    fn one_inside_another_cuts_it() {
        let symbols = [(0x1000, 0x20), (0x1008, 8)];
        assert_eq!(
            stretches(&symbols, 0x1000),
            [
                (0x1000, Some(0x1008), true),
                (0x1008, Some(0x1010), true),
                (0x1010, Some(0x1020), true),
                (0x1020, None, false),
            ]
        );
    }

    #[test]
    fn one_without_a_size_goes_to_the_next_or_the_end_of_its_section() {
        let symbols = [(0x1000, 0), (0x1000, 0), (0x1008, 0)];
        assert_eq!(
            stretches(&symbols, 0x1000),
            [
                (0x1000, Some(0x1008), true),
                (0x1008, Some(0x2000), true),
                (0x2000, None, false),
            ]
        );
    }

    #[test]
    fn one_without_a_size_ends_with_another_that_starts_there() {
        let symbols = [(0x1000, 0), (0x1000, 8), (0x1020, 4)];
        assert_eq!(
            stretches(&symbols, 0x1000),
            [
                (0x1000, Some(0x1008), true),
                (0x1008, Some(0x1020), false),
                (0x1020, Some(0x1024), true),
                (0x1024, None, false),
            ]
        );
    }

    #[test]
    fn odd_edges_are_moved_to_whole_units() {
        assert_eq!(
            stretches(&[(0x1001, 2)], 0x1000),
            [(0x1000, Some(0x1004), true), (0x1004, None, false)]
        );
    }

    #[test]
    fn the_end_of_the_address_space_is_no_trap() {
        stretches(&[(u64::MAX, u64::MAX), (u64::MAX - 1, 0), (0, u64::MAX)], 0);
    }
}
