//! The daemon as a whole: what is started in which order, and how it ends.

use std::{io, path::Path, sync::Arc, thread::JoinHandle, time::Duration};

use profil_common::Wanted;
use tokio::sync::mpsc;

use super::{
    book::{Book, Room},
    config::{Config, Mode, Push},
    demand::Demand,
    engine::{self, EngineControl},
    figures::Figures,
    history::{History, JournalError, Limits},
    http, privileges,
    pushing::{Pushing, PushingError},
    recorder::{self, BEGINNING, Keeping, Shared},
    site::Answers,
    store::{Store, StoreError},
};
use crate::{
    error::{RunError, StartError},
    kernel::{PinError, remove_pins},
    options::{Rate, RateError},
    watch::{Watch, WatchOptions},
};

/// Why the daemon cannot begin, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The rate.
    #[error("not a rate for this machine")]
    Rate(#[from] RateError),
    /// The clock.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What was left, or is to be left.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What outlives the daemon.
    #[error(transparent)]
    Pins(#[from] PinError),
    /// The clock, later.
    #[error("cannot go on counting")]
    Run(#[from] RunError),
    /// The last day, on disk.
    #[error("history.dir cannot be used")]
    History(#[from] JournalError),
    /// What is to be pushed.
    #[error(transparent)]
    Pushing(#[from] PushingError),
    /// Threads or capabilities.
    #[error("cannot start the daemon's own threads")]
    Threads(#[source] io::Error),
    /// A part of it has panicked.
    #[error("a thread of the daemon has ended; this is a fault of profil-bpf, please report it")]
    Ended,
}

/// A running daemon, without what is in front of it.
pub struct Daemon {
    engine: Option<JoinHandle<Result<(), RunError>>>,
    names: Option<JoinHandle<()>>,
    control: EngineControl,
    shared: Shared,
    answers: Arc<Answers>,
    adopted: bool,
}

impl Daemon {
    /// Switches the clock on, or takes over one that was left, and begins to count.
    ///
    /// The thread that calls it keeps no capabilities that the daemon does not need.
    ///
    /// # Errors
    ///
    /// If privileges are missing, the kernel refuses, or what was left cannot be gone on with.
    pub fn start(config: &Config) -> Result<Self, DaemonError> {
        let rate: Rate = config.stathz.to_string().parse()?;
        let store = match &config.pin.dir {
            Some(_) => Some(Store::open(&config.pin.state)?),
            None => None,
        };
        let state = store.as_ref().map(Store::read).transpose()?.flatten();
        let limits = Limits {
            minutes: config.history.minutes as usize,
            cells: config.history.cells as usize,
            bytes: usize::try_from(config.history.memory.0).unwrap_or(usize::MAX),
            ..Limits::default()
        };
        let history = match &config.history.dir {
            Some(dir) => History::open(dir, limits)?,
            None => History::new(limits),
        };
        let pushing = Pushing::start(&config.push)?;
        let mut watch = Watch::start(&WatchOptions {
            rate,
            wanted: match config.mode {
                Mode::Split => Wanted::Split,
                Mode::Prof => Wanted::Both,
            },
            strays: config.strays,
            pins: config.pin.dir.clone(),
        })?;
        let (adopted, instance) = watch.instance();
        let period_ns = watch.period_ns();
        let room = Room::of(config.metrics.series as usize);
        let mut book = Book::new(room, config.metrics.cold);
        let mut figures = Figures::new(period_ns, watch.kernel_bytes());
        // From here on, CPU time is due.
        figures.busy_ns = crate::target::busy_ns();
        if let Some(state) = state {
            state.restore(&mut figures, instance);
            if adopted && state.instance == instance {
                watch.discard(state.half as u16)?;
            }
            if let Some(kept) = state.book {
                book.go_on_with(kept, BEGINNING);
            }
        }
        if let Err(error) = privileges::keep_needed() {
            log::warn!("cannot give up capabilities that are not needed: {error}");
        }
        let shared = Shared::new(book, figures, history, pushing);
        let control = EngineControl::new();
        let demand = Demand::start().map_err(DaemonError::Threads)?;
        let keeping = store.map(|store| Keeping::new(store, instance));
        const IN_HAND: usize = 1;
        let (turned, turns) = mpsc::channel(IN_HAND);
        let names = recorder::spawn(shared.clone(), keeping, period_ns, turns)
            .map_err(DaemonError::Threads)?;
        let engine = engine::spawn(watch, config.drain, control.clone(), turned)
            .map_err(DaemonError::Threads)?;
        let answers = Answers::new(config, shared.clone(), control.clone(), demand);
        Ok(Self {
            engine: Some(engine),
            names: Some(names),
            control,
            shared,
            answers: Arc::new(answers),
            adopted,
        })
    }

    /// What it does, in a line or two.
    pub fn greeting(&self) -> Vec<String> {
        let figures = &self.shared.counters().figures;
        let hertz = 1e9 / figures.period_ns as f64;
        let mib = figures.kernel_bytes as f64 / f64::from(1 << 20);
        let begun = if self.adopted {
            "going on with what an earlier daemon counted"
        } else {
            "counting"
        };
        vec![format!(
            "{begun}: all processes, {hertz:.0} Hz on each CPU at random intervals, kernel memory {mib:.1} MiB"
        )]
    }

    /// Gives up all capabilities of the thread that calls it, and of those that it starts from now on: those that
    /// count have their own.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn give_up_capabilities() -> io::Result<()> {
        privileges::keep_none()
    }

    /// What can be asked, for whoever is asked.
    pub fn answers(&self) -> Arc<Answers> {
        Arc::clone(&self.answers)
    }

    /// Takes over what of a new configuration can change while it runs. `before` is what holds now.
    ///
    /// # Errors
    ///
    /// If profiles cannot be pushed as it says: then they are pushed as before.
    pub fn reload(&self, before: &Config, config: &Config) -> Result<(), DaemonError> {
        if before.push != config.push {
            self.push_anew(&before.push, &config.push)?;
        }
        self.shared.counters().book.set_cold(config.metrics.cold);
        self.answers.reload(config);
        Ok(())
    }

    fn push_anew(&self, before: &Push, push: &Push) -> Result<(), DaemonError> {
        let period_ns = self.shared.counters().figures.period_ns;
        if before.spool.is_none() || before.spool != push.spool {
            let new = Pushing::start(push)?;
            let old = std::mem::replace(&mut *self.shared.pushing(), new);
            if let Some(old) = old {
                // It may have to wait for its receiver.
                std::thread::spawn(move || old.stop(period_ns));
            }
            return Ok(());
        }
        // A spool has one owner at a time. What ticks meanwhile is not pushed.
        let old = self.shared.pushing().take();
        if let Some(old) = old {
            old.stop(period_ns);
        }
        let new = Pushing::start(push);
        let (new, started) = match new {
            Ok(new) => (new, Ok(())),
            Err(error) => {
                let again = Pushing::start(before).unwrap_or_else(|error| {
                    log::warn!("nothing is pushed any more: {error}; try again");
                    None
                });
                (again, Err(error))
            }
        };
        *self.shared.pushing() = new;
        Ok(started?)
    }

    /// Has requests counted in the metrics.
    pub fn count_requests(&self, server: http::Handle) {
        self.answers.count_requests(server);
    }

    /// Completes when the daemon cannot go on.
    pub async fn ended(&self) {
        const LOOK: Duration = Duration::from_millis(500);
        let is_over = |thread: Option<bool>| thread.unwrap_or(true);
        while !is_over(self.engine.as_ref().map(JoinHandle::is_finished))
            && !is_over(self.names.as_ref().map(JoinHandle::is_finished))
        {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Reads the counters for the last time, keeps them, and ends. What is pinned ticks on.
    ///
    /// # Errors
    ///
    /// If it could not go on before that.
    pub fn stop(mut self) -> Result<(), DaemonError> {
        self.control.stop();
        let engine = self.engine.take().map(JoinHandle::join);
        let names = self.names.take().map(JoinHandle::join);
        match (engine, names) {
            (Some(Ok(done)), Some(Ok(()))) => Ok(done?),
            _ => Err(DaemonError::Ended),
        }
    }
}

/// Switches off what an earlier daemon left, and removes it and its state. Whether there was anything.
///
/// # Errors
///
/// If a daemon runs there, or something cannot be removed.
pub fn unpin(dir: &Path, state: &Path) -> Result<bool, DaemonError> {
    let store = if state.exists() {
        Some(Store::open_to_clear(state)?)
    } else {
        None
    };
    let pinned = remove_pins(dir)?;
    let kept = store.as_ref().map(Store::clear).transpose()?;
    Ok(pinned || kept.unwrap_or(false))
}
