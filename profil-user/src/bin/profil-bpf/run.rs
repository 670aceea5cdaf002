//! The main job: open the outputs, attach, run until told to stop, write everything.

use std::{
    future::pending,
    io::{self, IsTerminal as _, Write as _},
    os::fd::AsFd,
    thread,
    time::Duration,
};

use anyhow::Context as _;
use profil_user::{
    Headway, Options, Session, StartError, Taken, Target,
    export::{Content, Output, Style, text},
    launch::{Launched, exit_code},
    symbolize::{Symbolizer, View},
};
use tokio::{runtime::Runtime, sync::oneshot};

use crate::{
    args::{Names, Plan, Whom},
    live::LiveView,
    named::Named,
    outline,
    progress::{Doing, Progress},
    signals::{Signals, Switches},
    talk,
};

/// Functions listed on a terminal; a pipe or a file gets all.
const ROWS_ON_TERMINAL: usize = 40;

/// Returns the status to exit with: a command's own, or none.
pub(crate) fn run(plan: Plan) -> anyhow::Result<Option<u8>> {
    let (names, shown) = (plan.names.clone(), plan.shown.clone());
    let Run {
        runtime,
        mut signals,
        outputs,
        taken,
        command,
    } = Run::take(plan)?;
    let keeps_names = outputs.iter().any(Output::keeps_names);
    let view = (&names, &shown.view);
    let named = name(&runtime, &taken, &mut signals, (view, keeps_names));
    let to = Stream::of(command.as_ref());
    if let Some(text) = named.shortcoming(&taken) {
        talk::note(&text);
    }
    let content = named.content(&taken.profile, shown.errors);
    write_all(outputs, &content, (to, shown.style), signals)?;
    status_of(command)
}

/// Takes a profile and writes nothing: also where what is made of it goes, and the status to exit with.
pub(crate) fn only_take(plan: Plan) -> anyhow::Result<(Taken, Stream, Option<u8>)> {
    let Run {
        signals,
        taken,
        command,
        ..
    } = Run::take(plan)?;
    // What is left can be seen: whoever does not want it can stop it.
    signals.stop_listening();
    let to = Stream::of(command.as_ref());
    Ok((taken, to, status_of(command)?))
}

/// A command's own status.
fn status_of(command: Option<Launched>) -> anyhow::Result<Option<u8>> {
    match command {
        None => Ok(None),
        Some(mut command) => Ok(command.try_wait()?.map(exit_code)),
    }
}

/// Attaches, and shows how far that has come if it takes long.
pub(crate) fn attach(options: &Options) -> Result<Session, StartError> {
    let headway = Headway::default();
    let _progress = Progress::of(Doing::counted("attaching", &headway, "threads"));
    Session::attach_with(options, &headway)
}

/// A run that is over.
struct Run {
    runtime: Runtime,
    signals: Signals,
    outputs: Vec<Output>,
    taken: Taken,
    command: Option<Launched>,
}

impl Run {
    /// Opens the outputs, attaches, and runs until told to stop.
    fn take(mut plan: Plan) -> anyhow::Result<Self> {
        if plan.options.kernel_log {
            talk::listen_to_kernel();
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the event loop")?;
        // Before anything is opened that a signal would leave behind.
        let (mut signals, switches) = runtime
            .block_on(async { io::Result::Ok((Signals::listen()?, Switches::listen()?)) })
            .context("cannot listen for signals")?;
        let outputs = plan
            .outputs
            .into_iter()
            .map(Output::open)
            .collect::<Result<Vec<_>, _>>()?;
        let mut command = match plan.whom {
            Whom::Target(_) => None,
            Whom::Command(program, arguments) => {
                let command = Launched::prepare(&program, &arguments)?;
                plan.options.target = Target::Command(command.pid());
                Some(command)
            }
        };
        let session = attach(&plan.options)?;
        for line in outline::lines(&session.outlines(), session.kernel_bytes()) {
            talk::note(&line);
        }
        let taken = take(
            &runtime,
            session,
            command.as_mut(),
            (&mut signals, switches),
            plan.duration,
            (&plan.names, &plan.shown.view),
        )?;
        Ok(Self {
            runtime,
            signals,
            outputs,
            taken,
            command,
        })
    }
}

/// Where the report goes that nobody gave a name.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    const fn of(command: Option<&Launched>) -> Self {
        match command {
            // Standard output is the command's.
            Some(_) => Self::Stderr,
            None => Self::Stdout,
        }
    }
}

