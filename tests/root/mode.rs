//! `--mode`: ticks of one mode are kept, and those of the other accounted for.

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine,
    session::{self, RATE},
    statistics::assert_two_estimates,
};

const OTHER: &str = "other mode";

/// User and system seconds of all functions.
fn seconds(report: &Report) -> (f64, f64) {
    report.rows.iter().fold((0.0, 0.0), |(user, system), row| {
        (user + row.user_seconds, system + row.system_seconds)
    })
}

/// What a profile of one mode keeps, as a share of all ticks of the target.
#[track_caller]
fn kept(mode: &str, scope: &str) -> (f64, Report) {
    let session = session::measured(|| {
        let mut target = Target::start(Workload::System);
        let profiler = Profiler::on(target.pid(), RATE).args(["--mode", mode, "--clock", scope]);
        session::take(&mut target, profiler, RATE, session::window())
    });
    let report = session.report;
    // What is left out was seen, and is due like the rest.
    report.assert_most_ticks_seen();
    assert!(report.outcome(OTHER) > 0, "{:?}", report.balance);
    let share = report.ticks() as f64 / report.balance.seen as f64;
    (share, report)
}

/// The two modes apart are the two columns of a profile of both.
#[track_caller]
fn are_the_columns(scope: &str) {
    let both = {
        let mut target = Target::start(Workload::System);
        let profiler = Profiler::on(target.pid(), RATE).args(["--mode", "prof", "--clock", scope]);
        session::take(&mut target, profiler, RATE, session::window()).report
    };
    assert_eq!(both.outcome(OTHER), 0, "{:?}", both.balance);
    let (user, system) = seconds(&both);
    let ticks = both.ticks() as f64;

    let (share, report) = kept("user", scope);
    assert_eq!(seconds(&report).1, 0.0, "no system time: {report:#?}");
    let seen = report.balance.seen as f64;
    assert_two_estimates(
        "user time",
        (share, seen),
        (user / (user + system), ticks),
        0.01,
    );

    let (share, report) = kept("system", scope);
    assert_eq!(seconds(&report).0, 0.0, "no user time: {report:#?}");
    assert!(report.share_of("read_zeros") > 0.5, "{report:#?}");
    let seen = report.balance.seen as f64;
    assert_two_estimates(
        "system time",
        (share, seen),
        (system / (user + system), ticks),
        0.01,
    );
}

#[test]
fn each_is_a_column_of_both() {
    let _machine = claim_machine!();
    are_the_columns("task");
}

#[test]
fn each_is_a_column_of_both_on_the_cpus() {
    let _machine = claim_machine!();
    are_the_columns("cpu");
}
