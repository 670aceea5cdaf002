//! Names of generated code, from the file in which a just-in-time compiler says what it made:
//! `/tmp/perf-PID.map`, lines of an address, a size and a name.
//!
//! Anybody can put a file there. It is believed only if it belongs to the user that the process runs
//! as, or to root: then it says no more than the process itself could do.

mod entries;

use std::{
    fmt, fs,
    fs::File,
    io::Read as _,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::MetadataExt as _,
    },
};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use entries::Entries;

/// What the map of a process says.
#[derive(Debug)]
pub(crate) struct PerfMap {
    entries: Entries,
}

/// Why a map that is there is not believed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum MapRefused {
    /// It is of another user than the process, and not of root.
    NotOwned,
    /// It is no regular file.
    NotRegular,
    /// It is larger than any compiler makes it.
    TooLarge,
    /// Those of other processes have taken all memory that there is for maps.
    TooMany,
    /// It cannot be read.
    Unreadable,
}

impl fmt::Display for MapRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOwned => "its perf map is of another user",
            Self::NotRegular => "its perf map is no regular file",
            Self::TooLarge => "its perf map is too large",
            Self::TooMany => "there are too many perf maps",
            Self::Unreadable => "its perf map cannot be read",
        })
    }
}

/// Larger maps are not read: all of it is held in memory.
const MAX_BYTES: u64 = 64 << 20;

/// What the maps of all processes may have together.
pub(super) const MAX_BYTES_OF_ALL: u64 = 4 * MAX_BYTES;

impl PerfMap {
    /// Reads the map of a process, as the process sees it: in its root, under its number in its own
    /// PID namespace, if it has no more than so many bytes. `None` if there is none, or the process has
    /// gone.
    ///
    /// # Errors
    ///
    /// If there is one that should not be believed.
    pub(crate) fn open(tgid: u32, most: u64) -> Result<Option<Self>, MapRefused> {
        let Some(place) = MapPlace::of(tgid) else {
            return Ok(None);
        };
        place.read(most)
    }

    /// Bytes of its text.
    pub(super) const fn bytes(&self) -> u64 {
        self.entries.bytes() as u64
    }

    /// What the text of a map says; `None` if it is too much.
    pub(crate) fn parse(text: Vec<u8>) -> Option<Self> {
        let entries = Entries::parse(text)?;
        Some(Self { entries })
    }

    /// The name of the code at an address of the process, and where that code begins. What was made
    /// last counts.
    pub(crate) fn name_of(&self, address: u64) -> Option<(&str, u64)> {
        self.entries.find(address)
    }
}

/// Where a process has its map: to be found while it runs, and good also when it has ended.
#[derive(Debug)]
pub(crate) struct MapPlace {
    root: OwnedFd,
    /// The process's number in its own namespace.
    number: u32,
    /// The user that it runs as.
    user: u32,
}

impl MapPlace {
    /// `None` if the process has gone, or does not let us look.
    pub(crate) fn of(tgid: u32) -> Option<Self> {
        // Its name is in there, which is any bytes that it likes.
        let status = fs::read(format!("/proc/{tgid}/status")).ok()?;
        let (number, user) = identity(&String::from_utf8_lossy(&status))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(format!("/proc/{tgid}/root"), flags, Mode::empty()).ok()?;
        Some(Self { root, number, user })
    }

    /// Reads the map, if there is one and it has no more than so many bytes.
    ///
    /// # Errors
    ///
    /// If it should not be believed.
    pub(crate) fn read(&self, most: u64) -> Result<Option<PerfMap>, MapRefused> {
        let name = format!("tmp/perf-{}.map", self.number);
        // Links on the way lead to where they lead the process; the last part must be no link.
        let handle = match rustix::fs::openat2(
            &self.root,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
        ) {
            Ok(handle) => File::from(handle),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
            Err(_) => return Err(MapRefused::Unreadable),
        };
        let metadata = handle.metadata().map_err(|_| MapRefused::Unreadable)?;
        if !metadata.is_file() {
            return Err(MapRefused::NotRegular);
        }
        if metadata.uid() != self.user && metadata.uid() != 0 {
            return Err(MapRefused::NotOwned);
        }
        if metadata.len() > MAX_BYTES {
            return Err(MapRefused::TooLarge);
        }
        if metadata.len() > most {
            return Err(MapRefused::TooMany);
        }
        let same = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let mut text = Vec::new();
        File::open(same)
            // It may grow meanwhile: what is appended is not needed.
            .and_then(|file| file.take(MAX_BYTES.min(most)).read_to_end(&mut text))
            .map_err(|_| MapRefused::Unreadable)?;
        PerfMap::parse(text).map(Some).ok_or(MapRefused::TooLarge)
    }
}

/// The number in the innermost PID namespace, and the effective user, from `/proc/PID/status`
/// (proc_pid_status(5)).
fn identity(status: &str) -> Option<(u32, u32)> {
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    };
    let number = field("NSpid")?.split_ascii_whitespace().last()?;
    let user = field("Uid")?.split_ascii_whitespace().nth(1)?;
    Some((number.parse().ok()?, user.parse().ok()?))
}

#[cfg(test)]
mod tests;
