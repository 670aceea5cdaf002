//! Lines for the log, each kind of them once a minute at most.

use std::{
    fmt,
    time::{Duration, Instant},
};

const SELDOM: Duration = Duration::from_secs(60);

/// What a line is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Topic {
    Refused,
    Later,
    Back,
    Disk,
    Dropped,
    Lost,
}

/// Whoever says it.
pub(super) struct Talk {
    say: Box<dyn Fn(&str) + Send>,
    topics: [Said; 6],
}

#[derive(Clone, Copy, Debug, Default)]
struct Said {
    last: Option<Instant>,
    /// Lines since then that were not said.
    kept: u64,
}

impl Talk {
    pub(super) fn new(say: Box<dyn Fn(&str) + Send>) -> Self {
        Self {
            say,
            topics: Default::default(),
        }
    }

    /// Says a line, or counts it if another was said within the last minute.
    pub(super) fn seldom(&mut self, topic: Topic, line: fmt::Arguments<'_>) {
        let said = &mut self.topics[topic as usize];
        if said.last.is_some_and(|last| last.elapsed() < SELDOM) {
            said.kept += 1;
            return;
        }
        said.last = Some(Instant::now());
        match std::mem::take(&mut said.kept) {
            0 => (self.say)(&line.to_string()),
            kept => (self.say)(&format!("{line} (and {kept} times before that)")),
        }
    }
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk")
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}
