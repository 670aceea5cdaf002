//! Why a file is not read, for people.

use super::{extension::Damaged, read::MOST_BYTES, wire};

/// Why a file is not read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PprofError {
    /// It is compressed, and damaged.
    #[error("it cannot be unpacked: {0}")]
    Packed(String),
    /// It becomes too large.
    #[error("more than {} MiB, unpacked, are no profile", MOST_BYTES >> 20)]
    TooLarge,
    /// It has too many parts, or one that is too large.
    #[error(
        "more than {} samples, addresses and names, or one of more than {} MiB, are no profile",
        wire::MOST_PARTS,
        wire::MOST_BYTES_OF_PART >> 20
    )]
    TooManyParts,
    /// It is no message of the format's.
    #[error("it is no pprof profile, or is cut off or damaged")]
    Bytes,
    /// There is nothing in it.
    #[error("it has no values: it is no pprof profile, or an empty one")]
    NoValues,
    /// Its own numbers do not fit together.
    #[error("{0}: the file is damaged")]
    Damaged(String),
}

impl From<Damaged> for PprofError {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(damaged.to_string())
    }
}

pub(super) fn damaged<T>(what: impl Into<String>) -> Result<T, PprofError> {
    Err(PprofError::Damaged(what.into()))
}
