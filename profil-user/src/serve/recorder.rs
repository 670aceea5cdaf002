//! The thread that gives ticks names, counts them, and keeps the counters safe.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::{broadcast, mpsc};

use super::{
    book::Book,
    chain,
    engine::Turned,
    figures::Figures,
    history::History,
    naming::Naming,
    push,
    pushing::Pushing,
    row::Window,
    store::{State, Store},
};

/// Windows that a slow reader may be behind.
const BACKLOG: usize = 16;

/// How soon a state is tried to be written once more before its ticks are removed from the kernel all the same:
/// if the disk stays full, it is the restart that loses, and not the counters.
const WRITE_RETRY: Duration = Duration::from_millis(200);

/// What the counters' clock shows when the daemon starts: series can have been cold for as long as that.
pub(crate) const BEGINNING: Duration = Duration::from_secs(366 * 24 * 3600);

/// The counters, for whoever asks.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) book: Book,
    pub(crate) figures: Figures,
}

/// What is shared: counters, the last day, and the news about them.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    counters: Arc<Mutex<Counters>>,
    history: Arc<Mutex<History>>,
    pushing: Arc<Mutex<Option<Pushing>>>,
    windows: broadcast::Sender<Arc<Window>>,
}

impl Shared {
    pub(crate) fn new(
        book: Book,
        figures: Figures,
        history: History,
        pushing: Option<Pushing>,
    ) -> Self {
        Self {
            counters: Arc::new(Mutex::new(Counters { book, figures })),
            history: Arc::new(Mutex::new(history)),
            pushing: Arc::new(Mutex::new(pushing)),
            windows: broadcast::Sender::new(BACKLOG),
        }
    }

    /// The counters, which nobody else changes meanwhile. A panic elsewhere leaves them as they are.
    pub(crate) fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last day, which does not go on meanwhile.
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who pushes, if anybody does.
    pub(crate) fn pushing(&self) -> MutexGuard<'_, Option<Pushing>> {
        self.pushing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of what was pushed, if anything is; `None` while a profile is packed.
    pub(crate) fn push_figures(&self) -> Option<Option<push::Figures>> {
        let pushing = match self.pushing.try_lock() {
            Ok(pushing) => pushing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(pushing.as_ref().map(Pushing::figures))
    }

    /// Every window from now on.
    pub(crate) fn windows(&self) -> broadcast::Receiver<Arc<Window>> {
        self.windows.subscribe()
    }
}

/// Where the state of which maps goes.
pub(crate) struct Keeping {
    store: Store,
    instance: u64,
    /// Whether it could not be written the last time.
    fails: Cell<bool>,
}

impl Keeping {
    pub(crate) const fn new(store: Store, instance: u64) -> Self {
        Self {
            store,
            instance,
            fails: Cell::new(false),
        }
    }

    /// Writes a state; if it cannot be, once more: then it was no passing thing. Whether it was written. Says what
    /// is new: a disk may be full for days.
    fn keep(&self, state: &State) -> bool {
        let written = self.store.write(state).or_else(|_| {
            thread::sleep(WRITE_RETRY);
            self.store.write(state)
        });
        let failed = self.fails.replace(written.is_err());
        match &written {
            Err(error) if !failed => log::warn!(
                "{}; a restart would lose what was counted since the last time",
                chain(error)
            ),
            Ok(()) if failed => log::warn!("the state can be written again"),
            _ => {}
        }
        written.is_ok()
    }
}

/// Starts it. It ends when nobody turns any more.
pub(crate) fn spawn(
    shared: Shared,
    keeping: Option<Keeping>,
    period_ns: u64,
    mut turned: mpsc::Receiver<Turned>,
) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name("profil-names".to_owned())
        .spawn(move || {
            let mut naming = Naming::new();
            let started = Instant::now();
            while let Some(turn) = turned.blocking_recv() {
                record(
                    &shared,
                    &mut naming,
                    keeping.as_ref(),
                    period_ns,
                    started,
                    turn,
                );
            }
            shared.history().close();
            let pushing = shared.pushing().take();
            if let Some(pushing) = pushing {
                pushing.stop(period_ns);
            }
        })
}

fn record(
    shared: &Shared,
    naming: &mut Naming,
    keeping: Option<&Keeping>,
    period_ns: u64,
    started: Instant,
    turn: Turned,
) {
    let account = turn.increment.account;
    let window = Arc::new(naming.name(&turn.increment, period_ns));
    let now = BEGINNING + started.elapsed();
    let state = {
        let mut counters = shared.counters();
        counters.book.enter(&window, now);
        counters.figures.turned(&account);
        counters.figures.symbols = naming.known();
        counters.figures.turns += 1;
        counters.figures.turning += turn.began.elapsed();
        counters.figures.last_turn = Some(Instant::now());
        keeping.map(|keeping| {
            let book = counters.book.to_state(now);
            State::new(keeping.instance, account.half, book, &counters.figures)
        })
    };
    if let (Some(keeping), Some(state)) = (keeping, &state)
        && !keeping.keep(state)
    {
        shared.counters().figures.unwritten += 1;
    }
    let _ = turn.kept.send(());
    shared.history().enter(&window);
    if let Some(pushing) = &mut *shared.pushing() {
        pushing.enter(&window);
    }
    // Nobody may be listening.
    let _ = shared.windows.send(window);
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::{Keeping, State, Store};
    use crate::serve::{
        book::{Book, Room},
        figures::Figures,
    };

    #[test]
    fn what_cannot_be_written_is_said_once_and_when_it_can_be_again() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("state");
        let keeping = Keeping::new(Store::open(&dir).unwrap(), 1);
        let book = Book::new(Room::of(100), Duration::ZERO).to_state(Duration::ZERO);
        let state = State::new(1, 1, book, &Figures::new(10, 0));
        assert!(keeping.keep(&state) && !keeping.fails.get());
        let in_the_way = dir.join("state.new");
        fs::create_dir(&in_the_way).unwrap();
        for _ in 0..2 {
            assert!(!keeping.keep(&state) && keeping.fails.get());
        }
        fs::remove_dir(&in_the_way).unwrap();
        assert!(keeping.keep(&state) && !keeping.fails.get());
    }
}
