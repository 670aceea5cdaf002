//! Pausing and resuming without detaching.

use std::{fs, thread::sleep, time::Duration};

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine, profiler::PATIENCE, session::RATE,
    statistics::assert_ratio,
};
use rustix::process::Signal;

/// CPU time of a process with one thread (`/proc/PID/schedstat`).
fn cpu_seconds(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("it runs");
    let ns: f64 = text
        .split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .expect("nanoseconds come first");
    ns / 1e9
}

/// Runs a target for four seconds, of which the profiler is paused for `paused`, from the first
/// second on.
fn paused(scope: &str, paused: Duration) -> (Report, f64) {
    let time = Duration::from_secs(4);
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE)
        .args(["--clock", scope])
        .attach();
    target.go_and_hold(time);
    sleep(Duration::from_secs(1));
    profiler.signal(Signal::USR1);
    let before = cpu_seconds(target.pid());
    sleep(paused);
    profiler.signal(Signal::USR2);
    let not_counted = cpu_seconds(target.pid()) - before;
    let split = target.split();
    profiler.signal(Signal::INT);
    let finished = profiler.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved();
    assert!(not_counted > 0.2, "the target had no CPU: {not_counted} s");
    let counted = split.total.as_secs_f64() - not_counted;
    (report, counted * f64::from(RATE))
}

#[track_caller]
fn is_not_due(scope: &str) {
    let (report, expected) = paused(scope, Duration::from_millis(1500));
    report.assert_most_ticks_seen();
    assert_ratio("ticks", report.ticks() as f64, expected, 0.1);
    assert_ratio("due", report.balance.due as f64, expected, 0.1);
    assert!(report.share_of("spin_alpha") > 0.5, "{report:#?}");
}

#[test]
fn paused_time_is_not_due() {
    let _machine = claim_machine!();
    is_not_due("task");
}

#[test]
fn paused_time_is_not_due_on_the_cpus() {
    let _machine = claim_machine!();
    is_not_due("cpu");
}
