//! The main job: open the outputs, attach, run until told to stop, write everything.

use std::{
    future::pending,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use anyhow::Context as _;
use profil_user::{
    Profile, Session, Taken,
    export::{Output, text},
    symbolize::{Function, Symbolizer, functions},
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{args::Plan, live::LiveView, talk};

/// Functions listed on a terminal; a pipe or a file gets all.
const ROWS_ON_TERMINAL: usize = 40;

pub(crate) fn run(plan: Plan) -> anyhow::Result<()> {
    if plan.options.kernel_log {
        talk::listen_to_kernel();
    }
    let outputs = plan
        .outputs
        .into_iter()
        .map(Output::open)
        .collect::<Result<Vec<_>, _>>()?;
    let session = Session::attach(&plan.options)?;
    let taken = take(session, plan.duration)?;

    let mut symbolizer = Symbolizer::new();
    symbolizer.look_up(&taken);
    let functions = functions(&taken, &symbolizer);
    write_all(outputs, &taken.profile, &functions)
}

/// Runs a session until the target ends, a signal asks for the end, or the time is up.
fn take(session: Session, duration: Option<Duration>) -> anyhow::Result<Taken> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let view = io::stderr()
        .is_terminal()
        .then(|| LiveView::start(session.snapshots()));
    let result = runtime.block_on(async {
        let stop = until_told(duration).context("cannot listen for signals")?;
        Ok(session.run(stop).await?)
    });
    if let Some(view) = view {
        view.end();
    }
    result
}

/// Completes at Ctrl-C, SIGTERM or a closed terminal, or after `duration`.
fn until_told(duration: Option<Duration>) -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        let time_is_up = async {
            match duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
            () = time_is_up => {}
        }
    })
}

/// Writes every output, also when one of them fails; the first failure is the result.
fn write_all(
    outputs: Vec<Output>,
    profile: &Profile,
    functions: &[Function],
) -> anyhow::Result<()> {
    let mut first_failure = Ok(());
    let mut keep = |result: anyhow::Result<()>| match (&first_failure, result) {
        // A reader that has gone must not hide a file that could not be written.
        (Err(earlier), Err(later)) if talk::is_broken_pipe(earlier) => first_failure = Err(later),
        (Ok(()), result) => first_failure = result,
        (Err(_), Ok(())) => {}
        (Err(_), Err(later)) => talk::error(&later),
    };
    let to_stdout = outputs.iter().any(Output::is_stdout);
    for output in outputs {
        keep(
            output
                .write(profile, functions)
                .map_err(Into::into)
                .map(|note| {
                    if let Some(note) = note {
                        talk::note(&note);
                    }
                }),
        );
    }
    if !to_stdout {
        keep(report(profile, functions).context("cannot write the report"));
    }
    first_failure
}

/// The flat profile on standard output.
fn report(profile: &Profile, functions: &[Function]) -> io::Result<()> {
    let stdout = io::stdout();
    let layout = if stdout.is_terminal() {
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        text::Layout {
            width: size
                .map(|size| usize::from(size.ws_col))
                .filter(|&width| width > 0),
            rows: Some(ROWS_ON_TERMINAL),
        }
    } else {
        text::Layout::default()
    };
    let mut out = io::BufWriter::new(stdout.lock());
    text::write(profile, functions, layout, &mut out)?;
    out.flush()
}
