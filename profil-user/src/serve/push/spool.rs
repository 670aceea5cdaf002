//! Files of parcels in a directory of our own.
//!
//! Everything is done by name within the open directory, and no link is followed. A file has its name
//! only when it is whole: it is written aside and renamed. There is no fsync(2): what is sent within
//! seconds need never reach the disk, and a file that a power failure cut off is known by its CRC.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use rustix::{
    fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags},
    io::Errno,
};

use super::{
    PushError,
    parcel::{FRAME, MOST_BODY},
};

const ENDING: &str = ".push";
const ENDING_ASIDE: &str = ".aside";
const DIGITS: usize = 20;

/// A directory of parcels that wait.
#[derive(Debug)]
pub(super) struct Spool {
    directory: OwnedFd,
    path: PathBuf,
}

/// A file in it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Stored {
    /// In the order of arrival.
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// When it was written.
    pub(super) since: SystemTime,
}

impl Spool {
    /// Opens a directory for this process alone, as soon as another one has gone, and says what waits in
    /// it, the oldest first, and how many files are none of ours.
    pub(super) fn open(
        path: &Path,
        patience: Duration,
    ) -> Result<(Self, Vec<Stored>, u64), PushError> {
        let refuse = |why: String| PushError::Spool {
            path: path.to_owned(),
            why,
        };
        let said = |error: Errno| {
            refuse(format!(
                "{error}; give a directory that can be made or used"
            ))
        };
        match fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(said(error)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = fs::open(path, flags, Mode::empty()).map_err(said)?;
        let status = fs::fstat(&directory).map_err(said)?;
        if status.st_uid != rustix::process::geteuid().as_raw() {
            return Err(refuse(
                "it is another user's; give one of your own".to_owned(),
            ));
        }
        if status.st_mode & 0o077 != 0 {
            return Err(refuse(
                "others may enter it; chmod 700 it, or give another".to_owned(),
            ));
        }
        lock(&directory, patience).map_err(|error| match error {
            Errno::WOULDBLOCK => {
                refuse("another process uses it; end that, or give another directory".to_owned())
            }
            error => said(error),
        })?;
        let spool = Self {
            directory,
            path: path.to_owned(),
        };
        let (stored, foreign) = spool.list().map_err(said)?;
        Ok((spool, stored, foreign))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn list(&self) -> Result<(Vec<Stored>, u64), Errno> {
        let (mut stored, mut foreign) = (Vec::new(), 0);
        for entry in fs::Dir::read_from(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let status = fs::statat(
                &self.directory,
                entry.file_name(),
                AtFlags::SYMLINK_NOFOLLOW,
            )?;
            let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
            if is_file && number_in(name, ENDING_ASIDE).is_some() {
                // Of a process that ended while it wrote.
                fs::unlinkat(&self.directory, entry.file_name(), AtFlags::empty())?;
                continue;
            }
            let bytes = u64::try_from(status.st_size).unwrap_or_default();
            match number_in(name, ENDING) {
                Some(number) if is_file && is_size(bytes) => {
                    let seconds = u64::try_from(status.st_mtime).unwrap_or_default();
                    stored.push(Stored {
                        number,
                        bytes,
                        since: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
                    });
                }
                _ => foreign += 1,
            }
        }
        stored.sort();
        Ok((stored, foreign))
    }

    /// Writes a file, whole or not at all.
    pub(super) fn write(&self, number: u64, bytes: &[u8]) -> io::Result<Stored> {
        let aside = name_of(number, ENDING_ASIDE);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.directory, &aside, flags, Mode::RUSR | Mode::WUSR)?;
        let written = File::from(file).write_all(bytes).and_then(|()| {
            let name = name_of(number, ENDING);
            Ok(fs::renameat(
                &self.directory,
                &aside,
                &self.directory,
                &name,
            )?)
        });
        if written.is_err() {
            // What cannot be removed either is removed when the directory is opened again.
            let _ = fs::unlinkat(&self.directory, &aside, AtFlags::empty());
        }
        written.map(|()| Stored {
            number,
            bytes: bytes.len() as u64,
            since: SystemTime::now(),
        })
    }

    /// The bytes of a file.
    pub(super) fn read(&self, stored: &Stored) -> io::Result<Vec<u8>> {
        // A FIFO that took its place would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let name = name_of(stored.number, ENDING);
        let file = File::from(fs::openat(&self.directory, name, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() || !is_size(metadata.size()) {
            return Err(io::Error::other("it is not what was written"));
        }
        let mut bytes = Vec::with_capacity(metadata.size() as usize);
        file.take(metadata.size()).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes a file.
    pub(super) fn remove(&self, stored: &Stored) -> io::Result<()> {
        let name = name_of(stored.number, ENDING);
        Ok(fs::unlinkat(&self.directory, name, AtFlags::empty())?)
    }
}

/// Keeps others away until this process ends.
fn lock(directory: &OwnedFd, patience: Duration) -> Result<(), Errno> {
    let since = Instant::now();
    loop {
        match fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if since.elapsed() < patience => {
                thread::sleep(Duration::from_millis(50));
            }
            tried => return tried,
        }
    }
}

const fn is_size(bytes: u64) -> bool {
    bytes >= FRAME as u64 && bytes <= (FRAME + MOST_BODY) as u64
}

fn name_of(number: u64, ending: &str) -> String {
    format!("{number:0DIGITS$}{ending}")
}

/// The number in a name that [`name_of`] made.
fn number_in(name: &[u8], ending: &str) -> Option<u64> {
    let digits = name.strip_suffix(ending.as_bytes())?;
    let is_plain = digits.len() == DIGITS && digits.iter().all(u8::is_ascii_digit);
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    // Another one has to follow.
    (is_plain && number < u64::MAX / 2).then_some(number)
}
