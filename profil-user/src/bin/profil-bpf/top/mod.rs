//! The live view, over all of a terminal: `profil-bpf top`.
//!
//! ```text
//! session ─► snapshots ─► feed (names) ─► model ─► rows ─► draw ─► guard ─► terminal
//!                                            keys ─► state ──┘
//! ```
//!
//! The session has the main thread and its event loop; names are looked up on a second thread; a third
//! draws and obeys; a fourth waits for keys.

mod draw;
mod feed;
mod gains;
mod guard;
mod ink;
mod keys;
mod listing;
mod model;
mod place;
mod plain;
mod rows;
mod save;
mod state;
mod table;
mod view;

use std::{
    env,
    future::pending,
    io::{self, IsTerminal as _, Write as _},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, SyncSender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, bail};
use profil_user::{
    Options, Session, Subject, Taken,
    export::{printable, text},
};
use tokio::{
    runtime::Runtime,
    sync::{mpsc::UnboundedSender, oneshot},
};

use crate::{
    args::Names,
    run::attach,
    signals::{JobSignal, Jobs, Signals, Switches},
    talk,
};
use draw::Title;
use feed::{Feed, Request};
use guard::Guard;
use ink::Ink;
use save::Saved;
use state::State;
use view::{Event, Wishes};

/// Updates that may wait to be drawn; beyond, those who make them wait.
const WAITING: usize = 64;

/// How to show it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) options: Options,
    pub(crate) duration: Option<Duration>,
    pub(crate) names: Names,
}

/// Shows a session until a key, a signal or the time ends it. Whether all that was asked for was done.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<bool> {
    require_terminal()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let (mut signals, mut switches) = runtime
        .block_on(async { io::Result::Ok((Signals::listen()?, Switches::listen()?)) })
        .context("cannot listen for signals")?;
    let jobs = runtime
        .block_on(async { Jobs::listen() })
        .context("cannot listen for signals")?;
    let session = attach(&plan.options)?;
    let control = session.control();
    let (shown, mut closed) = Shown::start(&session, &plan.names)?;
    runtime.spawn(lend_the_terminal(jobs, shown.events.clone()));
    let saved = shown.saved.clone();
    let mut stopped = false;
    let result = runtime.block_on(async {
        let mut time_is_up = pin!(async {
            match plan.duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => pending().await,
            }
        });
        let stop = async {
            tokio::select! {
                () = signals.stop(false) => {}
                () = switches.obey(&control) => {}
                () = &mut time_is_up => {}
                _ = &mut closed => {}
            }
            stopped = true;
        };
        let taken = Arc::new(session.run(stop).await?);
        shown.finish(&taken);
        if !stopped {
            // The last picture stays until somebody has seen it.
            shown.tell(Event::Ended(
                "the target has ended; q ends this, s saves".to_owned(),
            ));
            tokio::select! {
                () = signals.next() => {}
                () = &mut time_is_up => {}
                _ = &mut closed => {}
            }
        }
        anyhow::Ok(taken)
    });
    let drawn_to_the_end = shown.end();
    await_saves(&runtime, &saved, &mut signals);
    let taken = result?;
    if !drawn_to_the_end {
        bail!(
            "the live view has failed, which is a fault of ours: please report what stands above; \
             profil-bpf --all -d 10s prints a profile without it"
        );
    }
    let mut out = io::stdout().lock();
    // A terminal that has gone is no reason to fail.
    let _ = writeln!(out, "{}", text::balance(&taken.profile.balance));
    Ok(!saved.has_failed())
}

/// Gives the terminal back for as long as the program is stopped, and takes it again, for ever.
async fn lend_the_terminal(mut jobs: Jobs, events: SyncSender<Event>) {
    loop {
        let signal = jobs.next().await;
        let result = match signal {
            JobSignal::Stop => guard::lend(|| signal.obey()),
            JobSignal::GoOn => guard::take_again(),
            JobSignal::Quit => {
                guard::give_back();
                signal.obey();
                Ok(())
            }
        };
        let event = match result {
            Ok(()) => Event::Redraw,
            // It has gone.
            Err(_) => Event::NoKeys,
        };
        // Whoever draws may wait for the terminal, and signals do not wait for that.
        let events = events.clone();
        thread::spawn(move || events.send(event));
    }
}

