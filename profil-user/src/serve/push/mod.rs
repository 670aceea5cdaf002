//! Profiles of the machine, sent to a receiver every few seconds.
//!
//! A thread of its own sends. What is offered goes into the spool, a directory of files, and from there to
//! the receiver, the oldest first; a file is removed when the receiver has it. So an end of any kind loses
//! nothing that was offered, and what a receiver took while we did not hear of it is sent once more: at
//! least once, in order. What a receiver cannot take now is tried again, after waits that double; what it
//! will not take is gone, and counted. Why it is so: `docs/decisions/0020-push.md`.
//!
//! **Pyroscope** is sent `POST /ingest?name=APPLICATION{NAME=VALUE,…}&from=…&until=…&format=pprof&…` with
//! the profile as the body, which is how its documentation ingests pprof that needs no settings of sample
//! types ("The `pprof` format", <https://grafana.com/docs/pyroscope/latest/reference-server-api/>). A form
//! would be wrong there: with `format=pprof`, servers take the whole body as the profile. Times are
//! nanoseconds since 1970, as its own Go client sends them.
//!
//! **pprof** is the same body, `POST`ed to any URL as `application/octet-stream`, what `net/http/pprof`
//! calls it; it is gzip by itself, and so has no `Content-Encoding`. The query has `name`, `from`, `until`
//! (nanoseconds since 1970), `sampleRate` (a second) and the labels.
//!
//! **OTLP**: see `otlp`, behind the feature of that name.

mod address;
mod backoff;
mod config;
mod error;
mod figures;
mod inbox;
mod keeper;
mod labels;
mod line;
#[cfg(feature = "otlp")]
mod otlp;
mod parcel;
mod send;
mod spool;
mod talk;
#[cfg(test)]
mod tests;
mod worker;

use std::{
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

pub use config::{Kind, PushConfig, Secret, SpoolConfig};
pub use error::PushError;
pub use figures::Figures;

use self::{
    backoff::Backoff,
    figures::Tally,
    inbox::Inbox,
    keeper::Keeper,
    line::Line,
    parcel::{Content, Parcel},
    send::Sender,
    spool::Spool,
    talk::Talk,
    worker::Worker,
};
use super::{Row, privileges};

/// The last try has so long.
const LAST_TRY: Duration = Duration::from_secs(2);

/// A daemon that is about to end has so long to leave the spool.
const PATIENCE: Duration = Duration::from_secs(3);

/// A profile of a span of time.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// When it began.
    pub began: SystemTime,
    /// When it ended.
    pub until: SystemTime,
    /// Ticks a second of CPU time.
    pub sample_rate_hz: f64,
    /// It as `profile.proto`, compressed by gzip; empty where [`Kind::wants_rows`].
    pub pprof: Vec<u8>,
    /// It as rows; empty unless [`Kind::wants_rows`].
    pub rows: Arc<Vec<Row>>,
    /// CPU time that a tick is worth, in nanoseconds.
    pub period_ns: u64,
}

impl Pushed {
    fn into_parcel(self) -> Result<Parcel, &'static str> {
        if self.pprof.is_empty() {
            return Err("it has no pprof");
        }
        Ok(Parcel {
            content: Content::Pprof,
            began_ns: nanoseconds(self.began),
            until_ns: nanoseconds(self.until),
            sample_rate_hz: self.sample_rate_hz,
            body: self.pprof,
        })
    }
}

/// Since 1970.
fn nanoseconds(time: SystemTime) -> u64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Whoever sends profiles to a receiver.
#[derive(Debug)]
pub struct Pusher {
    inbox: Arc<Inbox>,
    keeper: Arc<Keeper>,
    is_stopped: bool,
}

impl Pusher {
    /// Starts to send, first what an earlier daemon left in the spool. `say` gets lines for the log: what
    /// goes wrong, once a minute at most, fit for a terminal, and never with the token.
    ///
    /// # Errors
    ///
    /// If something that was asked for cannot be, whether the receiver is there or not.
    pub fn start(
        config: PushConfig,
        say: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, PushError> {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        Self::start_with(config, backoff, Box::new(say))
    }

    fn start_with(
        config: PushConfig,
        backoff: Backoff,
        say: Box<dyn Fn(&str) + Send>,
    ) -> Result<Self, PushError> {
        let sender = Sender::new(&config)?;
        let line = match &config.spool {
            Some(asked) => {
                let (spool, stored, foreign) = Spool::open(&asked.directory, PATIENCE)?;
                Line::in_spool(spool, stored, foreign, asked.most_bytes)
            }
            None => Line::in_memory(),
        };
        let inbox = Arc::new(Inbox::default());
        let keeper = Arc::new(Keeper::new(config, line));
        let worker = Worker {
            keeper: Arc::clone(&keeper),
            sender,
            inbox: Arc::clone(&inbox),
            backoff,
            talk: Talk::new(say),
            tally: Tally::default(),
            not_before: None,
        };
        let thread = thread::Builder::new().name("push".to_owned());
        thread
            .spawn(move || {
                // It reads what strangers answer.
                if let Err(error) = privileges::keep_none() {
                    log::warn!("the thread that pushes cannot give up capabilities: {error}");
                }
                worker.run();
            })
            .map_err(PushError::Thread)?;
        Ok(Self {
            inbox,
            keeper,
            is_stopped: false,
        })
    }

    /// Lays down a profile to be sent, without waiting for anything. Where many lie there already, the
    /// oldest goes, and is counted as dropped.
    pub fn offer(&self, pushed: Pushed) {
        self.inbox.offer(pushed);
    }

    /// What became of the profiles so far.
    pub fn figures(&self) -> Figures {
        self.inbox.figures()
    }

    /// Tries to send what waits within 2 s, and leaves the rest in the spool for the next daemon. A drop
    /// does the same.
    pub fn stop(mut self) -> Figures {
        self.end();
        self.figures()
    }

    fn end(&mut self) {
        if !self.is_stopped {
            self.is_stopped = true;
            if !self.inbox.stop(LAST_TRY, Duration::from_millis(200)) {
                // It waits for an answer, with that profile in the spool. So is what came since then.
                for pushed in self.inbox.take(None).0 {
                    // Nobody is left to say it to.
                    let _ = self.keeper.keep(pushed);
                }
                self.keeper.line().settle();
                self.inbox.amend(|tally| self.keeper.enter(tally));
            }
        }
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        self.end();
    }
}
