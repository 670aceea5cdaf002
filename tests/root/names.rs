//! Names of all kinds of objects: each on a real target that knows its own split.

use std::time::Duration;

use profil_tests::{
    Profiler, Target, Workload, claim_machine,
    session::{self, RATE, Session},
    statistics::assert_share,
};

/// Some thousand ticks: a name that is wrong is wrong by more than a few.
const TIME: Duration = Duration::from_secs(1);

/// Profiles a target for a second, by a profiler with further arguments.
#[track_caller]
fn profile(workload: Workload, arguments: &[&str]) -> Session {
    let mut target = Target::start(workload);
    let profiler = Profiler::on(target.pid(), RATE).args(arguments);
    session::take(&mut target, profiler, RATE, TIME)
}

#[test]
fn a_debug_file_that_is_linked() {
    let _machine = claim_machine!();
    let workload = Workload::DebugLink;
    profile(workload, &[])
        .assert_shares()
        .assert_hot_in(workload.hot_object());
}

#[test]
fn a_debug_file_of_the_same_build() {
    let _machine = claim_machine!();
    let workload = Workload::DebugBuildId;
    let dir = workload.executable().with_file_name("debug");
    let dir = dir.to_str().expect("a plain path");
    profile(workload, &["--debug-dir", "/nowhere", "--debug-dir", dir])
        .assert_shares()
        .assert_hot_in(workload.hot_object());
}

/// Checks the shares of two rows, which stand for `mix` and `whirl`.
#[track_caller]
fn assert_inlined(session: &Session, [mix, whirl]: [&str; 2]) {
    let total = session.report.ticks();
    let share = session.split.share_of("first") + session.split.share_of("second");
    assert_share(mix, session.report.ticks_of(mix), total, share);
    let share = session.split.share_of("third");
    assert_share(whirl, session.report.ticks_of(whirl), total, share);
    assert_eq!(session.report.rows_of(mix).count(), 1);
}

/// The row of the line that ends with `/* mark */`.
fn row_of_line(session: &Session, mark: &str) -> String {
    let end = format!("/* {mark} */");
    let source = include_str!("../workloads/inline.c");
    let index = source.lines().position(|line| line.ends_with(&end));
    let place = format!("inline.c:{}", index.expect("a marked line") + 1);
    let mut rows = session.report.rows.iter();
    let row = rows.find(|row| row.function.ends_with(&place));
    row.unwrap_or_else(|| panic!("no row of {place}: {:#?}", session.report.rows))
        .function
        .clone()
}

#[test]
fn inlined_functions_count_for_themselves() {
    let _machine = claim_machine!();
    let session = profile(Workload::Inline, &["--inline"]);
    assert_inlined(&session, ["mix", "whirl"]);
    // Unless nobody asked.
    profile(Workload::Inline, &[]).assert_shares();
}

#[test]
fn lines_from_compressed_debug_information() {
    let _machine = claim_machine!();
    let session = profile(Workload::InlineCompressed, &["--lines"]);
    let [mix, whirl] = ["mix", "whirl"].map(|mark| row_of_line(&session, mark));
    assert_inlined(&session, [&mix, &whirl]);
}

#[test]
fn inlined_functions_from_a_debug_file() {
    let _machine = claim_machine!();
    let session = profile(Workload::InlineStripped, &["--inline"]);
    assert_inlined(&session, ["mix", "whirl"]);
}

/// Nothing in the executable says where its functions are, and nobody guesses.
#[test]
fn a_debug_file_that_is_not_found() {
    let _machine = claim_machine!();
    let session = profile(Workload::DebugBuildId, &[]);
    let unnamed = session
        .report
        .rows
        .iter()
        .filter(|row| row.is_in("split-build-id") && row.function.ends_with("(stripped)"));
    let ticks: u64 = unnamed.map(|row| row.ticks).sum();
    assert_eq!(ticks, session.report.ticks_in("split-build-id"));
    assert!(ticks > session.report.ticks() * 9 / 10);
}
