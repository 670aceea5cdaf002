//! Why a file is not read.

/// Why a file is not a gmon.out that can be read, and where that shows.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GmonError {
    /// It begins like no format that we know.
    #[error("byte 0: neither a gmon.out of GNU nor one of 4.4BSD begins like this")]
    Unknown,
    /// It is of a machine that stores the high byte first.
    #[error("byte {offset}: a gmon.out of a big-endian machine; only little-endian ones are read")]
    BigEndian {
        /// Where the version is.
        offset: usize,
    },
    /// It is what the dynamic loader writes for a shared object (`LD_PROFILE`).
    #[error("byte 4: a profile by the dynamic loader (LD_PROFILE), which sprof(1) reads")]
    Loader,
    /// A version that nobody has defined yet.
    #[error("byte 4: a gmon.out of version {version}; versions 0 and 1 are read")]
    Version {
        /// The version.
        version: u32,
    },
    /// Counters that are not 16 bits wide (FreeBSD can have others).
    #[error("byte {offset}: counters of kind {kind}; only those of 16 bits are read")]
    Counters {
        /// Where the kind is.
        offset: usize,
        /// The number that stands for it.
        kind: u32,
    },
    /// A record of a kind that there is not.
    #[error("byte {offset}: {tag} is no kind of record: the file is damaged")]
    Tag {
        /// Where the record begins.
        offset: usize,
        /// Its first byte.
        tag: u8,
    },
    /// The file ends too early.
    #[error("byte {offset}: the file ends in the middle of {what}, {missing} bytes short")]
    Cut {
        /// Where the part begins that is not whole.
        offset: usize,
        /// What it is.
        what: &'static str,
        /// How many bytes are missing.
        missing: u64,
    },
    /// Lengths that do not fit together.
    #[error("byte {offset}: {what}: the file is damaged")]
    Damaged {
        /// Where it shows.
        offset: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A range that ends before it begins, or has more bins than bytes.
    #[error("byte {offset}: {bins} bins for the text from {low:#x} to {high:#x}")]
    Range {
        /// Where the record begins.
        offset: usize,
        /// First address.
        low: u64,
        /// First address past the range.
        high: u64,
        /// Number of bins.
        bins: u32,
    },
    /// Two ranges that share a part, but are not the same.
    #[error("byte {offset}: the text at {address:#x} is in two histograms of different shape")]
    Overlap {
        /// Where the second record begins.
        offset: usize,
        /// The first address that is in both.
        address: u64,
    },
    /// Ticks that stand for no time.
    #[error("byte {offset}: a rate of 0 ticks: the file does not tell what a tick stands for")]
    NoRate {
        /// Where the rate is.
        offset: usize,
    },
    /// Ticks that stand for something else than those of an earlier record.
    #[error("byte {offset}: ticks of another rate or unit than in the record before")]
    Clock {
        /// Where the rate is.
        offset: usize,
    },
}

/// Why two files cannot be added up.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MergeError {
    /// Their ticks do not stand for the same.
    #[error("{} ticks in {:?} here, {} in {:?} before", .theirs.0, .theirs.1, .ours.0, .ours.1)]
    Clock {
        /// Rate and unit of what is there.
        ours: (u32, String),
        /// Rate and unit of what should be added.
        theirs: (u32, String),
    },
    /// Their ranges overlap and are not the same.
    #[error("the text at {address:#x} is in histograms of different shape")]
    Overlap {
        /// The first address that is in both.
        address: u64,
    },
}
