//! However a session ends, nothing is lost and nothing stays behind.

use std::{
    fs,
    time::{Duration, Instant},
};

use profil_tests::{
    Finished, Profiler, Report, Target, Workload, claim_machine, kernel, machine,
    places::{self, names_in},
    process::wait_until,
    profiler::{PATIENCE, wait_until_attached},
    session::RATE,
    statistics::assert_ratio,
};
use rustix::process::Signal;

/// The profile is there, and holds about `time`.
#[track_caller]
fn holds(finished: &Finished, time: Duration) {
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved().assert_most_ticks_seen();
    let expected = time.as_secs_f64() * f64::from(RATE);
    assert_ratio("ticks", report.ticks() as f64, expected, 0.1);
    assert!(report.share_of("spin_alpha") > 0.5, "{report:#?}");
}

#[test]
fn the_target_exits() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE)
        .output(dir.path().join("gmon.out"))
        .attach();
    target.go(Duration::from_secs(2));
    let split = target.split();
    // By itself: the harness has not waited for the target yet, so it is a zombie now.
    holds(&profiler.finish(PATIENCE), split.total);
    assert!(target.exit().success());
    assert_eq!(names_in(dir.path()), ["gmon.out"]);
}

#[test]
fn the_target_is_killed() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE).attach();
    target.go(Duration::from_secs(60));
    std::thread::sleep(Duration::from_secs(2));
    target.kill();
    let finished = profiler.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved().assert_most_ticks_seen();
    assert!(report.share_of("spin_alpha") > 0.5, "{report:#?}");
}

/// A signal ends the session: the profile so far is printed and written.
#[track_caller]
fn ends_by(signal: Signal) {
    let dir = places::public_dir();
    let file = dir.path().join("gmon.out");
    fs::write(&file, "an older profile").expect("a file");
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE).output(&file).attach();
    target.go_and_hold(Duration::from_secs(1));
    let split = target.split();
    profiler.signal(signal);
    holds(&profiler.finish(PATIENCE), split.total);
    assert_eq!(names_in(dir.path()), ["gmon.out"], "no temporary file");
    assert!(
        fs::read(&file).expect("a profile").starts_with(b"gmon"),
        "the new profile"
    );
}

#[test]
fn interrupted() {
    let _machine = claim_machine!();
    ends_by(Signal::INT);
}

#[test]
fn terminated() {
    let _machine = claim_machine!();
    ends_by(Signal::TERM);
}

#[test]
fn the_time_is_over() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    target.go_and_hold(Duration::from_secs(60));
    let start = Instant::now();
    let finished = Profiler::on(target.pid(), RATE).args(["-d", "1s"]).run();
    let took = start.elapsed();
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved().assert_most_ticks_seen();
    let seconds = report.ticks() as f64 / f64::from(RATE);
    // At least half a CPU is for the target, whatever else runs.
    assert!(
        (0.5..=1.05 + machine::slack()).contains(&seconds),
        "{seconds} s of ticks in a session of 1 s"
    );
    assert!(
        (1.0..if machine::is_emulated() { 5.0 } else { 2.0 }).contains(&took.as_secs_f64()),
        "a session of 1 s took {took:?}"
    );
}

#[test]
fn the_profiler_is_killed() {
    let _machine = claim_machine!();
    let others = kernel::loaded_programs(kernel::PROGRAM);
    let mut target = Target::start(Workload::Pie);
    let dir = places::public_dir();
    let mut profiler = Profiler::on(target.pid(), RATE)
        .output(dir.path().join("gmon.out"))
        .start();
    wait_until_attached(&mut profiler);
    let ours: Vec<_> = kernel::loaded_programs(kernel::PROGRAM)
        .difference(&others)
        .copied()
        .collect();
    assert!(
        !ours.is_empty(),
        "the kernel should list {} now",
        kernel::PROGRAM
    );

    target.go(Duration::from_secs(1));
    std::thread::sleep(Duration::from_millis(200));
    profiler.signal(Signal::KILL);
    let gone = wait_until(Duration::from_secs(5), || {
        let left = kernel::loaded_programs(kernel::PROGRAM);
        ours.iter().all(|id| !left.contains(id))
    });
    assert!(gone, "programs {ours:?} are still loaded");

    let split = target.split();
    assert!(
        split.total >= Duration::from_secs(1),
        "the target went on: {split:?}"
    );
    assert!(target.exit().success(), "the target ended as it wanted");
}
