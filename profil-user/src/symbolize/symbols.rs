//! Addresses → names, from symbol tables by blazesym.

use std::collections::HashSet;

use blazesym::symbolize::{
    Input, Reason, Sym, Symbolized, Symbolizer as Blazesym,
    source::{Elf, Source},
};

use super::{Name, WhyUnnamed, kernel, sections::Sections, texts::Texts};
use crate::target::ObjectFile;

/// Who reads symbol tables.
pub(super) struct Symbols {
    blazesym: Blazesym,
}

impl Symbols {
    pub(super) fn new() -> Self {
        let blazesym = Blazesym::builder()
            .enable_code_info(false)
            .enable_inlined_fns(false)
            // It takes any name for a mangled one: a C function `f` would be called `float`.
            .enable_demangling(false)
            .build();
        Self { blazesym }
    }

    /// The names of some addresses: each from the first of the files that has one.
    pub(super) fn names<'a>(
        &self,
        sources: impl Iterator<Item = (&'a ObjectFile, &'a Sections)>,
        addresses: &[u64],
        texts: &mut Texts,
    ) -> Vec<Name> {
        let mut names = vec![Name::Unnamed(WhyUnnamed::NoSymbols); addresses.len()];
        for (index, (file, sections)) in sources.enumerate() {
            let found = self
                .names_in_file(file, sections, addresses, texts)
                .unwrap_or_else(|why| vec![Name::Unnamed(why); addresses.len()]);
            names = if index == 0 {
                found
            } else {
                names.into_iter().zip(found).map(better).collect()
            };
        }
        names
    }

    /// The names of addresses of the kernel's, as it says itself.
    pub(super) fn names_in_kernel(&self, addresses: &[u64], texts: &mut Texts) -> Vec<Name> {
        kernel::names(&self.blazesym, addresses, texts)
    }

    fn names_in_file(
        &self,
        file: &ObjectFile,
        sections: &Sections,
        addresses: &[u64],
        texts: &mut Texts,
    ) -> Result<Vec<Name>, WhyUnnamed> {
        let mut elf = Elf::new(file.path());
        // Functions are enough here, and quick: no DWARF.
        elf.debug_syms = false;
        let source = Source::Elf(elf);
        let look_up = |addresses: &[u64]| {
            self.blazesym
                .symbolize(&source, Input::VirtOffset(addresses))
                .map_err(|_| WhyUnnamed::TablesUnreadable)
        };
        let second_bytes: Vec<u64> = addresses.iter().map(|&address| address | 1).collect();
        let first = look_up(addresses)?;
        let second = look_up(&second_bytes)?;
        // Of symbols that start together, the largest comes first.
        let starts: Vec<u64> = first.iter().filter_map(sizeless_start).collect();
        let sized: HashSet<u64> = look_up(&starts)?.iter().filter_map(sized_start).collect();
        let may_go_on = |symbol: &Sym<'_>| !sized.contains(&symbol.addr);
        let mut name = |((&address, first), second): ((&u64, _), &Symbolized<'_>)| {
            // A bin holds two addresses. Where a function starts at the second, the first is the
            // last byte of another one or of the padding before it, and what ticks is the start.
            match second {
                Symbolized::Sym(symbol) if symbol.addr == address | 1 && !is_mapping(symbol) => {
                    function(symbol, texts)
                }
                _ => name_of(address, first, sections, may_go_on, texts),
            }
        };
        Ok(addresses
            .iter()
            .zip(&first)
            .zip(&second)
            .map(&mut name)
            .collect())
    }
}

/// What two files say of an address: a name, or that the first, which has more symbols, has none.
fn better(names: (Name, Name)) -> Name {
    match names {
        (Name::Unnamed(_), name @ Name::Function { .. }) => name,
        (name, _) => name,
    }
}

