//! Where in a function its time goes, on real targets.

use std::{fs, time::Duration};

use profil_tests::{
    Annotated, Profiler, Report, Split, Target, Workload, claim_machine, places, process::Finished,
    profiler::PATIENCE, session::RATE, statistics::assert_share,
};
use rustix::process::Signal;

/// Some hundred ticks.
const TIME: Duration = Duration::from_millis(700);

/// Lets a target run with a profiler that was told of it, and ends that while the target sleeps.
#[track_caller]
fn take(target: &mut Target, profiler: Profiler) -> (Split, Finished) {
    let process = profiler.attach();
    target.go_and_hold(TIME);
    let split = target.split();
    process.signal(Signal::INT);
    let finished = process.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    (split, finished)
}

/// Its loop is on one line, which was inlined twice, and the account is its own.
#[test]
fn the_hottest_line_is_that_of_the_loop() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Inline);
    // It was built elsewhere.
    let source = include_str!("../workloads/inline.c");
    let sources = places::public_dir();
    fs::write(sources.path().join("inline.c"), source).expect("a file");
    let profiler = Profiler::new()
        .args(["annotate", "third", "--source-dir"])
        .arg(sources.path())
        .on_pid(target.pid(), RATE);
    let (split, finished) = take(&mut target, profiler);
    let annotated = Annotated::of(&finished.stdout);
    annotated.assert_conserved();
    let (ticks, total) = annotated.ticks;
    assert_share("third", ticks, total, split.share_of("third"));

    let hottest = annotated.source("/inline.c").hottest();
    let (number, line) = source
        .lines()
        .zip(1..)
        .find_map(|(line, number)| line.ends_with("/* whirl */").then_some((number, line)))
        .expect("a marked line");
    assert_eq!(hottest.key, number.to_string(), "{}", finished.stdout);
    assert_eq!(hottest.text.trim_start(), line.trim_start());
    assert!(hottest.ticks() > ticks * 9 / 10, "{}", finished.stdout);
    // It is first of all.
    let first = &annotated.lists[0];
    assert_eq!(first.title, "hottest lines");
    assert_eq!(first.rows[0].key, format!("inline.c:{number}"));
}

/// What a file says is what the report says; and the kernel's time is at the instruction after the one by
/// which it was entered.
#[test]
fn system_time_is_at_the_instruction_after_the_call() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let file = dir.path().join("saved.pb.gz");
    let mut target = Target::start(Workload::System);
    let profiler = Profiler::on(target.pid(), RATE).output(&file);
    let (_, finished) = take(&mut target, profiler);
    let report = Report::of(&finished.stdout);
    report.assert_conserved();

    let finished = Profiler::new()
        .args(["annotate", "read_zeros"])
        .arg(&file)
        .run();
    finished.assert_code(0).assert_no_panic();
    let annotated = Annotated::of(&finished.stdout);
    annotated.assert_conserved();
    let expected = (report.ticks_of("read_zeros"), report.ticks());
    assert_eq!(annotated.ticks, expected);
    let rows = &annotated.instructions().rows;
    let (before, hottest) = (0..rows.len())
        .find_map(|index| {
            rows[index]
                .is_hottest
                .then(|| (&rows[index - 1], &rows[index]))
        })
        .expect("something is hot");
    let enters = ["syscall", "svc "]
        .iter()
        .any(|call| before.text.starts_with(call));
    assert!(enters, "{before:?}\n{}", finished.stdout);
    assert!(hottest.system > 20, "{}", finished.stdout);
    // All but what other interrupts did for it, wherever they came.
    let system: u64 = rows.iter().map(|row| row.system).sum();
    assert!(hottest.system * 20 >= system * 19, "{}", finished.stdout);
}
