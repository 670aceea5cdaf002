//! Files that hold the symbols of others, which were stripped: found where debuggers look for them,
//! and believed only if they are of the same build.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::sections::{DebugLink, Sections};
use crate::{profile::BuildId, target::ObjectFile};

/// Where distributions put debug files.
pub const DEFAULT_DIR: &str = "/usr/lib/debug";

/// Larger files are not read through for their CRC.
const MAX_CRC_BYTES: u64 = 4 << 30;

/// What is known of a file whose symbols are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stripped<'a> {
    pub(crate) build_id: Option<BuildId>,
    /// What it says of its debug file, and its own directory.
    pub(super) link: Option<(&'a DebugLink, &'a Path)>,
    pub(super) lacks: Lacks,
}

/// What a file does not have itself: a debug file that has any of it is a help.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Lacks {
    /// A symbol table.
    pub(super) symbols: bool,
    /// Lines, and somebody asked for them.
    pub(super) lines: bool,
}

impl Lacks {
    fn any_in(self, sections: &Sections) -> bool {
        self.symbols && sections.has_symbols || self.lines && sections.debug.has_lines
    }
}

/// A debug file that was found.
#[derive(Debug)]
pub(crate) struct DebugFile {
    pub(super) file: ObjectFile,
    pub(super) sections: Sections,
    /// Whether it is in a directory that a person named, and not where anybody may put a file.
    pub(super) is_trusted: bool,
}

/// Finds the debug file of a stripped file: by its build id in each of `dirs`, and by its link
/// beside it, in `.debug` there, and under each of `dirs`.
///
/// Everything is looked for below each of `roots` in turn: `/`, or the root of a process, whose
/// files are others than ours under the same names.
pub(crate) fn find(
    stripped: Stripped<'_>,
    roots: &[PathBuf],
    dirs: &[PathBuf],
) -> Option<DebugFile> {
    roots.iter().find_map(|root| {
        let is_ours = root == Path::new("/");
        let by_id = || {
            let id = stripped.build_id?;
            dirs.iter()
                .find_map(|dir| open(stripped, &below(root, dir).join(path_of(id)), is_ours))
        };
        let by_link = || {
            let (link, home) = stripped.link?;
            let beside = [(home.to_owned(), false), (home.join(".debug"), false)];
            let mirrored = dirs.iter().map(|dir| (below(dir, home), is_ours));
            beside
                .into_iter()
                .chain(mirrored)
                .find_map(|(place, is_trusted)| {
                    open(stripped, &below(root, &place).join(&link.name), is_trusted)
                })
        };
        by_id().or_else(by_link)
    })
}

/// `dir`, which may be absolute, as a directory in `root`.
fn below(root: &Path, dir: &Path) -> PathBuf {
    match dir.strip_prefix("/") {
        Ok(relative) => root.join(relative),
        // Where we are is known in our own root only.
        Err(_) => dir.to_owned(),
    }
}

/// Where a directory of debug files has that of a build.
pub(super) fn path_of(id: BuildId) -> PathBuf {
    let digits = id.to_string();
    let (first, rest) = digits.split_at(2);
    [".build-id", first, &format!("{rest}.debug")]
        .iter()
        .collect()
}

/// Opens a candidate, if it is of the same build and has what is missing.
fn open(stripped: Stripped<'_>, path: &Path, is_trusted: bool) -> Option<DebugFile> {
    let file = ObjectFile::open_named(path).ok()?;
    let sections = Sections::read(&file).filter(|sections| stripped.lacks.any_in(sections))?;
    let same = match (stripped.build_id, file.build_id()) {
        (Some(wanted), Some(id)) => wanted == id,
        _ => {
            let (link, _) = stripped.link?;
            path.file_name() == Some(OsStr::new(&link.name))
                && crc_of(&file.path()).is_ok_and(|crc| crc == link.crc)
        }
    };
    same.then_some(DebugFile {
        file,
        sections,
        is_trusted,
    })
}

/// The CRC that links have: that of zlib.
fn crc_of(path: &Path) -> io::Result<u32> {
    let file = File::open(path)?;
    if file.metadata()?.size() > MAX_CRC_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut rest = file.take(MAX_CRC_BYTES);
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

#[cfg(test)]
mod tests;
