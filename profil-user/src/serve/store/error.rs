//! What can go wrong with what a daemon leaves behind.

use std::{io, path::PathBuf};

/// Why there is no state to go on with, or none can be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory cannot be made or looked at.
    #[error("cannot use {} for the state of the daemon; name another one: --state", .dir.display())]
    Dir {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else may write there.
    #[error("{} is not a directory of ours alone, so what is written there cannot be believed; \
             name another one: --state", .0.display())]
    NotOurs(PathBuf),
    /// Another daemon runs.
    #[error("another profil-bpf serve uses {}; end it, or name another directory: --state", .0.display())]
    Taken(PathBuf),
    /// The file cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is of another version, or damaged.
    #[error(
        "{} {why}; remove it to count from the beginning: profil-bpf serve --unpin does",
        .path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file cannot be written.
    #[error("cannot write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
