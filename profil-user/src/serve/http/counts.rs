//! What became of connections and requests.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What became of connections and requests, since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Connections that were taken.
    pub connections: u64,
    /// Connections beyond those that may be open at a time.
    pub turned_away: u64,
    /// Connections that did not come to an encrypted state.
    pub handshakes_failed: u64,
    /// Requests that the site has answered.
    pub answered: u64,
    /// Requests that the server has refused: who asks may not, or asks too often or wrongly.
    pub refused: u64,
    /// Requests on which the site has panicked.
    pub panicked: u64,
}

/// The same, while they are counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) connections: AtomicU64,
    pub(super) turned_away: AtomicU64,
    pub(super) handshakes_failed: AtomicU64,
    pub(super) answered: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) panicked: AtomicU64,
}

impl Tally {
    pub(super) fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.load(Relaxed),
            turned_away: self.turned_away.load(Relaxed),
            handshakes_failed: self.handshakes_failed.load(Relaxed),
            answered: self.answered.load(Relaxed),
            refused: self.refused.load(Relaxed),
            panicked: self.panicked.load(Relaxed),
        }
    }
}

/// One more.
pub(super) fn bump(count: &AtomicU64) {
    count.fetch_add(1, Relaxed);
}
