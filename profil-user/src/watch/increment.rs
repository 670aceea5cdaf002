//! What has ticked between two turns, as plain values and open files.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use profil_common::Tally;

use crate::{
    profile::{Count, Object},
    target::ObjectFile,
};

/// Ticks between two turns.
#[derive(Debug)]
pub(crate) struct Increment {
    /// Objects of one generation have one numbering.
    pub(crate) generation: u64,
    /// When the turn before was.
    pub(crate) began: SystemTime,
    /// How long ago that is.
    pub(crate) elapsed: Duration,
    /// Objects of this generation that were not told of before, in the order of their numbers; and the open
    /// file of each that has one that can be read.
    pub(crate) new_objects: Vec<(Object, Option<Arc<ObjectFile>>)>,
    /// By whom and where: an index into [`Increment::doers`], then ticks. Sorted, each address once.
    pub(crate) counts: Vec<(usize, Count)>,
    /// Who ticked.
    pub(crate) doers: Vec<Doer>,
    /// What the kernel half says of all its ticks.
    pub(crate) account: Account,
}

/// A process that ticked. Texts are untrusted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Doer {
    pub(crate) tgid: u32,
    /// Empty where it is not known.
    pub(crate) name: Arc<str>,
    /// Its path in the hierarchy of control groups; empty where it is not known.
    pub(crate) cgroup: Arc<str>,
}

/// Figures of the kernel half, and of the machine, at the end of an increment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Account {
    /// Of all runs since the maps were made.
    pub(crate) tally: Tally,
    /// Ticks of this increment.
    pub(crate) ticks: u64,
    /// Most entries that the table of strays was found to have, and how many it can hold.
    pub(crate) fill: (u32, u32),
    /// Entries of this increment.
    pub(crate) entries: usize,
    /// CPU time that all processes have used since the machine started; `None` if it is not known.
    pub(crate) busy_ns: Option<u64>,
    /// Records of the side-band that there was no room for, ever.
    pub(crate) side_band_lost: u64,
    /// The number of the half of the table that this increment is the last of.
    pub(crate) half: u16,
}
