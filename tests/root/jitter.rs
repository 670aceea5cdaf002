//! Jitter does everything that a clock of one period does.

use std::{process::Command, thread::sleep, time::Duration};

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine, gmon, machine, places,
    profiler::PATIENCE,
    session::{self, RATE},
    statistics::{assert_ratio, assert_share},
};
use rustix::process::Signal;

/// By how much the mean rate may be off the one that was asked for: rests vary.
const MEAN: f64 = 0.05;

#[test]
fn the_mean_rate_is_kept_and_written() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let file = dir.path().join("gmon.out");
    let session = session::measured(|| {
        let mut target = Target::start(Workload::Pie);
        let profiler = Profiler::on(target.pid(), RATE)
            .arg("--jitter")
            .output(&file);
        session::take(&mut target, profiler, RATE, session::window())
    });
    session.report.assert_all_ticks_seen();
    session.assert_shares().assert_hot_in("split-pie");
    let expected = session.split.total.as_secs_f64() * f64::from(RATE);
    assert_ratio("due", session.report.balance.due as f64, expected, MEAN);

    // The rate in the file is the one that makes its ticks the seconds that the target measured.
    let histograms = gmon::histograms(&std::fs::read(&file).expect("a file")).expect("gmon.out");
    let ticks: u64 = histograms
        .iter()
        .flat_map(|record| &record.counts)
        .map(|&count| u64::from(count))
        .sum();
    let seconds = ticks as f64 / f64::from(histograms[0].rate);
    let hot: Duration = session.split.functions.values().sum();
    assert_ratio("seconds", seconds, hot.as_secs_f64(), 0.02);
}

#[test]
fn threads_and_children_inherit_it() {
    let _machine = claim_machine!();
    for arguments in [&["--threads", "8"][..], &["--fork"]] {
        let session = session::measured(|| {
            let mut target = Target::start_with(Workload::Pie, arguments);
            let profiler = Profiler::on(target.pid(), RATE).arg("--jitter");
            session::take(&mut target, profiler, RATE, session::window())
        });
        session.assert_shares();
        session.report.assert_most_ticks_seen();
        let expected = session.split.total.as_secs_f64() * f64::from(RATE);
        let seen = session.report.balance.seen as f64;
        assert_ratio("ticks", seen, expected, 0.1);
    }
}

/// Pausing and resuming, with clocks that rest in between.
#[test]
fn paused_time_is_not_due() {
    let _machine = claim_machine!();
    for scope in ["task", "cpu"] {
        let mut target = Target::start(Workload::Pie);
        let profiler = Profiler::on(target.pid(), RATE)
            .args(["--clock", scope, "--jitter"])
            .attach();
        target.go_and_hold(Duration::from_secs(3));
        for _ in 0..4 {
            sleep(Duration::from_millis(250));
            profiler.signal(Signal::USR1);
            sleep(Duration::from_millis(250));
            profiler.signal(Signal::USR2);
        }
        let split = target.split();
        profiler.signal(Signal::INT);
        let finished = profiler.finish(PATIENCE);
        finished.assert_code(0).assert_no_panic();
        let report = Report::of(&finished.stdout);
        report.assert_conserved().assert_most_ticks_seen();
        let all = split.total.as_secs_f64() * f64::from(RATE);
        assert!(
            (report.balance.due as f64) < 0.9 * all,
            "a second was paused: {:?}",
            report.balance
        );
    }
}

/// Four descriptors a thread are more than one: where they run out, the clock follows CPUs.
#[test]
fn a_low_limit_of_descriptors() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Pie, &["--threads", "40"]);
    let mut command = Command::new("sh");
    // Some twenty threads exist at the start: enough for one descriptor each, not for four.
    command
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(places::profil_bpf());
    let profiler = Profiler::by(command)
        .on_pid(target.pid(), RATE)
        .arg("--jitter");
    let session = session::take(&mut target, profiler, RATE, session::window());
    session.assert_shares();
    assert!(
        session.finished.stdout.contains("the clock followed CPUs"),
        "{}",
        session.finished.stdout
    );
    let balance = &session.report.balance;
    assert!(
        (balance.ratio - 1.0).abs() < 0.1 + machine::slack(),
        "{balance:?}"
    );
    assert_share(
        "spin_alpha",
        session.report.ticks_of("spin_alpha"),
        session.report.ticks(),
        session.split.share_of("spin_alpha"),
    );
}
