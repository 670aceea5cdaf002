//! A file of record, saved while the run goes on.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::SyncSender,
    },
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{anyhow, bail};
use profil_user::{
    Taken,
    export::{Destination, Output},
    symbolize::View,
};
use tokio::sync::watch;

use super::view::Event;
use crate::{args::Names, named::Named, talk};

/// A file that is open and waits for its profile.
pub(crate) struct Open {
    output: Output,
    path: PathBuf,
}

impl Open {
    /// Opens it, so that a bad name is told at once.
    pub(crate) fn file(path: &Path) -> anyhow::Result<Self> {
        let destination = match Destination::parse(path, None) {
            Ok(destination @ Destination::File(..)) if destination.keeps_names() => destination,
            _ => bail!(
                "not saved to {}: a file of record is called *.pb.gz or *.pb; profil-bpf report \
                 makes other formats of it",
                path.display()
            ),
        };
        Ok(Self {
            output: Output::open(destination)?,
            path: path.to_owned(),
        })
    }

    /// Looks up all that such a file keeps, and writes it; what to say of that.
    pub(crate) fn write(self, taken: &Taken, names: &Names) -> anyhow::Result<String> {
        let mut symbolizer = names.recorder();
        symbolizer.look_up(taken);
        let named = Named::of(taken, &symbolizer, &View::default());
        self.output.write(&named.content(&taken.profile, false))?;
        let ticks = taken.profile.ticks();
        Ok(format!("saved {ticks} ticks as {}", self.path.display()))
    }
}

/// How many files are asked for and not written yet, and whether one could not be.
#[derive(Clone)]
pub(crate) struct Saved {
    under_way: watch::Sender<usize>,
    failure: Arc<AtomicBool>,
}

impl Saved {
    pub(crate) fn new() -> Self {
        Self {
            under_way: watch::Sender::new(0),
            failure: Arc::default(),
        }
    }

    /// One is asked for.
    pub(crate) fn asked(&self) {
        self.under_way.send_modify(|files| *files += 1);
    }

    /// One is written by `write`. If that falls, it could not be: nobody waits for it any longer.
    pub(crate) fn by(
        &self,
        events: &SyncSender<Event>,
        write: impl FnOnce() -> anyhow::Result<String>,
    ) {
        let written = catch_unwind(AssertUnwindSafe(write));
        let fallen = |_| Err(anyhow!("the profile is not saved: see above"));
        self.done(events, written.unwrap_or_else(fallen));
    }

    /// One is written, or could not be. It is said in the view, or where that has ended, on standard
    /// error.
    pub(crate) fn done(&self, events: &SyncSender<Event>, result: anyhow::Result<String>) {
        let (text, is_error) = match &result {
            Ok(text) => (text.clone(), false),
            Err(error) => (format!("{error:#}"), true),
        };
        if events.send(Event::Say(text, is_error)).is_err() {
            match &result {
                Ok(text) => talk::note(text),
                Err(error) => {
                    self.failure.store(true, Ordering::Release);
                    talk::error(error);
                }
            }
        }
        self.under_way
            .send_modify(|files| *files = files.saturating_sub(1));
    }

    pub(crate) fn failed(&self, events: &SyncSender<Event>, error: anyhow::Error) {
        self.done(events, Err(error));
    }

    /// Whether some are not written yet.
    pub(crate) fn is_under_way(&self) -> bool {
        *self.under_way.borrow() > 0
    }

    /// Completes when all are written.
    pub(crate) async fn all(&self) {
        // We hold the other end ourselves.
        let _ = self
            .under_way
            .subscribe()
            .wait_for(|&files| files == 0)
            .await;
    }

    /// Whether one could not be written, and nobody saw that in the view.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.load(Ordering::Acquire)
    }
}

/// Now, in UTC, as names of files have it (ISO 8601, basic format).
pub(crate) fn time_for_names() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    utc(since.map_or(0, |since| since.as_secs()))
}

/// Seconds since 1970 as a date and a time.
fn utc(seconds: u64) -> String {
    const DAY: u64 = 24 * 60 * 60;

    let (mut days, second) = (seconds / DAY, seconds % DAY);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{year:04}{month:02}{:02}T{hour:02}{minute:02}{second:02}Z",
        days + 1
    )
}

#[cfg(test)]
mod tests {
    use std::{panic::resume_unwind, path::Path, sync::mpsc};

    use super::{Event, Open, Saved, utc};

    #[test]
    fn a_file_whose_writer_falls_is_not_waited_for() {
        let (events, said) = mpsc::sync_channel(1);
        let saved = Saved::new();
        saved.asked();
        // As a symbol table might make it, but unheard: the hook for panics is the terminal's.
        saved.by(&events, || resume_unwind(Box::new("as planned")));
        assert!(!saved.is_under_way());
        assert!(matches!(said.recv(), Ok(Event::Say(_, true))));
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_078_012_799, "20040228T235959Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_709_251_200, "20240301T000000Z"),
            (4_107_542_400, "21000301T000000Z"),
            (1_798_761_599, "20261231T235959Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn a_name_that_is_none_of_a_file_of_record_is_refused() {
        let refusal = |name: &str| match Open::file(Path::new(name)) {
            Ok(_) => panic!("{name} is open"),
            Err(error) => format!("{error:#}"),
        };
        for name in ["-", "a.txt", "gmon.out", "dir/", "a", "/dev/null"] {
            assert!(refusal(name).contains("*.pb.gz"), "{}", refusal(name));
        }
        let nowhere = refusal("/nonexistent/a.pb.gz");
        assert!(nowhere.contains("cannot write to"), "{nowhere}");
    }
}
