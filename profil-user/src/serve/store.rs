//! What a daemon leaves behind for the next one, beside what is pinned: the counters, and how far the pinned
//! maps have been read.
//!
//! The file is a line that says what it is, a CRC (that of zlib) of the rest, and a message. It is written
//! aside and renamed, so that there is always a whole one: whoever is killed in the middle leaves the one before,
//! and what that says is unread is still in the maps.

mod error;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use prost::Message;
use rustix::fs::{FlockOperation, flock};

use profil_common::{Outcome, Tally};

pub use error::StoreError;

use super::{
    book::BookState,
    figures::{Figures, sum},
};

/// What the file begins with. The number is that of the layout of what follows.
const HEAD: &[u8] = b"profil-bpf state 1\n";

/// Larger files are not ours: this is many times what the most series take.
const MOST_BYTES: u64 = 64 << 20;

const STATE: &str = "state";
const ASIDE: &str = "state.new";
const LOCK: &str = "lock";

/// A directory that is ours for as long as we live.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    /// Whoever holds it is the only daemon.
    _lock: File,
}

/// Everything that is kept.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct State {
    /// Whose maps: [`crate::watch::Watch::instance`].
    #[prost(fixed64, tag = "1")]
    pub(crate) instance: u64,
    /// The number of the last half of the table of strays that is in the counters.
    #[prost(uint32, tag = "2")]
    pub(crate) half: u32,
    #[prost(message, optional, tag = "3")]
    pub(crate) book: Option<BookState>,
    /// Runs of earlier maps, and of these: first all, then by outcome.
    #[prost(uint64, repeated, tag = "4")]
    earlier: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    tally: Vec<u64>,
    #[prost(uint64, tag = "6")]
    due_ns: u64,
    /// CPU time of the machine then, since the boot with this id.
    #[prost(uint64, optional, tag = "7")]
    busy_ns: Option<u64>,
    #[prost(string, tag = "8")]
    boot: String,
    #[prost(uint64, tag = "9")]
    turns: u64,
    #[prost(uint64, tag = "10")]
    turning_ns: u64,
    #[prost(uint64, tag = "11")]
    profiles: u64,
}

impl State {
    /// What is to be kept of counters of these maps, read up to a half.
    pub(crate) fn new(instance: u64, half: u16, book: BookState, figures: &Figures) -> Self {
        Self {
            instance,
            half: half.into(),
            book: Some(book),
            earlier: words(&figures.earlier),
            tally: words(&figures.tally),
            due_ns: figures.due_ns,
            busy_ns: figures.busy_ns,
            boot: boot_id(),
            turns: figures.turns,
            turning_ns: figures.turning.as_nanos() as u64,
            profiles: figures.profiles,
        }
    }

    /// Lets figures go on from here. Where the maps are others, or the machine was started again, nothing has
    /// ticked since.
    pub(crate) fn restore(&self, figures: &mut Figures, instance: u64) {
        let (earlier, tally) = (tally(&self.earlier), tally(&self.tally));
        let goes_on = self.instance == instance && self.boot == boot_id();
        if goes_on {
            figures.earlier = earlier;
            figures.tally = tally;
            figures.busy_ns = self.busy_ns;
        } else {
            figures.earlier = sum(earlier, &tally);
        }
        figures.due_ns = self.due_ns;
        figures.turns = self.turns;
        figures.turning = std::time::Duration::from_nanos(self.turning_ns);
        figures.profiles = self.profiles;
    }
}

impl Store {
    /// Makes the directory, if it is not there, and locks it.
    ///
    /// # Errors
    ///
    /// If it is not ours alone, or another daemon has it.
    pub(crate) fn open(dir: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Dir {
            dir: dir.to_owned(),
            source,
        };
        match fs::DirBuilder::new().mode(0o700).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        // A link is followed, as services of dynamic users have them: what counts is whose directory it leads to.
        let metadata = fs::metadata(dir).map_err(failed)?;
        let ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_dir() || !ours || metadata.mode() & 0o022 != 0 {
            return Err(StoreError::NotOurs(dir.to_owned()));
        }
        let lock = private().write(true).create(true).open(dir.join(LOCK));
        Self::lock(dir, lock)
    }

    /// Takes a directory over to clear it, as root also one of somebody else: nothing there is believed.
    ///
    /// # Errors
    ///
    /// If it is not ours, or a daemon has it.
    pub(crate) fn open_to_clear(dir: &Path) -> Result<Self, StoreError> {
        let is_dir = fs::metadata(dir).is_ok_and(|metadata| metadata.is_dir());
        if is_dir && rustix::process::geteuid().is_root() {
            return match private().write(true).open(dir.join(LOCK)) {
                // No daemon was ever here; a lock of ours would keep out whose directory it is.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Self::lock(dir, File::open(dir))
                }
                lock => Self::lock(dir, lock),
            };
        }
        Self::open(dir)
    }

    fn lock(dir: &Path, lock: io::Result<File>) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Dir {
            dir: dir.to_owned(),
            source,
        };
        let lock = lock.map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Taken(dir.to_owned())),
            Err(errno) => Err(failed(errno.into())),
            Ok(()) => Ok(Self {
                dir: dir.to_owned(),
                _lock: lock,
            }),
        }
    }

    /// What the last daemon left, if there was one.
    ///
    /// # Errors
    ///
    /// If it is there and cannot be gone on with.
    pub(crate) fn read(&self) -> Result<Option<State>, StoreError> {
        let path = self.dir.join(STATE);
        let failed = |source| StoreError::Read {
            path: path.clone(),
            source,
        };
        let file = match private().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?,
        };
        let mut bytes = Vec::new();
        file.take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let state = decode(&bytes);
        state
            .map(Some)
            .map_err(|why| StoreError::Foreign { path, why })
    }

    /// Keeps a state, in the place of the one before.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The one before is still there then.
    pub(crate) fn write(&self, state: &State) -> Result<(), StoreError> {
        let (aside, path) = (self.dir.join(ASIDE), self.dir.join(STATE));
        let written = || {
            let mut options = private();
            let mut file = options
                .write(true)
                .create(true)
                .truncate(true)
                .open(&aside)?;
            file.write_all(&encode(state))?;
            drop(file);
            // No sync: it outlives us, and what it belongs to does not outlive the machine.
            fs::rename(&aside, &path)
        };
        written().map_err(|source| StoreError::Write {
            path: path.clone(),
            source,
        })
    }

    /// Removes the state, if there is one. Whether there was.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub(crate) fn clear(&self) -> Result<bool, StoreError> {
        let path = self.dir.join(STATE);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::Write { path, source }),
        }
    }
}

