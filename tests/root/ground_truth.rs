//! Every kind of target: the profiler says what the target measured.

use profil_tests::{Target, Workload, claim_machine, session};

/// Profiles a target of one image; its hot functions must be found where they are.
#[track_caller]
fn agrees(workload: Workload) {
    let session = session::measured(|| session::take_usual(&mut Target::start(workload)));
    session
        .assert_all_ticks_seen()
        .assert_shares()
        .assert_hot_in(workload.hot_object());
}

#[test]
fn non_pie() {
    let _machine = claim_machine!();
    agrees(Workload::NonPie);
}

#[test]
fn pie() {
    let _machine = claim_machine!();
    agrees(Workload::Pie);
}

#[test]
fn static_non_pie() {
    let _machine = claim_machine!();
    agrees(Workload::Static);
}

#[test]
fn static_pie() {
    let _machine = claim_machine!();
    agrees(Workload::StaticPie);
}

#[test]
fn stripped_with_dynamic_symbols() {
    let _machine = claim_machine!();
    agrees(Workload::DynamicSymbolsOnly);
}

#[test]
fn shared_library() {
    let _machine = claim_machine!();
    agrees(Workload::SharedLibrary);
}

#[test]
fn eight_threads_half_of_them_started_later() {
    let _machine = claim_machine!();
    let session = session::measured(|| {
        session::take_usual(&mut Target::start_with(Workload::Pie, &["--threads", "8"]))
    });
    session
        .assert_all_ticks_seen()
        .assert_shares()
        .assert_hot_in(Workload::Pie.hot_object());
}

#[test]
fn one_instruction() {
    let _machine = claim_machine!();
    let session = session::measured(|| session::take_usual(&mut Target::start(Workload::One)));
    session
        .assert_all_ticks_seen()
        .assert_shares()
        .assert_hot_in("one");
}
