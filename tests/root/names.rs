//! Names of all kinds of objects: each on a real target that knows its own split.

use std::{fs, path::PathBuf, process::Command, time::Duration};

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
    assert!(!session.finished.stderr.contains("debug information"));
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

/// The map that a target leaves behind.
struct PerfMap(PathBuf);

impl PerfMap {
    fn of(target: &Target) -> Self {
        Self(format!("/tmp/perf-{}.map", target.pid()).into())
    }
}

impl Drop for PerfMap {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// What the target calls its generated code.
const MADE: &str = "JS:~made here.js:1";

#[test]
fn generated_code_has_the_name_that_the_process_gives() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Jit, &["--perf-map"]);
    let _map = PerfMap::of(&target);
    let profiler = Profiler::on(target.pid(), RATE);
    let session = session::take(&mut target, profiler, RATE, TIME);
    session
        .assert_share_of("jit", session.report.ticks_of(MADE))
        .assert_share_of("spin_alpha", session.report.ticks_of("spin_alpha"));
}

#[test]
fn a_map_of_somebody_else_is_not_believed() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Jit, &[]);
    let map = PerfMap::of(&target);
    // Everything has a name there.
    fs::write(&map.0, format!("0 {:x} wrong\n", u64::MAX)).expect("a map");
    std::os::unix::fs::chown(&map.0, Some(65534), None).expect("another owner");
    let profiler = Profiler::on(target.pid(), RATE);
    let session = session::take(&mut target, profiler, RATE, TIME);
    assert_eq!(session.report.ticks_of("wrong"), 0);
    let refused = ticks_ending(
        &session,
        "(generated code; its perf map is of another user)",
    );
    session.assert_share_of("jit", refused);
}

/// Ticks of rows that end with a text.
fn ticks_ending(session: &Session, end: &str) -> u64 {
    let rows = session.report.rows.iter();
    let rows = rows.filter(|row| row.function.ends_with(end));
    rows.map(|row| row.ticks).sum()
}

/// Another file is mounted over the executable, the process is number 1, and its `/tmp` is not
/// ours: what its names are in our own file system would all be wrong.
#[test]
fn in_a_container() {
    let _machine = claim_machine!();
    let program = Workload::Idle.executable();
    let mut command = Command::new(Workload::Contain.executable());
    command
        .arg(Workload::Jit.executable())
        .arg(&program)
        .arg("--perf-map");
    let mut target = Target::start_below(command, program);
    let profiler = Profiler::on(target.pid(), RATE).arg("--per-process");
    let session = session::take(&mut target, profiler, RATE, TIME);
    // Both its numbers are said.
    let (head, _) = &session.report.tasks[0];
    let outer = format!("pid {} (", target.pid());
    assert!(head.starts_with(&outer), "{head}");
    assert!(head.contains(", 1 in its own PID namespace"), "{head}");
    session
        .assert_share_of("jit", session.report.ticks_of(MADE))
        .assert_share_of("spin_alpha", session.report.ticks_of("spin_alpha"));
    assert!(!PerfMap::of(&target).0.exists());
}

/// Nothing in the executable says where its functions are, and nobody guesses.
#[test]
fn a_debug_file_that_is_not_found() {
    let _machine = claim_machine!();
    let session = profile(Workload::DebugBuildId, &["--inline"]);
    session.finished.assert_says("without debug information");
    let report = &session.report;
    let stripped = ticks_ending(&session, "(stripped)");
    assert!(stripped > report.ticks() * 9 / 10, "{:#?}", report.rows);
    let mut here = report.rows.iter().filter(|row| row.is_in("split-build-id"));
    // What a linkage table is its section tells.
    let is_unnamed = |name: &str| name.ends_with("(stripped)") || name.ends_with("(PLT)");
    assert!(
        here.all(|row| is_unnamed(&row.function)),
        "{:#?}",
        report.rows
    );
}
