//! Work that takes long, and that strangers ask for: on a thread of its own, one at a time.

use std::sync::Arc;

use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

/// A place to work. Who goes away before it is their turn leaves nothing behind; what has begun is done to its end.
#[derive(Debug)]
pub(super) struct OneAtATime(Arc<Semaphore>);

impl Default for OneAtATime {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl OneAtATime {
    /// Does some work, when what was asked for before is done.
    ///
    /// # Errors
    ///
    /// If it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // Nobody closes it. The work has the place, and not who waits: that may be gone long before.
        let place = Arc::clone(&self.0).acquire_owned().await.ok();
        let work = move || {
            let done = work();
            drop(place);
            done
        };
        spawn_blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        time::Duration,
    };

    use tokio::time::timeout;

    use super::OneAtATime;

    #[tokio::test]
    async fn who_goes_away_leaves_no_work_behind() {
        let (place, done) = (OneAtATime::default(), Arc::new(AtomicUsize::new(0)));
        let work = |wait: Option<mpsc::Receiver<()>>| {
            let done = Arc::clone(&done);
            move || {
                let _ = wait.map(|wait| wait.recv());
                done.fetch_add(1, Ordering::Relaxed)
            }
        };
        let (go, wait) = mpsc::channel();
        const MOMENT: Duration = Duration::from_millis(1);
        timeout(MOMENT, place.run(work(Some(wait))))
            .await
            .unwrap_err();
        for _ in 0..100 {
            timeout(MOMENT, place.run(work(None))).await.unwrap_err();
        }
        assert_eq!(done.load(Ordering::Relaxed), 0);
        drop(go);
        // The first was at work when it was given up, and comes to its end.
        assert_eq!(place.run(work(None)).await.unwrap(), 1);
        assert_eq!(done.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_panic_gives_the_place_back() {
        let place = OneAtATime::default();
        place.run(|| panic!("as it should")).await.unwrap_err();
        assert_eq!(place.run(|| 7).await.unwrap(), 7);
    }
}
