//! What can go wrong with counters that outlive us.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::kernel::{ClockError, CountersError, LoadError};

/// Why counters cannot be left for who comes next, or taken over.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The directory cannot be made or looked at.
    #[error("cannot use {} for what outlives the daemon (pins); is a BPF file system mounted there? \
             mount -t bpf bpf /sys/fs/bpf", .dir.display())]
    Dir {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is in no BPF file system.
    #[error(
        "{} is in no BPF file system, and nothing else can hold what outlives the daemon; \
         mount -t bpf bpf /sys/fs/bpf, and name a directory there",
        .0.display()
    )]
    NotBpf(PathBuf),
    /// Somebody else may write there.
    #[error(
        "{} is not a directory of ours alone, so what is pinned there cannot be believed; \
         name another one, or remove it",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// Another daemon counts there.
    #[error("another profil-bpf serve uses {}; end it, or name another directory: --pin", .0.display())]
    Taken(PathBuf),
    /// What was left there is of another version.
    #[error(
        "the counters in {} have layout {found}, and this version knows layout {known}; \
         profil-bpf serve --unpin removes them, and counts from the beginning",
        .path.display()
    )]
    OtherLayout {
        /// Where.
        path: PathBuf,
        /// Theirs.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// What was left there is not ours.
    #[error("{} holds no counters of profil-bpf; name another directory", .0.display())]
    Foreign(PathBuf),
    /// Something there cannot be opened.
    #[error("cannot open {}; profil-bpf serve --unpin removes what is there", .path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A map there cannot be opened.
    #[error("cannot open {}; profil-bpf serve --unpin removes what is there", .path.display())]
    Map {
        /// Its path.
        path: PathBuf,
        /// What went wrong.
        source: Box<aya::maps::MapError>,
    },
    /// Something cannot be given a name.
    #[error("cannot pin {}", .path.display())]
    Pin {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something cannot be removed.
    #[error("cannot remove {}", .path.display())]
    Remove {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program cannot be linked to a clock: before Linux 5.15 there are no such links.
    #[error(
        "cannot link the BPF program to a clock that outlives the daemon (Linux 5.15); leave out --pin"
    )]
    Link(#[source] io::Error),
    /// The clock.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The counters.
    #[error(transparent)]
    Counters(#[from] CountersError),
    /// The program.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl PinError {
    pub(super) fn open(path: &Path, source: io::Error) -> Self {
        Self::Open {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn remove(path: &Path, source: io::Error) -> Self {
        Self::Remove {
            path: path.to_owned(),
            source,
        }
    }
}