/// `may_go_on` says whether a symbol without a size may cover more than its first byte.
fn name_of(
    address: u64,
    found: &Symbolized<'_>,
    sections: &Sections,
    may_go_on: impl Fn(&Sym<'_>) -> bool,
    texts: &mut Texts,
) -> Name {
    match found {
        Symbolized::Sym(symbol)
            if covers(symbol, address, sections, may_go_on) && !is_mapping(symbol) =>
        {
            function(symbol, texts)
        }
        _ if sections.is_linkage(address) => Name::Unnamed(WhyUnnamed::Linkage),
        Symbolized::Unknown(Reason::MissingSyms) => Name::Unnamed(WhyUnnamed::NoSymbols),
        Symbolized::Sym(_) | Symbolized::Unknown(_) => Name::Unnamed(WhyUnnamed::NoSuchSymbol),
    }
}

pub(super) fn function(symbol: &Sym<'_>, texts: &mut Texts) -> Name {
    match texts.name(&symbol.name) {
        Some((name, mangled)) => Name::Function {
            name,
            mangled,
            start: symbol.addr,
        },
        None => Name::Unnamed(WhyUnnamed::TooMany),
    }
}

/// Whether an address is inside a symbol. A symbol without a size (hand-written assembly) covers
/// what follows it up to the next symbol, but never another section; and where one with a size
/// starts too, that one says where it ends.
fn covers(
    symbol: &Sym<'_>,
    address: u64,
    sections: &Sections,
    may_go_on: impl Fn(&Sym<'_>) -> bool,
) -> bool {
    match symbol.size {
        Some(size) if size > 0 => address.wrapping_sub(symbol.addr) < size as u64,
        _ => address == symbol.addr || may_go_on(symbol) && sections.together(symbol.addr, address),
    }
}

/// Where a symbol starts that has no size.
fn sizeless_start(found: &Symbolized<'_>) -> Option<u64> {
    match found {
        Symbolized::Sym(symbol) if symbol.size.is_none_or(|size| size == 0) => Some(symbol.addr),
        _ => None,
    }
}

/// Where a symbol starts that has one.
fn sized_start(found: &Symbolized<'_>) -> Option<u64> {
    match found {
        Symbolized::Sym(symbol) if symbol.size.is_some_and(|size| size > 0) => Some(symbol.addr),
        _ => None,
    }
}

/// Whether it is no name at all, but says that code or data begins: on Arm and RISC-V, assemblers
/// mark that by symbols without a size that are called `$x`, `$d` and the like, with or without a
/// suffix.
fn is_mapping(symbol: &Sym<'_>) -> bool {
    symbol.size.is_none_or(|size| size == 0) && is_mapping_name(symbol.name.as_bytes())
}

/// Whether a symbol that has no size is such a mark.
pub(super) fn is_mapping_name(name: &[u8]) -> bool {
    match name {
        [b'$', b'a' | b'd' | b't' | b'x', rest @ ..] => {
            matches!(rest, [] | [b'.', ..] | [b'r', b'v', ..])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use blazesym::symbolize::{
        Input, Symbolizer as Blazesym,
        source::{Elf, Source},
    };

    use super::is_mapping_name;

    #[test]
    fn marks_of_assemblers_are_told_from_names() {
        for name in ["$x", "$d", "$t", "$a", "$x.17", "$d.realdata", "$xrv64i2p1"] {
            assert!(is_mapping_name(name.as_bytes()), "{name}");
        }
        for name in ["", "$", "x", "$xyz", "$y", "main", "$data"] {
            assert!(!is_mapping_name(name.as_bytes()), "{name}");
        }
    }

    /// What this room relies on: link-time addresses go in, link-time symbol addresses come out.
    #[test]
    fn blazesym_takes_link_time_addresses() {
        let elf = Source::Elf(Elf::new("/proc/self/exe"));
        let here = blazesym_takes_link_time_addresses as fn() as usize as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let base = u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap();
        let blazesym = Blazesym::new();
        let found = blazesym
            .symbolize_single(&elf, Input::VirtOffset(here - base))
            .unwrap();
        let symbol = found.into_sym().unwrap();
        assert!(
            symbol.name.contains("blazesym_takes_link_time_addresses"),
            "{}",
            symbol.name
        );
        assert_eq!(symbol.addr, here - base);
    }
}
