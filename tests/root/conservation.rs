//! Every run of the kernel's program ends in exactly one outcome, whatever the target does.

use profil_tests::{
    Profiler, Target, Workload, claim_machine,
    session::{self, RATE, window},
    statistics::assert_share,
};

const STRAYS_FULL: &str = "lost: strays table full";

#[test]
fn code_of_no_file_is_counted_as_strays() {
    let _machine = claim_machine!();
    let session = session::measured(|| session::take_usual(&mut Target::start(Workload::Jit)));
    session.assert_all_ticks_seen();
    session.assert_share_of("spin_alpha", session.report.ticks_of("spin_alpha"));
    session.assert_share_of("jit", session.report.outcome("strays"));
    assert_eq!(session.report.outcome(STRAYS_FULL), 0);
}

#[test]
fn a_library_loaded_later_is_named() {
    let _machine = claim_machine!();
    let session = session::measured(|| session::take_usual(&mut Target::start(Workload::Dlopen)));
    // Whether its first ticks come before it has a region is the machine's business.
    session
        .assert_all_ticks_seen()
        .assert_shares()
        .assert_hot_in("libhot.so");
}

#[test]
fn a_full_table_of_strays_is_an_outcome() {
    let _machine = claim_machine!();
    let session = session::measured(|| {
        let mut target = Target::start(Workload::Jit);
        let profiler = Profiler::on(target.pid(), RATE).args(["--strays", "1"]);
        session::take(&mut target, profiler, RATE, window())
    });

    // What has no address is missing from the rows, and only there.
    let report = &session.report;
    let lost = report.outcome(STRAYS_FULL);
    assert!(lost > 0, "the table should overflow: {:?}", report.balance);
    assert!(
        report.outcome("strays") > 0,
        "one address fits: {:?}",
        report.balance
    );
    assert_eq!(
        report.balance.seen,
        report.ticks() + lost,
        "{:?}",
        report.balance
    );
    report.assert_all_ticks_seen();
    let alpha = report.ticks_of("spin_alpha");
    let share = session.split.share_of("spin_alpha");
    assert_share("spin_alpha", alpha, report.balance.seen, share);
}
