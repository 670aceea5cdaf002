//! Live progress on a terminal: a few lines on standard error, refreshed in place.
//!
//! A thread of its own looks up names, so that a large symbol table never delays the drain.

use std::{
    io::{self, Write as _},
    thread::{self, JoinHandle},
};

use profil_user::{
    Profile, Snapshot, Taken,
    export::text::{function_name, shorten},
    symbolize::{Function, Grouping, Symbolizer, View},
};
use tokio::sync::watch;

use crate::args::Names;

/// Functions shown.
const TOP: usize = 5;

/// Columns before a function's name: blanks, share, blanks.
const NAME_COLUMN: usize = 2 + 7 + 2;

/// The view; it ends when the session's snapshots end.
pub(crate) struct LiveView {
    thread: JoinHandle<()>,
}

impl LiveView {
    /// Shows every snapshot until there are no more.
    pub(crate) fn start(snapshots: watch::Receiver<Snapshot>, names: &Names, view: &View) -> Self {
        let names = names.clone();
        // Lines take long, and here is no room for them.
        let view = View {
            grouping: Grouping::Function,
            sieve: view.sieve.clone(),
        };
        Self {
            thread: thread::spawn(move || show_all(snapshots, &names, &view)),
        }
    }

    /// Waits until the last picture is wiped.
    pub(crate) fn end(self) {
        // A panic in the view is no reason to lose the profile.
        let _ = self.thread.join();
    }
}

fn show_all(mut snapshots: watch::Receiver<Snapshot>, names: &Names, view: &View) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return;
    };
    let mut screen = Screen::default();
    let mut symbolizer = Symbolizer::with_debug_dirs(names.debug_dirs.clone());
    let welcome = "profiling; Ctrl-C ends it and prints the profile";
    screen.show(&[shorten(welcome, columns())]);
    while runtime.block_on(snapshots.changed()).is_ok() {
        let Some(taken) = snapshots.borrow_and_update().clone() else {
            continue;
        };
        symbolizer.look_up(&taken);
        let lines = picture(&taken, &view.summed(&taken, &symbolizer), columns());
        screen.show(&lines);
    }
    screen.show(&[]);
}

/// Columns of the terminal.
fn columns() -> usize {
    const DEFAULT: usize = 80;
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    size.map(|size| usize::from(size.ws_col))
        .filter(|&width| width > 0)
        .unwrap_or(DEFAULT)
}

fn picture(taken: &Taken, functions: &[Function], columns: usize) -> Vec<String> {
    let profile: &Profile = &taken.profile;
    let wall = profile.elapsed.as_secs_f64();
    let cpu = profile.balance.due_ns as f64 / 1e9;
    let mut lines = vec![shorten(
        &format!(
            "{wall:.0} s  {} ticks  target CPU {:.1} %  {}Ctrl-C ends it",
            profile.balance.seen(),
            100.0 * cpu / wall.max(f64::EPSILON),
            if taken.paused {
                "paused; SIGUSR2 goes on; "
            } else {
                ""
            },
        ),
        columns,
    )];
    let total = profile.ticks().max(1);
    for function in functions.iter().take(TOP) {
        let share = 100.0 * function.ticks() as f64 / total as f64;
        let name = function_name(function, profile.object(function.object));
        let name = shorten(&name, columns.saturating_sub(NAME_COLUMN).max(1));
        lines.push(format!("  {share:>5.1} %  {name}"));
    }
    lines
}

/// Lines that are written over the ones before.
#[derive(Default)]
struct Screen {
    lines: usize,
}

impl Screen {
    fn show(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.lines > 0 {
            // Up to the first line of the last picture, and everything from there wiped
            // (ECMA-48: cursor preceding line, erase in page).
            text += &format!("\x1b[{}F\x1b[J", self.lines);
        }
        for line in lines {
            text += line;
            text.push('\n');
        }
        self.lines = lines.len();
        // A terminal that has gone is no reason to stop.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
