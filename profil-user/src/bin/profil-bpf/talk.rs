//! Every word that goes to standard error: errors with their causes and hints, notes, the log.

use std::{
    io::{self, ErrorKind, Write as _},
    panic,
};

use profil_user::{
    LoadError, RecordedError, StartError, export::printable, symbolize::panics_are_caught,
};

/// Writes a line to standard error. That it cannot be written (a terminal that was closed, a full
/// disk) is no reason to lose a profile: `eprintln!` would panic. It may name files, which are called
/// what others like.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// From now on a panic that is caught, because it only says that somebody's file is broken, is not spoken
/// of.
pub(crate) fn be_silent_where_panics_are_caught() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !panics_are_caught() {
            before(info);
        }
    }));
}

/// Prints an error: what was tried, what the system said, what to do next.
pub(crate) fn error(error: &anyhow::Error) {
    say(&format!("profil-bpf: {}", one_line(error)));
    if let Some(hint) = hint(error) {
        say(&format!("  hint: {hint}"));
    }
    if std::env::var_os("RUST_BACKTRACE").is_some()
        && let Some(log) = verifier_log(error)
    {
        log.lines().for_each(say);
    }
}

fn hint(error: &anyhow::Error) -> Option<String> {
    let starting = error.downcast_ref::<StartError>();
    let reading = error.downcast_ref::<RecordedError>();
    starting
        .and_then(StartError::hint)
        .or_else(|| reading.and_then(RecordedError::hint).map(str::to_owned))
}

/// The causes after one another. The verifier's log has thousands of lines and is kept apart.
fn one_line(error: &anyhow::Error) -> String {
    chain(error.chain())
}

/// An error and what it follows from, in one line.
pub(crate) fn chain<'a>(
    causes: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>,
) -> String {
    let mut text = String::new();
    for cause in causes {
        let cause = cause.to_string();
        let first = cause.lines().next().unwrap_or_default();
        // Some libraries repeat their cause in their own text.
        if text.ends_with(first) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += first;
    }
    text
}

fn verifier_log(error: &anyhow::Error) -> Option<&str> {
    match error.downcast_ref::<StartError>()? {
        StartError::Load(LoadError::Refused { log, .. }) => Some(log),
        _ => None,
    }
}

/// Prints something that a person should know.
pub(crate) fn note(text: &str) {
    for line in text.lines() {
        say(&format!("profil-bpf: {line}"));
    }
}

/// Whether the reader of our output has gone, which is no error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|io| io.kind() == ErrorKind::BrokenPipe)
}

/// Sends what the kernel half logs to standard error; or what a daemon has to say.
struct KernelLog;

struct DaemonLog;

impl log::Log for DaemonLog {
    fn enabled(&self, _metadata: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("profil_user") {
            say(&format!("profil-bpf: {}", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Lets the parts of the daemon speak, of which nobody else waits for an answer.
pub(crate) fn listen_to_daemon() {
    if log::set_logger(&DaemonLog).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

impl log::Log for KernelLog {
    fn enabled(&self, _metadata: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("profil_ebpf") {
            say(&format!("profil-bpf: kernel: {}", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Lets the kernel half speak.
pub(crate) fn listen_to_kernel() {
    if log::set_logger(&KernelLog).is_ok() {
        log::set_max_level(log::LevelFilter::Info);
    }
}
