//! Targets that multiply, turn into others, do nothing, or are gone at once.

use std::time::Duration;

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine, machine,
    session::{self, RATE, Session},
    statistics::{assert_ratio, assert_two_estimates},
};

/// What the ticks of a family or of two images may be off from the CPU time that these measured.
/// On a busy machine the kernel's clock of a parent and its child was seen to run up to 5 % ahead
/// of their CPU time; a child that is not counted is a half.
const FAMILY_TOLERANCE: f64 = 0.1;

/// What shares may be off beside chance where one image follows another: the kernel tells of exec at
/// once, and what ticks until that is read is charged to the old image, as the report says.
const EXEC_NOTICED: f64 = 0.02;

/// The account is that of both, and so must be the ticks. For `uncertain` seconds they may be
/// charged to one instead of the other.
#[track_caller]
fn counts_both(session: &Session, uncertain: f64) {
    let total = session.report.ticks() as f64;
    for name in session.split.functions.keys() {
        let share = session.report.ticks_of(name) as f64 / total;
        // The target's own measurement is exact.
        let truth = (session.split.share_of(name), total * 1e6);
        let tolerance = uncertain / session.split.total.as_secs_f64();
        assert_two_estimates(name, (share, total), truth, tolerance);
    }
    let expected = session.split.total.as_secs_f64() * f64::from(RATE);
    let seen = session.report.balance.seen as f64;
    assert_ratio("ticks of both", seen, expected, FAMILY_TOLERANCE);
}

#[test]
fn a_childs_ticks_are_counted() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Pie, &["--fork"]);
    counts_both(&session::take_usual(&mut target), 0.0);
}

#[test]
fn another_image_in_the_same_process() {
    let _machine = claim_machine!();
    let other = Workload::SegmentsPie.executable();
    let other = other.to_str().expect("a plain path");
    let mut target = Target::start_with(Workload::Pie, &["--exec", other]);
    let time = Duration::from_secs(5);
    let profiler = Profiler::on(target.pid(), RATE);
    let session = session::take(&mut target, profiler, RATE, time);
    counts_both(&session, EXEC_NOTICED);
}

/// A clock starts anew in every thread, so a thread takes the time since its last tick with it:
/// half a period on average, and the threads here live for about twenty; in an emulator, where the
/// period is longer, for five, and interrupts are late.
fn lost_with_threads() -> f64 {
    if machine::is_emulated() { 0.4 } else { 0.05 }
}

#[test]
fn threads_that_come_and_go() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Pie, &["--churn"]);
    let session = session::take_usual(&mut target);
    // An emulator loses the last tick of many a short life, and not of each function as often.
    if !machine::is_emulated() {
        session.assert_shares();
    }
    let balance = &session.report.balance;
    let expected = session.split.total.as_secs_f64() * f64::from(RATE);
    let ratio = balance.seen as f64 / expected;
    assert!(
        (1.0 - lost_with_threads()..=1.01 + machine::slack()).contains(&ratio),
        "{ratio}: {balance:?}"
    );
    // And what is lost is not hidden.
    assert!(
        (balance.ratio - ratio).abs() < 0.015 + machine::slack() / 5.0,
        "{ratio}: {balance:?}"
    );
}

#[test]
fn a_process_that_does_nothing() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Idle);
    let profiler = Profiler::on(target.pid(), RATE);
    let session = session::take(&mut target, profiler, RATE, Duration::from_secs(1));
    assert!(session.report.ticks() <= 1, "{:#?}", session.report);
    let said = format!("{}{}", session.finished.stdout, session.finished.stderr);
    assert!(
        said.contains("CPU"),
        "one line should say that it used no CPU time:\n{said}"
    );
}

/// The process may die before, while or after the profiler attaches: each is one of two ends.
#[test]
fn a_process_that_dies_at_once() {
    let _machine = claim_machine!();
    for life_us in [
        0, 500, 1000, 2000, 3000, 5000, 7000, 10_000, 15_000, 20_000, 30_000, 50_000,
    ] {
        let life = life_us.to_string();
        // No harness to wait for it: a zombie stays, and its number is not given away.
        let target = Target::start_with(Workload::Brief, &[&life]);
        let finished = Profiler::on(target.pid(), RATE).args(["-d", "2s"]).run();
        finished.assert_no_panic();
        match finished.status.code() {
            Some(0) => {
                Report::of(&finished.stdout).assert_conserved();
            }
            _ => {
                finished.assert_code(1).assert_clear_error();
            }
        }
    }
}
