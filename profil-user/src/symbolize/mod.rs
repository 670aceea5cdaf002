//! Address → name, or the reason why not.
//!
//! Names come from the ELF symbol tables, through blazesym; those of a stripped file from its
//! separate debug file. A name is given only inside the symbol's own size: what lies past it stays
//! an address.

mod debug_files;
mod demangle;
mod extents;
mod functions;
mod kernel;
mod image;
mod sections;
mod ticks;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
};

use blazesym::symbolize::{
    Input, Reason, Sym, Symbolized, Symbolizer as Blazesym,
    source::{Elf, Source},
};

pub use debug_files::DEFAULT_DIR as DEFAULT_DEBUG_DIR;
pub(crate) use extents::{Extents, Stretch};
pub use functions::{Function, functions};
pub use ticks::Ticks;

use crate::{
    profile::{ElfClass, Object, ObjectId, ObjectKind, Unresolved},
    target::ObjectFile,
};
use image::{Image, Places};
use sections::Sections;

/// What an address is called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Name {
    /// A function.
    Function {
        /// Demangled. Untrusted: escape it before display.
        name: String,
        /// What the symbol table calls it, if that is something else. Untrusted, too.
        mangled: Option<String>,
        /// Link-time address of the function's first byte.
        start: u64,
    },
    /// Nothing, and why.
    Unnamed(WhyUnnamed),
}

/// Why an address has no name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WhyUnnamed {
    /// The object has no symbol table (it was stripped), and no dynamic symbol covers the
    /// address.
    NoSymbols,
    /// The object has symbols, but none that covers the address.
    NoSuchSymbol,
    /// The object's file could not be read.
    FileUnreadable,
    /// The object's file was written to after it was opened: its names are those of other code.
    FileChanged,
    /// The object's symbol tables are broken, or larger than anybody writes them.
    TablesUnreadable,
    /// The end of the run was asked for a second time before names were looked up.
    NotLookedUp,
    /// The kernel does not show where its functions are.
    KernelHidden,
    /// The code was generated: it belongs to no file.
    Generated,
    /// The address is in no object.
    Nowhere(Unresolved),
}

impl fmt::Display for WhyUnnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSymbols => f.write_str("stripped"),
            Self::NoSuchSymbol => f.write_str("no symbol here"),
            Self::FileUnreadable => f.write_str("file not readable"),
            Self::FileChanged => f.write_str("file changed since"),
            Self::TablesUnreadable => f.write_str("symbol tables not readable"),
            Self::NotLookedUp => f.write_str("not looked up"),
            Self::KernelHidden => f.write_str("kernel symbols hidden"),
            Self::Generated => f.write_str("generated code"),
            Self::Nowhere(reason) => reason.fmt(f),
        }
    }
}

/// Gives addresses names. Each distinct address is looked up once.
pub struct Symbolizer {
    blazesym: Blazesym,
    debug_dirs: Vec<PathBuf>,
    names: HashMap<(ObjectId, u64), Name>,
    /// Or why an object's file should not be read.
    images: HashMap<ObjectId, Result<Image, WhyUnnamed>>,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// A symbolizer that has looked up nothing yet.
    pub fn new() -> Self {
        Self::with_debug_dirs(vec![DEFAULT_DEBUG_DIR.into()])
    }

    /// One that looks for separate debug files in these directories, and beside the objects.
    pub fn with_debug_dirs(debug_dirs: Vec<PathBuf>) -> Self {
        let blazesym = Blazesym::builder()
            .enable_code_info(false)
            .enable_inlined_fns(false)
            // It takes any name for a mangled one: a C function `f` would be called `float`.
            .enable_demangling(false)
            .build();
        Self {
            blazesym,
            debug_dirs,
            names: HashMap::new(),
            images: HashMap::new(),
        }
    }

