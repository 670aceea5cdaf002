//! What is going on, where it takes longer than a person likes to wait without a word: a line on the
//! terminal that goes away by itself.
//!
//! It is on standard error, only if that is a terminal and can move its cursor, and has no colours,
//! whatever NO_COLOR says. Its thread does nothing but wait and draw.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use profil_user::{Headway, symbolize::Symbolizer};

/// Nobody wants to hear of what takes less.
const DELAY: Duration = Duration::from_secs(1);

/// How often the line is drawn anew.
const REDRAW: Duration = Duration::from_millis(100);

/// The line, from now on; dropped, it is wiped.
pub(crate) struct Progress {
    /// Says the end, when it goes.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is said of something: what it is, and how far it has come in what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    what: String,
    headway: Headway,
    units: &'static str,
}

impl Doing {
    /// Something of which nobody knows how much there is.
    pub(crate) fn just(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ..Self::default()
        }
    }

    /// Something that has so many steps, in `units`, as `headway` tells.
    pub(crate) fn counted(what: &str, headway: &Headway, units: &'static str) -> Self {
        Self {
            what: what.to_owned(),
            headway: headway.clone(),
            units,
        }
    }

    fn words(&self) -> String {
        match self.headway.seen() {
            (_, 0) => format!("{} …", self.what),
            (done, whole) => format!("{}: {done} of {whole} {}", self.what, self.units),
        }
    }
}

impl Progress {
    /// Shows what is done, until it is dropped.
    pub(crate) fn of(doing: Doing) -> Self {
        Self::on(ProgressDrawTarget::stderr(), DELAY, doing)
    }

    fn on(target: ProgressDrawTarget, delay: Duration, doing: Doing) -> Self {
        if target.is_hidden() {
            return Self {
                end: None,
                thread: None,
            };
        }
        let (end, ended) = mpsc::channel();
        Self {
            end: Some(end),
            // Without a thread to spare there is no progress to be seen.
            thread: thread::Builder::new()
                .spawn(move || show(target, delay, &doing, &ended))
                .ok(),
        }
    }
}

/// Has names looked up, and shows how far that has come.
pub(crate) fn naming(symbolizer: Symbolizer, look_up: impl FnOnce(&mut Symbolizer)) -> Symbolizer {
    let headway = Headway::default();
    let _progress = Progress::of(Doing::counted("looking up names", &headway, "objects"));
    let mut symbolizer = symbolizer.telling(&headway);
    look_up(&mut symbolizer);
    symbolizer
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end = None;
        // What is written next comes after the line is wiped.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn show(target: ProgressDrawTarget, delay: Duration, doing: &Doing, ended: &Receiver<()>) {
    let lasts = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !lasts(delay) {
        return;
    }
    // It is cut where the terminal ends. A template of ours is always one.
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let line = ProgressBar::with_draw_target(None, target);
    line.set_style(style.tick_chars("|/-\\ "));
    loop {
        line.set_message(doing.words());
        line.tick();
        if !lasts(REDRAW) {
            break;
        }
    }
    line.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
        thread,
        time::{Duration, Instant},
    };

    use indicatif::{ProgressDrawTarget, TermLike};
    use profil_user::Headway;

    use super::{DELAY, Doing, Progress};

    /// A terminal that remembers what was done to it.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl Paper {
        fn note(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("nobody panics").push_str(text);
            Ok(())
        }

        fn text(&self) -> String {
            self.0.lock().expect("nobody panics").clone()
        }

        fn target(&self) -> ProgressDrawTarget {
            ProgressDrawTarget::term_like(Box::new(self.clone()))
        }
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            40
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, line: &str) -> io::Result<()> {
            self.note(&format!("{line}\n"))
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.note(text)
        }

        fn clear_line(&self) -> io::Result<()> {
            self.note("<wiped>")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn before_the_delay_nothing_is_shown_and_the_end_is_not_waited_for() {
        // So long that no load of the machine makes it pass.
        let delay = 60 * DELAY;
        let paper = Paper::default();
        let start = Instant::now();
        let progress = Progress::on(paper.target(), delay, Doing::just("waiting"));
        thread::sleep(Duration::from_millis(300));
        assert_eq!(paper.text(), "");
        drop(progress);
        assert_eq!(paper.text(), "");
        assert!(start.elapsed() < delay, "the end was waited for");
    }

    #[test]
    fn what_lasts_is_shown_as_it_comes_along_and_wiped() {
        let paper = Paper::default();
        let headway = Headway::default();
        let doing = Doing::counted("attaching", &headway, "threads");
        let progress = Progress::on(paper.target(), Duration::ZERO, doing);
        let until = |text: &str| {
            let start = Instant::now();
            while !paper.text().contains(text) {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{}",
                    paper.text()
                );
                thread::sleep(Duration::from_millis(5));
            }
        };
        until("| attaching …");
        headway.begin(3);
        headway.step();
        until("attaching: 1 of 3 threads");
        drop(progress);
        let text = paper.text();
        let (_, last) = text.rsplit_once("<wiped>").expect("wiped");
        assert_eq!(last.trim(), "", "{text}");
    }

    #[test]
    fn long_words_are_cut_where_the_terminal_ends() {
        let paper = Paper::default();
        let progress = Progress::on(paper.target(), Duration::ZERO, Doing::just("x".repeat(99)));
        while paper.text().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        drop(progress);
        let text = paper.text();
        assert!(text.contains(&"x".repeat(30)), "{text}");
        assert!(!text.contains(&"x".repeat(41)), "{text}");
    }
}
