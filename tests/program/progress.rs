//! What a person is told meanwhile. A pipe that says nothing yet stands for a large file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use profil_tests::{
    Finished, Process, places, process::wait_until, profiler::PATIENCE, require_programs,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

const SMALL: &[u8] = include_bytes!("../../profil-user/src/pprof/tests/small.pb");

/// What is said while a file is read.
const READING: &str = "reading slow.pb";

/// A file that can be read when somebody writes to it.
fn slow() -> (TempDir, PathBuf) {
    let dir = places::public_dir();
    let path = dir.path().join("slow.pb");
    mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    (dir, path)
}

/// `profil-bpf report slow.pb` on a terminal, of which this process has the other end.
fn on_a_terminal(dir: &Path, variables: &[(&str, &str)]) -> Process {
    let shell = format!(
        "stty cols 80 rows 24; exec {} report slow.pb",
        places::profil_bpf().display()
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--flush", "--command", &shell]);
    script.arg("/dev/null").current_dir(dir);
    script.env("TERM", "xterm").envs(variables.iter().copied());
    Process::start(&mut script)
}

#[track_caller]
fn assert_report(finished: &Finished) {
    finished.assert_code(0).assert_no_panic();
    assert!(finished.stdout.contains("f(int)"), "{finished:?}");
}

#[test]
fn a_long_wait_is_explained_and_the_explanation_wiped() {
    require_programs!("script", "stty");
    let (dir, path) = slow();
    let start = Instant::now();
    let mut process = on_a_terminal(dir.path(), &[("NO_COLOR", "1")]);
    let shown = wait_until(PATIENCE, || process.stdout().contains(READING));
    assert!(shown, "{:?}", process.stdout());
    assert!(start.elapsed() >= Duration::from_secs(1), "too early");
    fs::write(&path, SMALL).expect("a reader");
    let finished = process.finish(PATIENCE);
    assert_report(&finished);
    // Erased, and the cursor at the beginning of the line (ECMA-48).
    let (progress, report) = finished
        .stdout
        .rsplit_once("\x1b[2K")
        .unwrap_or_else(|| panic!("not wiped: {finished:?}"));
    assert!(progress.contains(READING) && !report.contains("reading"));
    assert!(!progress.contains("f(int)") && report.contains("f(int)"));
    // What changes colours ends with an m.
    let mut sequences = progress.split("\x1b[").skip(1);
    assert!(
        sequences.all(|rest| rest.chars().find(char::is_ascii_alphabetic) != Some('m')),
        "{progress:?}"
    );
}

#[test]
fn a_short_wait_is_not_worth_a_word() {
    require_programs!("script", "stty");
    let (dir, path) = slow();
    let process = on_a_terminal(dir.path(), &[]);
    fs::write(&path, SMALL).expect("a reader");
    let finished = process.finish(PATIENCE);
    assert_report(&finished);
    assert!(!finished.stdout.contains("reading"), "{finished:?}");
    assert!(!finished.stdout.contains('\x1b'), "{finished:?}");
}

#[test]
fn nothing_is_shown_where_nobody_looks() {
    require_programs!("script", "stty");
    let long = Duration::from_millis(1500);
    let (dir, path) = slow();
    let mut command = Command::new(places::profil_bpf());
    command.args(["report", "slow.pb"]).current_dir(dir.path());
    let process = Process::start(&mut command);
    // Nor where the cursor cannot be moved.
    let (other, other_path) = slow();
    let dumb = on_a_terminal(other.path(), &[("TERM", "dumb")]);
    thread::sleep(long);
    for path in [&path, &other_path] {
        fs::write(path, SMALL).expect("a reader");
    }
    let finished = process.finish(PATIENCE);
    assert_report(&finished);
    assert_eq!(finished.stderr, "");
    let finished = dumb.finish(PATIENCE);
    assert_report(&finished);
    assert!(!finished.stdout.contains("reading"), "{finished:?}");
}