/// A file that nobody else reads, and no link.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

fn encode(state: &State) -> Vec<u8> {
    let message = state.encode_to_vec();
    let crc = crc32fast::hash(&message).to_le_bytes();
    [HEAD, &crc, &message].concat()
}

fn decode(bytes: &[u8]) -> Result<State, &'static str> {
    let rest = bytes
        .strip_prefix(HEAD)
        .ok_or("is of another version, or not a state of profil-bpf")?;
    let (crc, message) = rest.split_first_chunk().ok_or("is cut off")?;
    if crc32fast::hash(message) != u32::from_le_bytes(*crc) {
        return Err("is damaged");
    }
    State::decode(message).map_err(|_| "is damaged")
}

fn words(tally: &Tally) -> Vec<u64> {
    let outcomes = tally.outcomes.iter().copied();
    std::iter::once(tally.runs).chain(outcomes).collect()
}

fn tally(words: &[u64]) -> Tally {
    let mut outcomes = [0; Outcome::COUNT];
    for (outcome, &word) in outcomes.iter_mut().zip(words.iter().skip(1)) {
        *outcome = word;
    }
    Tally {
        runs: words.first().copied().unwrap_or(0),
        outcomes,
    }
}

/// Which start of the machine this is (random(4)).
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

    use proptest::prelude::*;

    use super::{Figures, LOCK, STATE, State, Store, StoreError, decode, encode};
    use crate::serve::book::{Book, Room};

    fn state(instance: u64) -> State {
        let mut figures = Figures::new(10, 0);
        figures.tally.runs = 7;
        figures.tally.outcomes[1] = 5;
        figures.earlier.runs = 100;
        figures.busy_ns = Some(1);
        figures.due_ns = 1000;
        let book = Book::new(Room::of(100), Duration::ZERO).to_state(Duration::ZERO);
        State::new(instance, 65_535, book, &figures)
    }

    #[test]
    fn a_state_is_kept_and_private_and_one_daemon_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("state");
        let store = Store::open(&dir).unwrap();
        assert_eq!(store.read().unwrap(), None);
        store.write(&state(1)).unwrap();
        store.write(&state(2)).unwrap();
        assert_eq!(store.read().unwrap(), Some(state(2)));
        for name in [STATE, LOCK] {
            let mode = fs::metadata(dir.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let error = Store::open(&dir).unwrap_err();
        assert!(matches!(error, StoreError::Taken(_)), "{error}");
        drop(store);
        let store = Store::open(&dir).unwrap();
        assert!(store.clear().unwrap());
        assert!(!store.clear().unwrap());
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        drop(store);
        let error = Store::open(&dir).unwrap_err();
        assert!(matches!(error, StoreError::NotOurs(_)), "{error}");
    }

    #[test]
    fn a_link_to_a_directory_of_ours_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("private"), dir.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        Store::open(&link).unwrap().write(&state(1)).unwrap();
        assert_eq!(Store::open(&real).unwrap().read().unwrap(), Some(state(1)));
    }

    #[test]
    fn figures_go_on_where_the_maps_are_the_same() {
        let mut figures = Figures::new(10, 0);
        state(3).restore(&mut figures, 3);
        assert_eq!((figures.earlier.runs, figures.tally.runs), (100, 7));
        assert_eq!(figures.busy_ns, Some(1));
        let mut figures = Figures::new(10, 0);
        state(3).restore(&mut figures, 4);
        assert_eq!((figures.earlier.runs, figures.tally.runs), (107, 0));
        assert_eq!(figures.busy_ns, None);
        assert_eq!((figures.due_ns, figures.earlier.outcomes[1]), (1000, 5));
    }

    #[test]
    fn damage_is_noticed() {
        let whole = encode(&state(1));
        assert_eq!(decode(&whole), Ok(state(1)));
        for end in 0..whole.len() {
            decode(&whole[..end]).unwrap_err();
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            decode(&flipped).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn nothing_is_believed_that_is_no_state(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode(&bytes).is_err());
            // With a true CRC it may be a message, but never a panic.
            let mut sealed = super::HEAD.to_vec();
            sealed.extend(crc32fast::hash(&bytes).to_le_bytes());
            sealed.extend(&bytes);
            let _ = decode(&sealed);
        }
    }
}
