//! From windows to what is pushed: added up over an interval, and handed to who sends.

use std::{
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    config::{Push, PushKind},
    http::{GROUP_OR_OTHERS, read_private},
    push::{Figures, Kind, PushConfig, PushError, Pushed, Pusher, Secret, SpoolConfig},
    row::{Row, Window, merge},
};
use crate::pprof::write_rows;

/// Why nothing is pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushingError {
    /// The token cannot be had.
    #[error("cannot take the token of push.token_file: {0}")]
    Token(String),
    /// What is asked for cannot be.
    #[error("cannot push profiles")]
    Push(#[from] PushError),
}

impl From<PushingError> for io::Error {
    fn from(error: PushingError) -> Self {
        Self::other(error)
    }
}

/// What has ticked since the last push, and who sends the next one.
#[derive(Debug)]
pub(crate) struct Pushing {
    pusher: Pusher,
    kind: Kind,
    interval: Duration,
    began: Option<SystemTime>,
    elapsed: Duration,
    rows: Vec<Row>,
}

impl Pushing {
    /// Starts it, if anything is to be pushed.
    pub(crate) fn start(config: &Push) -> Result<Option<Self>, PushingError> {
        let Some(url) = &config.url else {
            return Ok(None);
        };
        let token = match &config.token_file {
            None => None,
            Some(file) => {
                let token = read_private(file, GROUP_OR_OTHERS).map_err(PushingError::Token)?;
                Some(Secret::new(&String::from_utf8_lossy(&token)))
            }
        };
        let kind = match config.kind {
            PushKind::Pyroscope => Kind::Pyroscope,
            PushKind::Pprof => Kind::Pprof,
            PushKind::Otlp => Kind::Otlp,
        };
        let labels = config.labels.iter();
        let pusher = Pusher::start(
            PushConfig {
                interval: config.interval,
                token,
                ca_file: config.ca_file.clone(),
                spool: config.spool.clone().map(|directory| SpoolConfig {
                    directory,
                    most_bytes: config.spool_bytes.0,
                }),
                labels: labels
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
                ..PushConfig::new(url, kind)
            },
            |line| log::warn!("{line}"),
        )?;
        Ok(Some(Self {
            pusher,
            kind,
            interval: config.interval,
            began: None,
            elapsed: Duration::ZERO,
            rows: Vec::new(),
        }))
    }

    /// Takes in what has ticked, and pushes it when the interval is over.
    pub(crate) fn enter(&mut self, window: &Window) {
        self.began.get_or_insert(window.began);
        self.elapsed += window.elapsed;
        self.rows.extend(window.rows.iter().cloned());
        merge(&mut self.rows);
        if self.elapsed >= self.interval {
            self.push(window.period_ns);
        }
    }

    fn push(&mut self, period_ns: u64) {
        let Some(began) = self.began.take() else {
            return;
        };
        let elapsed = std::mem::take(&mut self.elapsed);
        let rows = std::mem::take(&mut self.rows);
        let (pprof, rows) = if self.kind.wants_rows() {
            (Vec::new(), rows)
        } else {
            (write_rows(&rows, period_ns, began, elapsed), Vec::new())
        };
        self.pusher.offer(Pushed {
            began,
            until: began + elapsed,
            sample_rate_hz: 1e9 / period_ns as f64,
            pprof,
            rows: Arc::new(rows),
            period_ns,
        });
    }

    /// Pushes what there is, tries to send it, and leaves what cannot be sent for the next daemon.
    pub(crate) fn stop(mut self, period_ns: u64) {
        self.push(period_ns);
        self.pusher.stop();
    }

    pub(crate) fn figures(&self) -> Figures {
        self.pusher.figures()
    }
}
