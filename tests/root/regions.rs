//! Explicit regions: the four arguments of `profil(2)` for another process.

use std::{fs, path::Path, time::Duration};

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine, places,
    profiler::PATIENCE,
    session::{self, RATE},
    statistics::{assert_ratio, assert_two_estimates},
};
use rustix::process::Signal;

/// Little-endian counters of `N` bytes.
fn counters<const N: usize>(file: &Path) -> Vec<u64> {
    let bytes = fs::read(file).expect("a buffer");
    assert_eq!(bytes.len() % N, 0, "{} bytes", bytes.len());
    bytes
        .chunks_exact(N)
        .map(|counter| {
            let mut wide = [0; 8];
            wide[..N].copy_from_slice(counter);
            u64::from_le_bytes(wide)
        })
        .collect()
}

/// Two profilers on one target at the same time: one counts every address, the other by a scale
/// that is no power of two. They tick at different moments, so they agree within chance.
#[test]
fn a_buffer_is_the_formula_of_the_addresses() {
    const TEXT: usize = 4096;
    const SCALE: usize = 0xc000;

    let _machine = claim_machine!();
    let dir = places::public_dir();
    let (exact, scaled) = (dir.path().join("exact.buf"), dir.path().join("scaled.buf"));
    let mut target = Target::start(Workload::Pie);
    let on = |arguments: &[&str], file: &Path| {
        let profiler = Profiler::on(target.pid(), RATE).args(["--offset", "spin_alpha"]);
        profiler.args(arguments).output(file).attach()
    };
    let one = on(&["--bufsiz", &TEXT.to_string()], &exact);
    let arguments = ["--dialect", "glibc", "--scale", "3/4", "--bufsiz", "3072"];
    let other = on(&arguments, &scaled);
    target.go_and_hold(session::window());
    target.split();
    let mut reports = Vec::new();
    for process in [one, other] {
        process.signal(Signal::INT);
        let finished = process.finish(PATIENCE);
        finished.assert_code(0).assert_no_panic();
        finished.assert_says("bytes of text for a counter");
        let report = Report::of(&finished.stdout);
        report.assert_most_ticks_seen();
        reports.push(report);
    }

    let exact = counters::<8>(&exact);
    let scaled = counters::<2>(&scaled);
    assert_eq!((exact.len(), scaled.len()), (TEXT / 2, 3072 / 2));
    let totals = [&exact, &scaled].map(|counts| counts.iter().sum::<u64>());
    assert_eq!(totals[0], reports[0].outcome("binned"));
    assert_eq!(totals[1], reports[1].outcome("binned"));
    assert!(totals[0] > 500, "{totals:?}");
    let mut expected = vec![0; scaled.len()];
    for (unit, ticks) in exact.iter().enumerate() {
        expected[(unit * SCALE) >> 16] += ticks;
    }
    for (bin, (&counted, &expected)) in scaled.iter().zip(&expected).enumerate() {
        if counted + expected == 0 {
            continue;
        }
        let share = |ticks: u64, total: u64| (ticks as f64 / total as f64, total as f64);
        assert_two_estimates(
            &format!("bin {bin}"),
            share(counted, totals[1]),
            share(expected, totals[0]),
            0.005,
        );
    }
}

#[test]
fn ticks_elsewhere_are_accounted_for() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let arguments = ["--region", "spin_beta:64:1.0", "--dialect", "bsd"];
    let profiler = Profiler::on(target.pid(), RATE).args(arguments);
    let session = session::take(&mut target, profiler, RATE, session::window());
    let report = &session.report;
    report.assert_most_ticks_seen();
    let beta = report.outcome("binned");
    session.assert_share_of_all("spin_beta", beta, report.balance.seen);
    assert_eq!(
        report.balance.seen,
        beta + report.outcome("not for the buffer"),
        "{:?}",
        report.balance
    );
}

/// The classic dialects end where the process starts another program.
#[test]
fn exec_ends_a_classic_dialect() {
    let _machine = claim_machine!();
    let other = Workload::SegmentsPie.executable();
    let other = other.to_str().expect("a plain path");
    let mut target = Target::start_with(Workload::Pie, &["--exec", other]);
    let arguments = ["--offset", "spin_alpha", "--dialect", "bsd44"];
    let profiler = Profiler::on(target.pid(), RATE).args(arguments).attach();
    target.go_and_hold(Duration::from_secs(4));
    // By itself, long before the target ends.
    let finished = profiler.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    assert!(
        finished.stdout.contains("where bsd44 ends"),
        "{}",
        finished.stdout
    );
    target.split();
}

#[test]
fn children_can_be_left_out() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Pie, &["--fork"]);
    let profiler = Profiler::on(target.pid(), RATE).arg("--no-follow");
    let session = session::take(&mut target, profiler, RATE, session::window());
    let report = &session.report;
    report.assert_most_ticks_seen();
    let others = report.outcome("other processes");
    assert_ratio(
        "the child's half",
        others as f64,
        report.balance.seen as f64 / 2.0,
        0.15,
    );
    assert_eq!(report.balance.seen, report.ticks() + others);
}

#[test]
fn what_cannot_be_counted_is_refused_in_one_line() {
    let _machine = claim_machine!();
    let target = Target::start(Workload::Pie);
    for (arguments, said) in [
        (&["--offset", "nosuch"][..], "nosuch"),
        (&["--offset", "main", "--scale", "65537"], "above 1.0"),
        (&["--offset", "main", "--scale", "0"], "scale of 0"),
        (&["--offset", "main", "--bufsiz", "0"], "no room"),
        (&["--offset", "0x1000"], "no text at 0x1000"),
        (
            &["--region", "main:64:1.0", "--region", "main:64:1.0"],
            "overlap",
        ),
        (&["--offset", "main", "--bufsiz", "99999999999"], "memory"),
        (
            &[
                "--dialect",
                "glibc",
                "--region",
                "main:8:1.0",
                "--region",
                "main:8:1.0",
            ],
            "at most 1 region",
        ),
    ] {
        let profiler = Profiler::on(target.pid(), RATE).args(arguments);
        let finished = profiler.run();
        finished
            .assert_code(1)
            .assert_clear_error()
            .assert_says(said);
    }
}
