//! How far something has come that may last.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A count that whoever works moves on, and whoever waits reads, from any thread. Clones are of the same
/// count.
///
/// ```
/// use profil_user::Headway;
///
/// let headway = Headway::default();
/// headway.begin(3);
/// headway.step();
/// assert_eq!(headway.seen(), (1, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Headway {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    whole: AtomicU64,
}

impl Headway {
    /// So many steps are ahead, and none is done.
    pub fn begin(&self, whole: u64) {
        // Nobody decides anything by these: an old number is as good.
        self.counts.done.store(0, Ordering::Relaxed);
        self.counts.whole.store(whole, Ordering::Relaxed);
    }

    /// One more is done.
    pub fn step(&self) {
        self.counts.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The steps that are done, and all of them; nothing of nothing before it has begun.
    pub fn seen(&self) -> (u64, u64) {
        (
            self.counts.done.load(Ordering::Relaxed),
            self.counts.whole.load(Ordering::Relaxed),
        )
    }
}
