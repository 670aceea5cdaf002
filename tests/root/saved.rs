//! Files of record: what is read later, or elsewhere, is what was printed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine, places,
    session::{self, RATE, Session},
};

/// Some thousand ticks.
const TIME: Duration = Duration::from_secs(1);

/// Profiles a target for a second, into a file.
#[track_caller]
fn profile(target: &mut Target, file: &Path, arguments: &[&str]) -> Session {
    let profiler = Profiler::on(target.pid(), RATE).output(file);
    session::take(target, profiler.args(arguments), RATE, TIME)
}

/// What `report` prints of a file.
#[track_caller]
fn report(file: &Path, arguments: &[&str]) -> String {
    let finished = Profiler::new()
        .arg("report")
        .arg(file)
        .args(arguments)
        .run();
    finished.assert_code(0).assert_no_panic();
    assert!(finished.stderr.is_empty(), "{}", finished.stderr);
    finished.stdout
}

#[track_caller]
fn the_report_is_the_same(workload: Workload, arguments: &[&str], rows: &[&str]) {
    let dir = places::public_dir();
    let mut target = Target::start(workload);
    for name in ["saved.pb.gz", "saved.pb"] {
        let file = dir.path().join(name);
        let session = profile(&mut target, &file, &[arguments, rows].concat());
        drop(target);
        assert!(session.report.ticks() > 500, "{:?}", session.report.balance);
        assert_eq!(report(&file, rows), session.finished.stdout, "{name}");
        target = Target::start(workload);
    }
}

#[test]
fn by_function() {
    let _machine = claim_machine!();
    the_report_is_the_same(Workload::SharedLibrary, &[], &[]);
}

#[test]
fn by_line() {
    let _machine = claim_machine!();
    the_report_is_the_same(Workload::Inline, &[], &["--lines"]);
}

#[test]
fn by_inlined_function() {
    let _machine = claim_machine!();
    the_report_is_the_same(Workload::InlineStripped, &[], &["--inline"]);
}

#[test]
fn system_time_of_the_kernel_and_a_jittered_clock() {
    let _machine = claim_machine!();
    the_report_is_the_same(Workload::System, &["--mode", "split", "--jitter"], &[]);
}

#[test]
fn by_process() {
    let _machine = claim_machine!();
    the_report_is_the_same(Workload::Jit, &["--per-process"], &[]);
}

/// The program has gone, and where its debug file is was known to nobody when it ran.
#[test]
fn named_on_another_machine() {
    let _machine = claim_machine!();
    let workload = Workload::DebugBuildId;
    let dir = places::public_dir();
    let executable = dir.path().join("gone");
    fs::copy(workload.executable(), &executable).expect("a copy");
    let mut target = Target::start_command(Command::new(&executable), executable.clone());
    let file = dir.path().join("saved.pb.gz");
    let mut session = profile(&mut target, &file, &[]);
    drop(target);
    fs::remove_file(&executable).expect("a file that nobody needs");
    let hot: Vec<_> = session.split.functions.keys().cloned().collect();
    for name in &hot {
        assert_eq!(session.report.ticks_of(name), 0, "{name} had a name");
    }
    assert_eq!(report(&file, &[]), session.finished.stdout);

    let debug: PathBuf = workload.executable().with_file_name("debug");
    let debug = debug.to_str().expect("a plain path");
    session.report = Report::of(&report(
        &file,
        &["--debug-dir", "/nowhere", "--debug-dir", debug],
    ));
    session.assert_shares().assert_hot_in("gone");

    // A file of another build, in its place, says nothing.
    fs::copy(Workload::Pie.executable(), &executable).expect("a copy");
    assert_eq!(report(&file, &[]), session.finished.stdout);
}
