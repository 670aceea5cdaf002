//! Where profiles are laid down for the thread that sends, without ever waiting for it.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::{Figures, Pushed, figures::Tally};

/// Profiles at most that the thread has not picked up. It does so at once, unless it waits for an answer.
const MOST: usize = 8;

/// What both sides look at, each for a moment.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    offered: VecDeque<Pushed>,
    /// How many were pushed out of it.
    overflowed: u64,
    stop_at: Option<Instant>,
    is_over: bool,
    tally: Tally,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Whoever panicked left whole values behind: each change is a single one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays one down; the oldest goes where there are too many.
    pub(super) fn offer(&self, pushed: Pushed) {
        let mut state = self.lock();
        state.offered.push_back(pushed);
        if state.offered.len() > MOST || state.is_over {
            state.offered.pop_front();
            state.overflowed += 1;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Everything that was laid down, and until when all has to be over, if it has: as soon as there is
    /// any of that, or at the given time.
    pub(super) fn take(&self, until: Option<Instant>) -> (VecDeque<Pushed>, Option<Instant>) {
        let mut state = self.lock();
        while state.offered.is_empty() && state.stop_at.is_none() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => break,
                Some(left) => {
                    let woken = self.changed.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
        (std::mem::take(&mut state.offered), state.stop_at)
    }

    /// Asks the thread to come to its end, and waits so long for it. Whether it came.
    pub(super) fn stop(&self, within: Duration, grace: Duration) -> bool {
        let mut state = self.lock();
        state.stop_at = Some(Instant::now() + within);
        self.changed.notify_all();
        let until = Instant::now() + within + grace;
        while !state.is_over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The thread has come to its end.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// The thread's own account, for whoever asks.
    pub(super) fn enter(&self, tally: Tally) {
        self.lock().tally = tally;
    }

    /// Changes the account from outside of the thread.
    pub(super) fn amend(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.lock().tally);
    }

    /// What became of everything that was offered.
    pub(super) fn figures(&self) -> Figures {
        let state = self.lock();
        let mut figures = state.tally.at(SystemTime::now());
        figures.dropped += state.overflowed;
        figures
    }
}
