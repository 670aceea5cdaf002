//! What became of the profiles that were offered.

use std::time::{Duration, SystemTime};

/// What became of the profiles that were offered, since the daemon started.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Figures {
    /// Profiles that the receiver took.
    pub sent: u64,
    /// Profiles that it will not take, whatever is done; they are gone.
    pub refused: u64,
    /// Attempts that failed, each of which is made again.
    pub failed: u64,
    /// Profiles that are gone because there was no room for them.
    pub dropped: u64,
    /// Files in the spool that are damaged or not ours. They are left alone.
    pub skipped: u64,
    /// Profiles that wait.
    pub waiting: u64,
    /// Bytes of them in the spool.
    pub spooled_bytes: u64,
    /// How long the first of them has been waiting.
    pub oldest: Option<Duration>,
}

/// The same while it is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) figures: Figures,
    pub(super) oldest: Option<SystemTime>,
}

impl Tally {
    /// The figures at a time.
    pub(super) fn at(&self, now: SystemTime) -> Figures {
        let age = |oldest| now.duration_since(oldest).unwrap_or_default();
        Figures {
            oldest: self.oldest.map(age),
            ..self.figures
        }
    }
}
