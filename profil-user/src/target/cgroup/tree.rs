//! The control groups below one: a walk through directories of which some vanish on the way.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, openat},
    io::Errno,
    path::Arg,
};

/// Deeper ones are not looked at. Nested containers in pods take some ten.
const MAX_DEPTH: usize = 32;

/// More are not looked at. Large machines have some ten thousand.
const MAX_DIRECTORIES: usize = 100_000;

/// Where a walk goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Then {
    /// With what is below.
    Below,
    /// With what is beside.
    Beside,
}

/// How far a walk came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Walked {
    /// How many directories were visited.
    pub(super) directories: usize,
    /// Whether these were all.
    pub(super) complete: bool,
}

/// Opens a directory, also through symbolic links.
pub(super) fn open(at: impl AsFd, path: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

/// Calls `visit` with every directory below `root`, and its path from there.
///
/// # Errors
///
/// What `visit` says, and if a directory cannot be read; that one vanished is none.
pub(super) fn walk(
    root: BorrowedFd<'_>,
    mut visit: impl FnMut(BorrowedFd<'_>, &Path) -> io::Result<Then>,
) -> io::Result<Walked> {
    let mut walked = Walked {
        directories: 0,
        complete: true,
    };
    below(root, &mut PathBuf::new(), 1, &mut walked, &mut visit)?;
    Ok(walked)
}

fn below(
    dir: BorrowedFd<'_>,
    path: &mut PathBuf,
    depth: usize,
    walked: &mut Walked,
    visit: &mut dyn FnMut(BorrowedFd<'_>, &Path) -> io::Result<Then>,
) -> io::Result<()> {
    let entries = match Dir::read_from(dir) {
        Err(Errno::NOENT) => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = match entry {
            Err(Errno::NOENT) => return Ok(()),
            entry => entry?,
        };
        let name = entry.file_name();
        if entry.file_type() != FileType::Directory || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if depth > MAX_DEPTH || walked.directories == MAX_DIRECTORIES {
            walked.complete = false;
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = match openat(dir, name, flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::NODEV) => continue,
            opened => opened?,
        };
        walked.directories += 1;
        path.push(std::ffi::OsStr::from_bytes(name.to_bytes()));
        if visit(dir.as_fd(), path)? == Then::Below {
            below(dir.as_fd(), path, depth + 1, walked, visit)?;
        }
        path.pop();
    }
    Ok(())
}
