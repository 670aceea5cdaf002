//! Address → name, or the reason why not.
//!
//! Names come from the ELF symbol tables, through blazesym; those of a stripped file from its
//! separate debug file. A name is given only inside the symbol's own size: what lies past it stays
//! an address.

mod by_address;
mod caught;
mod debug_files;
mod debug_info;
mod demangle;
mod extents;
mod functions;
mod image;
mod inside;
mod kernel;
mod lines;
mod names;
mod offline;
mod perf_map;
mod reasons;
mod sections;
mod sieve;
mod source;
mod symbols;
mod texts;
mod ticks;
mod view;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use caught::panics_are_caught;
pub use debug_files::DEFAULT_DIR as DEFAULT_DEBUG_DIR;
pub(crate) use extents::{Extents, Stretch};
pub use functions::{Function, Grouping, Place, functions, rows};
pub(crate) use inside::Inside;
pub use names::Names;
pub(crate) use offline::open as open_offline;
pub use perf_map::MapRefused;
pub use sieve::{NamePattern, ObjectPattern, Sieve};
pub use source::{Inlined, Line, Source};
pub use ticks::Ticks;
pub use view::{NotApart, View};

use crate::{
    headway::Headway,
    profile::{ElfClass, Object, ObjectId, ObjectKind, Unresolved},
    target::ObjectFile,
};
pub(crate) use by_address::ByAddress;
use image::{Image, Places};
use lines::Lines;
pub(crate) use perf_map::PerfMap;
use symbols::Symbols;
use texts::Texts;

/// What an address is called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Name {
    /// A function.
    Function {
        /// Demangled. Untrusted: escape it before display.
        name: Arc<str>,
        /// What the symbol table calls it, if that is something else. Untrusted, too.
        mangled: Option<Arc<str>>,
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
    /// The address is in a procedure linkage table (PLT), by which other objects are called.
    Linkage,
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
    /// There are more names than memory for them.
    TooMany,
    /// The code was generated: it belongs to no file, and nobody says what it is.
    Generated,
    /// The code was generated, and what should say what it is cannot be believed.
    MapRefused(MapRefused),
    /// The address is in no object.
    Nowhere(Unresolved),
}

impl fmt::Display for WhyUnnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSymbols => f.write_str("stripped"),
            Self::NoSuchSymbol => f.write_str("no symbol here"),
            Self::Linkage => f.write_str("PLT"),
            Self::FileUnreadable => f.write_str("file not readable"),
            Self::FileChanged => f.write_str("file changed since"),
            Self::TablesUnreadable => f.write_str("symbol tables not readable"),
            Self::NotLookedUp => f.write_str("not looked up"),
            Self::KernelHidden => f.write_str("kernel symbols hidden"),
            Self::TooMany => f.write_str("too many names"),
            Self::Generated => f.write_str("generated code"),
            Self::MapRefused(why) => write!(f, "generated code; {why}"),
            Self::Nowhere(reason) => reason.fmt(f),
        }
    }
}

