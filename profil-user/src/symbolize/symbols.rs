//! Addresses → names, from symbol tables by blazesym.

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
        let mut name = |((&address, first), second): ((&u64, _), &Symbolized<'_>)| {
            // A bin holds two addresses. Where a function starts at the second, the first is the
            // last byte of another one or of the padding before it, and what ticks is the start.
            match second {
                Symbolized::Sym(symbol) if symbol.addr == address | 1 => function(symbol, texts),
                _ => name_of(address, first, sections, texts),
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

fn name_of(address: u64, found: &Symbolized<'_>, sections: &Sections, texts: &mut Texts) -> Name {
    match found {
        Symbolized::Sym(symbol) if covers(symbol, address, sections) => function(symbol, texts),
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
/// what follows it up to the next symbol, but never another section.
fn covers(symbol: &Sym<'_>, address: u64, sections: &Sections) -> bool {
    match symbol.size {
        Some(size) if size > 0 => address.wrapping_sub(symbol.addr) < size as u64,
        _ => address == symbol.addr || sections.together(symbol.addr, address),
    }
}

#[cfg(test)]
mod tests {
    use blazesym::symbolize::Symbolizer as Blazesym;
    use blazesym::symbolize::{
        Input,
        source::{Elf, Source},
    };

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