/// Runs a session until the target ends, a signal asks for the end, or the time is up.
fn take(
    runtime: &Runtime,
    session: Session,
    command: Option<&mut Launched>,
    (signals, mut switches): (&mut Signals, Switches),
    duration: Option<Duration>,
    (names, view): (&Names, &View),
) -> anyhow::Result<Taken> {
    let is_command = command.is_some();
    // A command has the terminal for itself.
    let live = (io::stderr().is_terminal() && !is_command)
        .then(|| LiveView::start(session.snapshots(), names, view));
    let time_is_up = async {
        match duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => pending().await,
        }
    };
    if let Some(command) = command {
        // The clock is attached, and its exec switches it on.
        command.release()?;
    }
    let result = runtime.block_on(async {
        let control = session.control();
        let stop = async {
            tokio::select! {
                () = signals.stop(is_command) => {}
                () = switches.obey(&control) => {}
                () = time_is_up => {}
            }
        };
        session.run(stop).await
    });
    if let Some(live) = live {
        live.end();
    }
    Ok(result?)
}

/// Looks up names, on a thread of its own: they can take long, or even bring the thread down,
/// and neither may cost the profile. A signal meanwhile ends the wait, and leaves addresses.
fn name(
    runtime: &Runtime,
    taken: &Taken,
    signals: &mut Signals,
    ((names, view), keeps_names): ((&Names, &View), bool),
) -> Named {
    let headway = Headway::default();
    let _progress = Progress::of(Doing::counted("looking up names", &headway, "objects"));
    let (send, receive) = oneshot::channel();
    let looked_up = taken.clone();
    let (names, seen) = (names.clone(), view.clone());
    thread::spawn(move || {
        let mut symbolizer = if keeps_names {
            names.recorder()
        } else {
            names.symbolizer(seen.grouping)
        }
        .telling(&headway);
        symbolizer.look_up(&looked_up);
        // Nobody waits any more after a signal.
        let _ = send.send(Named::of(&looked_up, &symbolizer, &seen));
    });
    let named = runtime.block_on(async {
        tokio::select! {
            named = receive => {
                if named.is_err() {
                    talk::note("looking up names failed, and addresses are shown instead: please report this");
                }
                named.ok()
            }
            () = signals.next() => None,
        }
    });
    named.unwrap_or_else(|| Named::of(taken, &Symbolizer::new(), view))
}

/// Writes every output, also when one of them fails; the first failure is the result. Files come
/// first: standard output can be a pipe that nobody reads.
fn write_all(
    outputs: Vec<Output>,
    content: &Content<'_>,
    (to, style): (Stream, Style),
    signals: Signals,
) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    let mut notes = Vec::new();
    let (to_stdout, files): (Vec<_>, Vec<_>) = outputs.into_iter().partition(Output::is_stdout);
    for output in files {
        match output.write(content) {
            Ok(note) => notes.extend(note),
            Err(error) => failures.push(error.into()),
        }
    }
    // What is left can be seen: whoever does not want it can stop it.
    signals.stop_listening();
    let shown = match to_stdout.into_iter().next() {
        Some(output) => output.write(content).map(|_| ()).map_err(Into::into),
        None => report(content, (to, style)).context("cannot write the report"),
    };
    failures.extend(shown.err());
    for note in notes {
        talk::note(&note);
    }
    // A reader that has gone must not hide a file that could not be written.
    failures.sort_by_key(talk::is_broken_pipe);
    let mut failures = failures.into_iter();
    let first = failures.next();
    for other in failures {
        talk::error(&other);
    }
    first.map_or(Ok(()), Err)
}

/// The flat profile on a standard stream.
fn report(content: &Content<'_>, (to, style): (Stream, Style)) -> io::Result<()> {
    match to {
        Stream::Stdout => {
            let stdout = io::stdout();
            let layout = layout_of(&stdout, style, content.errors);
            write_report(content, layout, stdout.lock())
        }
        Stream::Stderr => {
            let stderr = io::stderr();
            let layout = layout_of(&stderr, style, content.errors);
            write_report(content, layout, stderr.lock())
        }
    }
}

fn write_report(
    content: &Content<'_>,
    layout: text::Layout,
    out: impl io::Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    text::write(content.profile, content.rows, layout, &mut out)?;
    out.flush()
}

/// The room on a standard stream: what a terminal has, or all that is wanted.
pub(crate) fn layout_of(
    stream: &(impl io::IsTerminal + AsFd),
    style: Style,
    errors: bool,
) -> text::Layout {
    if !stream.is_terminal() {
        return text::Layout {
            style,
            errors,
            ..text::Layout::default()
        };
    }
    let size = rustix::termios::tcgetwinsize(stream).ok();
    text::Layout {
        width: size
            .map(|size| usize::from(size.ws_col))
            .filter(|&width| width > 0),
        rows: Some(ROWS_ON_TERMINAL),
        style,
        errors,
    }
}