/// Gives addresses names. Each distinct address is looked up once.
pub struct Symbolizer {
    symbols: Symbols,
    /// If sources are looked up, too.
    lines: Option<Lines>,
    debug_dirs: Vec<PathBuf>,
    texts: Texts,
    names: ByAddress<Name>,
    sources: ByAddress<Source>,
    /// Or why an object's file should not be read.
    images: HashMap<ObjectId, Result<Image, WhyUnnamed>>,
    /// What processes say of their generated code, once they were asked.
    perf_maps: HashMap<u32, Result<Option<PerfMap>, MapRefused>>,
    /// How much more they may say: any number of processes can each have one.
    map_bytes_left: u64,
    /// In objects.
    headway: Headway,
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
        Self {
            symbols: Symbols::new(),
            lines: None,
            debug_dirs,
            texts: Texts::default(),
            names: ByAddress::default(),
            sources: ByAddress::default(),
            images: HashMap::new(),
            perf_maps: HashMap::new(),
            map_bytes_left: perf_map::MAX_BYTES_OF_ALL,
            headway: Headway::default(),
        }
    }

    /// The same, which tells how far it has come whenever it looks up, in objects.
    #[must_use]
    pub fn telling(mut self, headway: &Headway) -> Self {
        self.headway = headway.clone();
        self
    }

    /// The same, which looks up what `grouping` needs: lines and inlined functions, from DWARF.
    /// That takes much longer than names alone.
    #[must_use]
    pub fn for_grouping(mut self, grouping: Grouping) -> Self {
        let inlined = grouping == Grouping::Inlined;
        self.lines = grouping
            .needs_lines()
            .then(|| Lines::new(&self.debug_dirs, inlined));
        self
    }

    /// Looks up every address of a profile that has not been looked up before.
    pub fn look_up<'a>(&mut self, profile: impl Into<Ticks<'a>>) {
        let ticks = profile.into();
        self.headway.begin(ticks.objects.len() as u64);
        for index in 0..ticks.objects.len() {
            let object = ObjectId::new(index);
            let addresses: Vec<u64> = ticks
                .counts_in(object)
                .iter()
                .map(|count| count.address)
                .filter(|&address| !self.names.contains(&(object, address)))
                .collect();
            if !addresses.is_empty() {
                self.look_up_in(&ticks, object, &addresses);
            }
            self.headway.step();
        }
    }

    /// The name of an address of a profile, if it was looked up.
    pub fn name_of(&self, object: ObjectId, address: u64) -> &Name {
        const UNKNOWN: &Name = &Name::Unnamed(WhyUnnamed::NotLookedUp);
        self.names.get(&(object, address)).unwrap_or(UNKNOWN)
    }

    /// How many addresses were looked up.
    #[cfg(feature = "serve")]
    pub(crate) fn known(&self) -> usize {
        self.names.len()
    }

    /// Where in the source an address of a profile lies, if that was looked up and is known.
    pub fn source_of(&self, object: ObjectId, address: u64) -> Option<&Source> {
        self.sources.get(&(object, address))
    }

    fn look_up_in(&mut self, ticks: &Ticks<'_>, object: ObjectId, addresses: &[u64]) {
        let key = |address: u64| (object, address);
        match ticks.objects[object.index()].kind {
            ObjectKind::Anonymous { tgid } => {
                let named = addresses
                    .iter()
                    .map(|&address| (key(address), self.generated(ticks, tgid, address)));
                let named: Vec<_> = named.collect();
                return self.names.extend(named);
            }
            // Another kernel has other addresses, and so has this one after it was started again.
            ObjectKind::Kernel if ticks.are_of_now() => {
                let names = self.symbols.names_in_kernel(addresses, &mut self.texts);
                let keys = addresses.iter().map(|&address| key(address));
                return self.names.extend(keys.zip(names));
            }
            _ => {}
        }
        let places = Places {
            roots: ticks.roots(),
            dirs: &self.debug_dirs,
            lines: self.lines.is_some(),
        };
        let (file, image) = match open(&mut self.images, ticks, object, &places) {
            Ok(opened) => opened,
            Err(why) => {
                let names = addresses
                    .iter()
                    .map(|&address| (key(address), Name::Unnamed(why)));
                return self.names.extend(names);
            }
        };
        let names = self
            .symbols
            .names(image.sources(file), addresses, &mut self.texts);
        let named: Vec<_> = addresses.iter().copied().zip(&names).collect();
        if let (Some(lines), Some(file)) = (&self.lines, image.lines(file)) {
            let sources = lines.of(file, &named, &mut self.texts);
            let found = named.iter().zip(sources);
            self.sources
                .extend(found.filter_map(|(&(address, _), source)| Some((key(address), source?))));
        }
        let keys = addresses.iter().map(|&address| key(address));
        self.names.extend(keys.zip(names));
    }

    /// The name of generated code, by the map that its process writes.
    fn generated(&mut self, ticks: &Ticks<'_>, tgid: u32, address: u64) -> Name {
        let left = &mut self.map_bytes_left;
        let map = self.perf_maps.entry(tgid).or_insert_with(|| {
            let map = ticks.perf_map(tgid, *left);
            let bytes = map.as_ref().ok().and_then(Option::as_ref);
            *left = left.saturating_sub(bytes.map_or(0, PerfMap::bytes));
            map
        });
        let found = match map {
            Err(why) => return Name::Unnamed(WhyUnnamed::MapRefused(*why)),
            Ok(map) => map.as_ref().and_then(|map| {
                // A bin holds two addresses: what begins at the second is what ticks.
                let second = map.name_of(address | 1);
                let begins = second.filter(|&(_, start)| start == address | 1);
                begins.or_else(|| map.name_of(address))
            }),
        };
        let Some((name, start)) = found else {
            return Name::Unnamed(WhyUnnamed::Generated);
        };
        // Nothing is mangled there.
        match self.texts.keep(name) {
            Some(name) => Name::Function {
                name,
                mangled: None,
                start,
            },
            None => Name::Unnamed(WhyUnnamed::TooMany),
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

/// The file of an object that has one that can be read, and its tables, read now if they never were.
fn open<'a, 'b>(
    images: &'a mut HashMap<ObjectId, Result<Image, WhyUnnamed>>,
    ticks: &Ticks<'b>,
    object: ObjectId,
    places: &Places<'_>,
) -> Result<(&'b ObjectFile, &'a Image), WhyUnnamed> {
    let file = file_of(ticks, object)?;
    let path = path_of(&ticks.objects[object.index()]);
    let image = images
        .entry(object)
        .or_insert_with(|| Image::read(file, path, places));
    match image {
        Ok(image) => Ok((file, image)),
        Err(why) => Err(*why),
    }
}

/// The file of an object, if it has one that can be read and is still what it was.
fn file_of<'a>(ticks: &Ticks<'a>, object: ObjectId) -> Result<&'a ObjectFile, WhyUnnamed> {
    match &ticks.objects[object.index()].kind {
        ObjectKind::File { class: None, .. } => return Err(WhyUnnamed::FileUnreadable),
        ObjectKind::File {
            class: Some(ElfClass::Elf32 | ElfClass::Elf64),
            ..
        }
        | ObjectKind::Vdso => {}
        ObjectKind::Anonymous { .. } => return Err(WhyUnnamed::Generated),
        ObjectKind::Kernel => return Err(WhyUnnamed::KernelHidden),
        ObjectKind::Nowhere(reason) => return Err(WhyUnnamed::Nowhere(*reason)),
    }
    let Some(Some(file)) = ticks.files.get(object.index()) else {
        return Err(WhyUnnamed::FileUnreadable);
    };
    if !file.is_unchanged() {
        return Err(WhyUnnamed::FileChanged);
    }
    Ok(file)
}
