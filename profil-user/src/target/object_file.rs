//! A mapped file, opened once so that it stays the file that was mapped, and its segments.

#[cfg(feature = "session")]
mod code;

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::{FileExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use object::{
    Endianness, FileKind, ReadCache, ReadRef,
    elf::{self, PF_X, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader as _, SectionHeader as _, Sym as _},
};
use rustix::fs::{Mode, OFlags};

use super::{
    mappings::{FileId, FileMapping},
    notes,
};
use crate::profile::{BuildId, ElfClass};

/// An ELF file that a process has mapped.
#[derive(Debug)]
pub(crate) struct ObjectFile {
    file: File,
    class: ElfClass,
    segments: Vec<Segment>,
    build_id: Option<BuildId>,
    /// Size and time of change when it was opened.
    state: (u64, i64, i64),
}

/// A `PT_LOAD` program header (elf(5)).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Segment {
    /// `p_offset`
    offset: u64,
    /// `p_filesz`
    file_bytes: u64,
    /// `p_vaddr`
    address: u64,
    executable: bool,
}

/// Why a mapped file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectError {
    #[error("{0}")]
    Open(#[from] io::Error),
    #[error("the file at its path is another one than the one mapped")]
    Replaced,
    #[error("too many files are open")]
    TooMany,
    #[error("not a regular file")]
    NotRegular,
    #[error("not an ELF file that can be read: {0}")]
    Elf(#[from] object::Error),
    #[error("not an ELF file")]
    NotElf,
    #[error("an ELF file with {0} headers is not believed")]
    TooManyHeaders(u64),
    #[error("an ELF file with {0} bytes of symbols is not believed")]
    TooManySymbols(u64),
}

/// Where an ELF file tells its byte order (elf(5)).
const EI_DATA: u64 = 5;

/// More program headers than any linker writes; a file that claims more is broken or hostile.
pub(super) const MAX_PROGRAM_HEADERS: u64 = 4096;

/// More sections than any linker writes.
pub(crate) const MAX_SECTIONS: u64 = 65_536;

impl ObjectFile {
    /// Opens the file behind a mapping of process `tgid` at `start..end`.
    ///
    /// The kernel's own link to the mapped file is tried first: it works for files that were
    /// deleted, replaced or mounted elsewhere, but not for everybody. After it come the link to the
    /// executable, the path in the process's own root and, if that cannot be entered, in ours; what
    /// they lead to counts only if it is the file that was mapped.
    pub(crate) fn open(
        tgid: u32,
        (start, end): (u64, u64),
        mapping: &FileMapping,
    ) -> Result<Self, ObjectError> {
        let by_mapping = PathBuf::from(format!("/proc/{tgid}/map_files/{start:x}-{end:x}"));
        if let Ok(file) = open_regular(&by_mapping) {
            return Self::parse(file);
        }
        // What runs leads to its own file, also when that was deleted or replaced.
        let executable = PathBuf::from(format!("/proc/{tgid}/exe"));
        if fs::read_link(&executable).is_ok_and(|path| path == mapping.path)
            && let Ok(file) = open_regular(&executable)
            && let Ok(object) = Self::mapped(file, mapping)
        {
            return Ok(object);
        }
        let mut by_root = PathBuf::from(format!("/proc/{tgid}/root"));
        by_root.extend(mapping.path.strip_prefix("/").ok());
        let file = match open_regular(&by_root) {
            Ok(file) => file,
            Err(_) => open_regular(&mapping.path)?,
        };
        Self::mapped(file, mapping)
    }

    /// Takes an open file as the object of a mapping at whose path it is, if it is what was mapped.
    fn mapped(file: File, mapping: &FileMapping) -> Result<Self, ObjectError> {
        // Not the device: file systems with subvolumes and overlays report another one in stat
        // than in the mappings. An equal inode at an equal path is the same file there too.
        if mapping.id != FileId::UNKNOWN && file.metadata()?.ino() != mapping.id.inode {
            return Err(ObjectError::Replaced);
        }
        let object = Self::parse(file)?;
        if mapping.build_id.is_some() && object.build_id != mapping.build_id {
            return Err(ObjectError::Replaced);
        }
        Ok(object)
    }

    /// Opens a file that a person named.
    pub(crate) fn open_named(path: &Path) -> Result<Self, ObjectError> {
        Self::parse(open_regular(path)?)
    }

    /// Takes an open file as the object.
    pub(crate) fn parse(file: File) -> Result<Self, ObjectError> {
        let cache = ReadCache::new(&file);
        let (class, segments, build_id) = match FileKind::parse(&cache)? {
            FileKind::Elf32 => (
                ElfClass::Elf32,
                segments::<elf::FileHeader32<Endianness>>(&cache)?,
                notes::build_id::<elf::FileHeader32<Endianness>>(&cache),
            ),
            FileKind::Elf64 => (
                ElfClass::Elf64,
                segments::<elf::FileHeader64<Endianness>>(&cache)?,
                notes::build_id::<elf::FileHeader64<Endianness>>(&cache),
            ),
            _ => return Err(ObjectError::NotElf),
        };
        let state = state_of(&file)?;
        Ok(Self {
            file,
            class,
            segments,
            build_id,
            state,
        })
    }

    /// Whether the file is still what it was when it was opened. Somebody may have written into
    /// it since: its names would be those of other code.
    pub(crate) fn is_unchanged(&self) -> bool {
        state_of(&self.file).is_ok_and(|state| state == self.state)
    }

    pub(crate) const fn class(&self) -> ElfClass {
        self.class
    }

    /// Which build it is, if it says so.
    pub(crate) const fn build_id(&self) -> Option<BuildId> {
        self.build_id
    }

    /// Whether it is of a machine that stores the low byte first.
    pub(crate) fn is_little_endian(&self) -> bool {
        let mut data = [0];
        let read = self.file.read_exact_at(&mut data, EI_DATA);
        read.is_ok() && data == [elf::ELFDATA2LSB]
    }

    /// Whether text is loaded at a link-time address.
    pub(crate) fn holds_text(&self, address: u64) -> bool {
        self.segments
            .iter()
            .filter(|segment| segment.executable)
            .any(|segment| address.wrapping_sub(segment.address) < segment.file_bytes)
    }

    /// A path that leads to exactly this open file, for as long as it is open.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// The link-time address of the byte at `file_offset`, where code is mapped from: the
    /// segment that holds the offset gives `offset - p_offset + p_vaddr`.
    pub(crate) fn link_address(&self, file_offset: u64) -> Option<u64> {
        let within = |segment: &&Segment| {
            file_offset
                .checked_sub(segment.offset)
                .is_some_and(|distance| distance < segment.file_bytes)
        };
        // One page of a file can be mapped by two segments: where the text ends and the data
        // begins, say. What ticks is text.
        self.segments
            .iter()
            .filter(|segment| segment.executable)
            .find(within)
            .or_else(|| self.segments.iter().find(within))
            .or_else(|| self.padding(file_offset))
            .map(|segment| {
                file_offset
                    .wrapping_sub(segment.offset)
                    .wrapping_add(segment.address)
            })
    }

    /// The offset in the file of the byte with a link-time address, in text: the inverse of
    /// [`ObjectFile::link_address`].
    pub(crate) fn offset_of(&self, link_address: u64) -> Option<u64> {
        self.segments
            .iter()
            .filter(|segment| segment.executable)
            .find_map(|segment| {
                let distance = link_address.checked_sub(segment.address)?;
                let offset = segment.offset.checked_add(distance)?;
                (distance < segment.file_bytes).then_some(offset)
            })
    }

    /// Link-time addresses of all symbols with exactly this name, those of `.symtab` first.
    ///
    /// # Errors
    ///
    /// If the tables cannot be read.
    pub(crate) fn symbols_named(&self, name: &str) -> Result<Vec<u64>, ObjectError> {
        let cache = ReadCache::new(&self.file);
        match self.class {
            ElfClass::Elf32 => symbols::<elf::FileHeader32<Endianness>>(&cache, name),
            ElfClass::Elf64 => symbols::<elf::FileHeader64<Endianness>>(&cache, name),
        }
    }

    /// The executable segment whose pages hold `file_offset` although its bytes do not: the
    /// kernel maps whole pages.
    fn padding(&self, file_offset: u64) -> Option<&Segment> {
        let page = rustix::param::page_size() as u64;
        self.segments
            .iter()
            .filter(|segment| segment.executable)
            .find(|segment| {
                let start = segment.offset - segment.offset % page;
                let end = segment.offset.saturating_add(segment.file_bytes);
                let end = end.checked_next_multiple_of(page).unwrap_or(u64::MAX);
                (start..end).contains(&file_offset)
            })
    }
}

fn state_of(file: &File) -> io::Result<(u64, i64, i64)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

/// Opens a path that somebody else controls: only a regular file is ever really opened, so that
/// no device is touched and no FIFO waited for.
pub(crate) fn open_regular(path: &Path) -> Result<File, ObjectError> {
    let look = |path: &Path, flags| -> io::Result<OwnedFd> {
        Ok(rustix::fs::open(
            path,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    };
    let handle = File::from(look(path, OFlags::PATH)?);
    if !handle.metadata()?.is_file() {
        return Err(ObjectError::NotRegular);
    }
    let same = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    Ok(File::from(look(&same, OFlags::RDONLY | OFlags::NONBLOCK)?))
}

/// More than the symbol tables of the largest programs there are.
const MAX_SYMBOL_BYTES: u64 = 256 << 20;

/// More symbols of one name than anybody wants to choose among.
const MAX_NAMESAKES: usize = 256;

/// Refuses tables that nobody writes.
const fn affordable(bytes: u64) -> Result<(), ObjectError> {
    if bytes > MAX_SYMBOL_BYTES {
        return Err(ObjectError::TooManySymbols(bytes));
    }
    Ok(())
}

fn symbols<'data, Header>(data: impl ReadRef<'data>, name: &str) -> Result<Vec<u64>, ObjectError>
where
    Header: FileHeader<Endian = Endianness>,
{
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    // Before the table of them is read: a file with holes can claim any number.
    let count = header.shnum(endian, data)? as u64;
    if count > MAX_SECTIONS {
        return Err(ObjectError::TooManyHeaders(count));
    }
    let sections = header.sections(endian, data)?;
    let mut found = Vec::new();
    for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
        let bytes = sections
            .iter()
            .filter(|section| section.sh_type(endian) == kind)
            .map(|section| section.sh_size(endian).into())
            .fold(0, u64::saturating_add);
        affordable(bytes)?;
        let table = sections.symbols(endian, data, kind)?;
        if table.is_empty() {
            continue;
        }
        // As a whole: one by one, names that overlap would be kept each for itself.
        let strings = sections.section(table.string_section())?;
        affordable(strings.sh_size(endian).into())?;
        let strings = strings.data(endian, data)?;
        let is_named = |start: u32| {
            let rest = strings.get(start as usize..).unwrap_or_default();
            let rest = rest.strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| rest.first() == Some(&0))
        };
        for symbol in table.iter() {
            let address: u64 = symbol.st_value(endian).into();
            let defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
            if defined && is_named(symbol.st_name(endian)) && !found.contains(&address) {
                found.push(address);
            }
            if found.len() == MAX_NAMESAKES {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

fn segments<'data, Header>(data: impl ReadRef<'data>) -> Result<Vec<Segment>, ObjectError>
where
    Header: FileHeader<Endian = Endianness>,
{
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let count = header.phnum(endian, data)? as u64;
    if count > MAX_PROGRAM_HEADERS {
        return Err(ObjectError::TooManyHeaders(count));
    }
    let mut segments = Vec::new();
    for header in header.program_headers(endian, data)? {
        if header.p_type(endian) == PT_LOAD {
            segments.push(Segment {
                offset: header.p_offset(endian).into(),
                file_bytes: header.p_filesz(endian).into(),
                address: header.p_vaddr(endian).into(),
                executable: header.p_flags(endian) & PF_X != 0,
            });
        }
    }
    Ok(segments)
}

#[cfg(test)]
mod tests;