    /// Looks up every address of a profile that has not been looked up before.
    pub fn look_up<'a>(&mut self, profile: impl Into<Ticks<'a>>) {
        let ticks = profile.into();
        for index in 0..ticks.objects.len() {
            let object = ObjectId::new(index);
            let addresses: Vec<u64> = ticks
                .counts_in(object)
                .iter()
                .map(|count| count.address)
                .filter(|&address| !self.names.contains_key(&(object, address)))
                .collect();
            if !addresses.is_empty() {
                let names = self.names_in(&ticks, object, &addresses);
                let keys = addresses.into_iter().map(|address| (object, address));
                self.names.extend(keys.zip(names));
            }
        }
    }

    /// The name of an address of a profile, if it was looked up.
    pub fn name_of(&self, object: ObjectId, address: u64) -> &Name {
        const UNKNOWN: &Name = &Name::Unnamed(WhyUnnamed::NotLookedUp);
        self.names.get(&(object, address)).unwrap_or(UNKNOWN)
    }

    fn names_in(&mut self, ticks: &Ticks<'_>, object: ObjectId, addresses: &[u64]) -> Vec<Name> {
        let all = |why| vec![Name::Unnamed(why); addresses.len()];
        match &ticks.objects[object.index()].kind {
            ObjectKind::File { class: None, .. } => return all(WhyUnnamed::FileUnreadable),
            ObjectKind::File {
                class: Some(ElfClass::Elf32 | ElfClass::Elf64),
                ..
            }
            | ObjectKind::Vdso => {}
            ObjectKind::Kernel => return kernel::names(&self.blazesym, addresses),
            ObjectKind::Anonymous => return all(WhyUnnamed::Generated),
            ObjectKind::Nowhere(reason) => return all(WhyUnnamed::Nowhere(*reason)),
        }
        let Some(Some(file)) = ticks.files.get(object.index()) else {
            return all(WhyUnnamed::FileUnreadable);
        };
        if !file.is_unchanged() {
            return all(WhyUnnamed::FileChanged);
        }
        let image = self.images.entry(object).or_insert_with(|| {
            let places = Places {
                roots: ticks.roots(),
                dirs: &self.debug_dirs,
            };
            Image::read(file, path_of(&ticks.objects[object.index()]), &places)
        });
        match image {
            Ok(image) => {
                names_from(&self.blazesym, image.sources(file), addresses).unwrap_or_else(all)
            }
            Err(why) => all(*why),
        }
    }
}

/// The path of an object, as its process sees it.
fn path_of(object: &Object) -> Option<&Path> {
    match &object.kind {
        ObjectKind::File { path, .. } => Some(path),
        _ => None,
    }
}

/// The names of some addresses: each from the first of the files that has one.
fn names_from<'a>(
    blazesym: &Blazesym,
    sources: impl Iterator<Item = (&'a ObjectFile, &'a Sections)>,
    addresses: &[u64],
) -> Result<Vec<Name>, WhyUnnamed> {
    let mut names: Option<Vec<Name>> = None;
    for (file, sections) in sources {
        let found = names_in_file(blazesym, file, sections, addresses)?;
        names = Some(match names {
            None => found,
            Some(before) => before.into_iter().zip(found).map(better).collect(),
        });
    }
    names.ok_or(WhyUnnamed::NoSymbols)
}

/// What two files say of an address: a name, or that the first, which has more symbols, has none.
fn better(names: (Name, Name)) -> Name {
    match names {
        (Name::Unnamed(_), name @ Name::Function { .. }) => name,
        (name, _) => name,
    }
}

fn names_in_file(
    blazesym: &Blazesym,
    file: &ObjectFile,
    sections: &Sections,
    addresses: &[u64],
) -> Result<Vec<Name>, WhyUnnamed> {
    let mut elf = Elf::new(file.path());
    // Functions are enough here, and quick: no DWARF.
    elf.debug_syms = false;
    let source = Source::Elf(elf);
    let look_up = |addresses: &[u64]| {
        blazesym
            .symbolize(&source, Input::VirtOffset(addresses))
            .map_err(|_| WhyUnnamed::TablesUnreadable)
    };
    let second_bytes: Vec<u64> = addresses.iter().map(|&address| address | 1).collect();
    let first = look_up(addresses)?;
    let second = look_up(&second_bytes)?;
    let name = |((&address, first), second): ((&u64, _), &Symbolized<'_>)| {
        // A bin holds two addresses. Where a function starts at the second, the first is the
        // last byte of another one or of the padding before it, and what ticks is the start.
        match second {
            Symbolized::Sym(symbol) if symbol.addr == address | 1 => function(symbol),
            _ => name_of(address, first, sections),
        }
    };
    Ok(addresses
        .iter()
        .zip(&first)
        .zip(&second)
        .map(name)
        .collect())
}

fn name_of(address: u64, found: &Symbolized<'_>, sections: &Sections) -> Name {
    match found {
        Symbolized::Sym(symbol) if covers(symbol, address, sections) => function(symbol),
        Symbolized::Unknown(Reason::MissingSyms) => Name::Unnamed(WhyUnnamed::NoSymbols),
        Symbolized::Sym(_) | Symbolized::Unknown(_) => Name::Unnamed(WhyUnnamed::NoSuchSymbol),
    }
}

fn function(symbol: &Sym<'_>) -> Name {
    let name = demangle::demangle(&symbol.name);
    let mangled = (name != symbol.name).then(|| symbol.name.to_string());
    Name::Function {
        name,
        mangled,
        start: symbol.addr,
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