/// A view needs a terminal to draw on and one to read keys from.
fn require_terminal() -> anyhow::Result<()> {
    let missing = match (io::stdin().is_terminal(), io::stdout().is_terminal()) {
        (true, true) => return Ok(()),
        (true, false) => "standard output is",
        (false, true) => "standard input is",
        (false, false) => "standard input and output are",
    };
    bail!(
        "top draws on a terminal, and {missing} none; without one, profil-bpf --all -d 10s prints a \
         profile"
    )
}

/// Waits for files that are asked for; a signal ends the wait.
fn await_saves(runtime: &Runtime, saved: &Saved, signals: &mut Signals) {
    if !saved.is_under_way() {
        return;
    }
    talk::note("a profile is still being written; Ctrl-C abandons it");
    runtime.block_on(async {
        tokio::select! {
            () = saved.all() => {}
            () = signals.next() => talk::note("abandoned"),
        }
    });
}

/// The view and those that work for it.
struct Shown {
    events: SyncSender<Event>,
    requests: UnboundedSender<Request>,
    view: JoinHandle<()>,
    /// Whether the thread that looks up names has panicked.
    fallen: Arc<AtomicBool>,
    saved: Saved,
}

impl Shown {
    /// Takes the terminal, and starts. The receiver completes when the view has ended, whatever the
    /// reason.
    fn start(session: &Session, names: &Names) -> anyhow::Result<(Self, oneshot::Receiver<()>)> {
        let (events, to_view) = mpsc::sync_channel(WAITING);
        let (requests, to_feed) = tokio::sync::mpsc::unbounded_channel();
        let (closing, closed) = oneshot::channel();
        let saved = Saved::new();
        let wishes = Wishes {
            requests: requests.clone(),
            control: session.control(),
            saved: saved.clone(),
        };
        let subject = session.subject();
        let title = Title {
            subject: printable(&subject.to_string()).into_owned(),
        };
        let state = State::new(name_for_files(subject));
        let ink = Ink {
            colours: env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        let snapshots = session.snapshots();
        let guard = Guard::take(io::stdin(), io::stdout()).context("cannot take the terminal")?;
        let (of_feed, names) = (
            (session.control(), events.clone(), saved.clone()),
            names.clone(),
        );
        let fallen = Arc::new(AtomicBool::new(false));
        let fallen_too = Arc::clone(&fallen);
        thread::spawn(move || {
            let (control, events, saved) = of_feed;
            // Also if it falls: then there is nothing more to show.
            let _end = EndsView {
                events: events.clone(),
                fallen: fallen_too,
            };
            let feed = Feed::new(names, control, events, saved);
            feed.run(snapshots, to_feed);
        });
        view::listen_in_background(events.clone());
        let view = thread::spawn(move || {
            let _closing = closing;
            view::run(guard, &to_view, title, state, ink, wishes);
        });
        let shown = Self {
            events,
            requests,
            view,
            fallen,
            saved,
        };
        Ok((shown, closed))
    }

    fn tell(&self, event: Event) {
        let events = self.events.clone();
        // The view may wait for the terminal, and signals do not wait for the view.
        thread::spawn(move || events.send(event));
    }

    /// Hands on the last and exact state.
    fn finish(&self, taken: &Arc<Taken>) {
        let _ = self.requests.send(Request::Final(Arc::clone(taken)));
    }

    /// Gives the terminal back and ends the view. Whether nothing of it had fallen.
    fn end(self) -> bool {
        // Before anything that could wait for the view: it may wait for the terminal, and is told so by
        // this.
        guard::give_back();
        let _ = self.events.try_send(Event::End);
        self.view.join().is_ok() && !self.fallen.load(Ordering::Acquire)
    }
}

/// Ends the view when it is dropped, and tells whether that is by a panic.
struct EndsView {
    events: SyncSender<Event>,
    fallen: Arc<AtomicBool>,
}

impl Drop for EndsView {
    fn drop(&mut self) {
        self.fallen.store(thread::panicking(), Ordering::Release);
        let _ = self.events.send(Event::End);
    }
}

/// What a file is called after.
fn name_for_files(subject: &Subject) -> String {
    match subject {
        Subject::Processes(processes) => match &processes[..] {
            [(tgid, _)] => tgid.to_string(),
            _ => "pids".to_owned(),
        },
        Subject::Thread(id, _) | Subject::Command(id, _) => id.to_string(),
        Subject::Cgroup(_) => "cgroup".to_owned(),
        Subject::Matching(_) => "matching".to_owned(),
        Subject::Everything => "all".to_owned(),
    }
}
