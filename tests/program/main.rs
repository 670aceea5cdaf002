//! Tests of the program as a person meets it: usage, errors, exit statuses. No privileges needed.

mod annotate;
mod clock;
mod doctor;
mod errors;
mod formats;
mod manual;
mod packaging;
mod progress;
mod report;
mod saved;
mod targets;
mod top;
mod usage;

use std::path::Path;

use profil_tests::{Finished, Profiler, places};

/// Runs `profil-bpf` in an empty directory, which it must leave empty.
#[track_caller]
fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Finished {
    run_in_dir(|_| arguments)
}

/// The same, with arguments that depend on the directory.
#[track_caller]
fn run_in_dir<S: AsRef<std::ffi::OsStr>, A: IntoIterator<Item = S>>(
    arguments: impl FnOnce(&Path) -> A,
) -> Finished {
    let dir = places::public_dir();
    let finished = Profiler::new()
        .args(arguments(dir.path()))
        .in_dir(dir.path())
        .run();
    let left = places::names_in(dir.path());
    assert!(left.is_empty(), "left behind: {left:?}\n{finished:?}");
    finished
}
