//! System time is kept apart from user time, and charged to where the process made the call.

use profil_tests::{
    Target, Workload, claim_machine, machine,
    report::Report,
    session,
    statistics::{assert_share, assert_two_estimates},
};

/// What the split by `getrusage` may be off beside chance. The kernel looks at the mode at its own
/// ticks only, and scales what it saw to the time that it measured.
const RUSAGE_TOLERANCE: f64 = 0.01;

/// User and system seconds of a function.
fn seconds_of(report: &Report, function: &str) -> (f64, f64) {
    report
        .rows_of(function)
        .fold((0.0, 0.0), |(user, system), row| {
            (user + row.user_seconds, system + row.system_seconds)
        })
}

#[test]
fn a_target_that_lives_in_system_calls() {
    let _machine = claim_machine!();
    let session = session::measured(|| session::take_usual(&mut Target::start(Workload::System)));

    // By address: the time in a call belongs to the function that made it.
    session
        .assert_all_ticks_seen()
        .assert_shares()
        .assert_hot_in("system");

    // By mode, against the kernel's own estimate.
    let report = &session.report;
    let (user, system) = report.rows.iter().fold((0.0, 0.0), |(user, system), row| {
        (user + row.user_seconds, system + row.system_seconds)
    });
    let kernel_ticks = session.split.total.as_secs_f64() / machine::kernel_tick().as_secs_f64();
    assert_two_estimates(
        "system time, here and by getrusage",
        (system / (user + system), report.ticks() as f64),
        (session.split.system_share(), kernel_ticks),
        RUSAGE_TOLERANCE,
    );

    // By mode, against what each function is known to do.
    let ticks = |seconds: f64| (seconds * f64::from(session::RATE)).round() as u64;
    let (user, system) = seconds_of(report, "spin_alpha");
    assert!(
        system <= 0.01 * user,
        "spin_alpha makes no calls: {user} s user, {system} s system"
    );
    let (user, system) = seconds_of(report, "read_zeros");
    assert!(
        user <= 0.03 * system,
        "read_zeros lives in the kernel: {user} s user, {system} s system"
    );
    let (user, system) = seconds_of(report, "ask_parent");
    assert!(
        user > 0.0 && system > 0.0,
        "ask_parent does both: {user} s user, {system} s system"
    );

    // The kernel's part of read_zeros is known as well as the function's own time.
    let (_, system) = seconds_of(report, "read_zeros");
    let share = session.split.share_of("read_zeros");
    assert_share(
        "read_zeros, system",
        ticks(system),
        report.ticks(),
        share * 0.99,
    );
}
