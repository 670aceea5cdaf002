//! From what is offered to what waits.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    PushConfig, Pushed,
    figures::Tally,
    line::Line,
    parcel::{MOST_BODY, Parcel},
};

/// The line, and how a profile is packed for it. The thread that sends has it, and whoever ends that thread
/// while it waits for an answer.
#[derive(Debug)]
pub(super) struct Keeper {
    config: PushConfig,
    line: Mutex<Line>,
}

/// What went wrong with a profile.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is gone.
    Unfit(&'static str),
    /// It waits in memory.
    Unwritten(io::Error),
}

impl Keeper {
    pub(super) const fn new(config: PushConfig, line: Line) -> Self {
        Self {
            config,
            line: Mutex::new(line),
        }
    }

    /// What was asked for.
    pub(super) const fn config(&self) -> &PushConfig {
        &self.config
    }

    /// The line, for a moment: never while an answer is waited for.
    pub(super) fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters what the line knows.
    pub(super) fn enter(&self, tally: &mut Tally) {
        let line = self.line();
        line.enter(&mut tally.figures);
        tally.oldest = line.oldest();
    }

    /// Adds a profile as the last one.
    pub(super) fn keep(&self, pushed: Pushed) -> Result<(), Trouble> {
        let packed = self.pack(pushed).and_then(|parcel| {
            let fits = parcel.body.len() <= MOST_BODY;
            fits.then_some(parcel).ok_or("it is larger than 32 MiB")
        });
        match packed {
            Ok(parcel) => self.line().add(parcel).map_err(Trouble::Unwritten),
            Err(why) => {
                self.line().drop_one();
                Err(Trouble::Unfit(why))
            }
        }
    }

    #[cfg(feature = "otlp")]
    fn pack(&self, pushed: Pushed) -> Result<Parcel, &'static str> {
        if self.config.kind.wants_rows() {
            return super::otlp::parcel(&self.config.application, &self.config.labels, &pushed);
        }
        pushed.into_parcel()
    }

    #[cfg(not(feature = "otlp"))]
    #[expect(
        clippy::unused_self,
        reason = "OTLP says the application with each profile"
    )]
    fn pack(&self, pushed: Pushed) -> Result<Parcel, &'static str> {
        pushed.into_parcel()
    }
}
