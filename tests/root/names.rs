//! Names of all kinds of objects: each on a real target that knows its own split.

use std::time::Duration;

use profil_tests::{
    Profiler, Target, Workload, claim_machine,
    session::{self, RATE, Session},
};

/// Some thousand ticks: a name that is wrong is wrong by more than a few.
const TIME: Duration = Duration::from_secs(1);

/// Profiles a target for a second, by a profiler with further arguments.
#[track_caller]
fn profile(workload: Workload, arguments: &[&str]) -> Session {
    let mut target = Target::start(workload);
    let profiler = Profiler::on(target.pid(), RATE).args(arguments);
    session::take(&mut target, profiler, RATE, TIME)
}

#[test]
fn a_debug_file_that_is_linked() {
    let _machine = claim_machine!();
    let workload = Workload::DebugLink;
    profile(workload, &[])
        .assert_shares()
        .assert_hot_in(workload.hot_object());
}

#[test]
fn a_debug_file_of_the_same_build() {
    let _machine = claim_machine!();
    let workload = Workload::DebugBuildId;
    let dir = workload.executable().with_file_name("debug");
    let dir = dir.to_str().expect("a plain path");
    profile(workload, &["--debug-dir", "/nowhere", "--debug-dir", dir])
        .assert_shares()
        .assert_hot_in(workload.hot_object());
}

/// Nothing in the executable says where its functions are, and nobody guesses.
#[test]
fn a_debug_file_that_is_not_found() {
    let _machine = claim_machine!();
    let session = profile(Workload::DebugBuildId, &[]);
    let unnamed = session
        .report
        .rows
        .iter()
        .filter(|row| row.is_in("split-build-id") && row.function.ends_with("(stripped)"));
    let ticks: u64 = unnamed.map(|row| row.ticks).sum();
    assert_eq!(ticks, session.report.ticks_in("split-build-id"));
    assert!(ticks > session.report.ticks() * 9 / 10);
}
