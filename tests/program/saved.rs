//! `profil-bpf report` on files of record, and on what only looks like one.

use std::fs;

use profil_tests::{Finished, Profiler, Report, places, recorded::Recorded};

use crate::run;

/// A profile of ours, with two objects that overlap, inlined functions and generated code.
const SMALL: &[u8] = include_bytes!("../../profil-user/src/pprof/tests/small.pb");

#[track_caller]
fn report(name: &str, bytes: &[u8], arguments: &[&str]) -> Finished {
    let dir = places::public_dir();
    fs::write(dir.path().join(name), bytes).expect("a file");
    let profiler = Profiler::new().args(["report", name]).args(arguments);
    profiler.in_dir(dir.path()).run()
}

#[track_caller]
fn rows(arguments: &[&str]) -> Vec<(String, String, u64)> {
    let finished = report("small.pb", SMALL, arguments);
    finished.assert_code(0);
    assert!(finished.stderr.is_empty(), "{}", finished.stderr);
    let rows = Report::of(&finished.stdout).rows.into_iter();
    rows.map(|row| (row.function, row.object, row.ticks))
        .collect()
}

#[track_caller]
fn assert_rows(arguments: &[&str], expected: &[(&str, &str, u64)]) {
    let rows = rows(arguments);
    let rows: Vec<_> = rows
        .iter()
        .map(|(function, object, ticks)| (&**function, &**object, *ticks))
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn all_that_is_in_it_is_shown() {
    let others = [
        ("g", "libg.so", 3),
        ("libg.so+0x1800 (no symbol here)", "libg.so", 2),
        ("0x7f000000 (generated code)", "[anonymous]", 1),
    ];
    assert_rows(&[], &[&[("f(int)", "prog", 10)], &others[..]].concat());
    let inlined = [("f(int)", "prog", 6), ("inner", "prog", 4)];
    assert_rows(&["--inline"], &[&inlined, &others[..]].concat());
    let finished = report("small.pb", SMALL, &[]);
    finished.assert_code(0);
    for text in [
        "command prog (pid 7)",
        "at 997 Hz",
        "in 1.50 s",
        "note: the clock followed CPUs",
    ] {
        assert!(
            finished.stdout.contains(text),
            "{text}:\n{}",
            finished.stdout
        );
    }
}

/// 10 of 16 ticks: sqrt(0.625 * 0.375 / 16).
#[test]
fn shares_have_errors() {
    let finished = report("small.pb", SMALL, &["--errors"]);
    finished.assert_code(0);
    let starts = |start: &str| {
        finished
            .stdout
            .lines()
            .any(|line| line.trim_start().starts_with(start))
    };
    assert!(starts("self%    error    cum%"), "{}", finished.stdout);
    assert!(starts("62.50  ± 12.10   62.50"), "{}", finished.stdout);
    let finished = report("small.pb", SMALL, &[]);
    assert!(!finished.stdout.contains('±'), "{}", finished.stdout);
}

/// Anybody may change a file, but then it is not ours any more: what it says of itself may be wrong.
#[test]
fn a_file_that_was_changed_is_read_as_another_tools() {
    // A second length of time, which takes the place of the first.
    let changed = [SMALL, &[0x50, 1]].concat();
    let finished = report("changed.pb", &changed, &[]);
    finished.assert_code(0);
    let report = Recorded::of(&finished.stdout);
    assert_eq!(report.ticks(), 16);
    assert_eq!(report.row("f(int)").ticks, 6);
    assert_eq!(report.row("inner").ticks, 4);
    assert_eq!(report.row("g").object, "libg.so");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("balance: "))
    );
    assert!(report.notes.iter().all(|note| !note.starts_with('#')));
}

#[test]
fn damage_is_named() {
    for (name, bytes) in [
        ("cut.pb", &SMALL[..SMALL.len() / 2]),
        ("short.pb.gz", &[0x1f, 0x8b, 8]),
        ("empty.pb.gz", &[]),
        ("other.pb", b"gmon\x01\0\0\0"),
    ] {
        let finished = report(name, bytes, &[]);
        finished
            .assert_code(1)
            .assert_clear_error()
            .assert_says(name);
    }
    run(["report", "no/such/file.pb.gz"])
        .assert_code(1)
        .assert_clear_error()
        .assert_says("no/such/file.pb.gz");
    run(["report", "/"]).assert_code(2).assert_clear_error();
}

#[test]
fn what_does_not_go_together_is_said() {
    let refused = |arguments: &[&str], what: &str| {
        run([&["report"], arguments].concat())
            .assert_code(2)
            .assert_clear_error()
            .assert_says(what);
    };
    refused(&["a.pb.gz", "--exe", "/proc/self/exe"], "--exe");
    refused(&["a.pb.gz", "b.pb.gz"], "at a time");
    refused(&["a.pb", "gmon.out"], "at a time");
    refused(
        &["gmon.out", "--exe", "/proc/self/exe", "--lines"],
        "by function",
    );
    // The beginning of a file tells, whatever its name.
    report("profile", &[0x1f, 0x8b, 8], &[])
        .assert_code(1)
        .assert_says("unpacked");
}

/// Ticks that a filter leaves out are said, and shares stay those of all.
#[test]
fn filters_say_what_they_leave_out() {
    assert_rows(&["--focus", "^f"], &[("f(int)", "prog", 10)]);
    assert_rows(
        &["--object", "libg*", "--focus", "."],
        &[("g", "libg.so", 3)],
    );
    let unnamed = [
        ("libg.so+0x1800 (no symbol here)", "libg.so", 2),
        ("0x7f000000 (generated code)", "[anonymous]", 1),
    ];
    assert_rows(&["--ignore", "^(f|g)"], &unnamed);
    assert_rows(&["--inline", "--focus", "inner"], &[("inner", "prog", 4)]);
    assert_rows(
        &["--min", "18.75"],
        &[("f(int)", "prog", 10), ("g", "libg.so", 3)],
    );
    let said = |arguments: &[&str]| report("small.pb", SMALL, arguments).stdout;
    let focused = said(&["--focus", "^g$", "--errors"]);
    assert!(focused.contains("18.75  ± 9.76"), "{focused}");
    assert!(
        focused.contains("\nfiltered out: 13 ticks, 81.25 ± 9.76 %\n"),
        "{focused}"
    );
    let nothing = said(&["--object", "nowhere.so"]);
    assert!(
        nothing.contains("none that the filters let through"),
        "{nothing}"
    );
    assert!(
        nothing.contains("filtered out: 16 ticks, 100.00 %"),
        "{nothing}"
    );
    assert!(!said(&[]).contains("filtered"));
}

#[test]
fn rows_are_of_what_was_asked_for() {
    let by = |what| report("small.pb", SMALL, &["--by", what]);
    for (what, row) in [
        ("object", "10  prog         /bin/prog"),
        ("object", "1  [anonymous]"),
        ("address", "6  f(int)+0x10"),
        ("address", "3  g+0x0"),
        ("line", "4  inner.h:2"),
        ("function", "10  f(int)"),
    ] {
        let finished = by(what);
        finished.assert_code(0);
        let has = finished.stdout.lines().any(|line| line.contains(row));
        assert!(has, "{row:?}:\n{}", finished.stdout);
        assert!(!finished.stdout.contains("filtered"), "{}", finished.stdout);
    }
    for what in ["process", "thread"] {
        let finished = by(what);
        finished.assert_code(1).assert_clear_error();
        finished.assert_says("told apart").assert_says("small.pb");
    }
}

#[test]
fn what_is_no_filter_is_refused() {
    for (flag, value) in [
        ("--focus", "("),
        ("--ignore", "[z-a]"),
        ("--object", "[a"),
        ("--min", "101"),
        ("--min", "-1"),
        ("--by", "size"),
    ] {
        run(["report", "a.pb.gz", flag, value])
            .assert_code(2)
            .assert_clear_error()
            .assert_says(flag);
    }
    run(["report", "a.pb.gz", "--by", "line", "--lines"]).assert_code(2);
    run(["--all", "--per-process", "--by", "thread"])
        .assert_code(2)
        .assert_clear_error()
        .assert_says("--by thread");
}

#[test]
fn profiles_add_up() {
    let dir = places::public_dir();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("a.pb"), SMALL).expect("a file");
    fs::write(path("b.pb"), SMALL).expect("a file");
    let profil = |arguments: &[&str]| Profiler::new().args(arguments).in_dir(dir.path()).run();
    let merged = profil(&["merge", "a.pb", "b.pb", "a.pb", "-o", "sum.pb.gz"]);
    merged.assert_code(0);
    let finished = profil(&["report", "sum.pb.gz"]);
    finished.assert_code(0);
    let report = Report::of(&finished.stdout);
    assert_eq!(report.ticks(), 48);
    assert_eq!(report.ticks_of("f(int)"), 30);
    assert_eq!(report.ticks_of("g"), 9);
    assert!(finished.stdout.contains("in 4.50 s"), "{}", finished.stdout);

    fs::write(path("changed.pb"), [SMALL, &[0x50, 1]].concat()).expect("a file");
    let refused = profil(&["merge", "a.pb", "changed.pb", "-o", "other.pb.gz"]);
    refused
        .assert_code(1)
        .assert_clear_error()
        .assert_says("changed.pb");
    for arguments in [
        &["a.pb", "-o", "x.pb.gz"][..],
        &["a.pb", "b.pb"],
        &["a.pb", "b.pb", "-o", "x.txt"],
    ] {
        let refused = profil(&[&["merge"], arguments].concat());
        refused.assert_code(2).assert_clear_error();
    }
    assert!(!path("other.pb.gz").exists() && !path("x.pb.gz").exists());
}

#[test]
fn what_changed_is_told_with_its_error() {
    let dir = places::public_dir();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("a.pb"), SMALL).expect("a file");
    fs::write(path("b.pb"), SMALL).expect("a file");
    let profil = |arguments: &[&str]| Profiler::new().args(arguments).in_dir(dir.path()).run();
    profil(&["merge", "a.pb", "-o", "c.pb", "b.pb", "a.pb"]).assert_code(0);
    let same = profil(&["diff", "a.pb", "c.pb"]);
    same.assert_code(0);
    assert_eq!(
        same.stdout.matches("not significant").count(),
        4,
        "{}",
        same.stdout
    );
    assert!(
        same.stdout
            .contains("\n0 of 4 changes are more than 2 standard errors")
    );
    let longer = profil(&["diff", "--absolute", "a.pb", "c.pb"]).stdout;
    // 10 and 30 ticks of 1.003009 ms; sqrt(20 (6/16 + 18/48)) of them is the error.
    assert!(
        longer.contains("+0.020  ± 0.004  0.010  0.030                   f(int)"),
        "{longer}"
    );
    let lines = profil(&["diff", "a.pb", "c.pb", "--by", "line"]).stdout;
    assert!(lines.contains("inner.h:2"), "{lines}");
    let objects = profil(&["diff", "a.pb", "c.pb", "--by", "object"]).stdout;
    assert!(objects.contains("libg.so"), "{objects}");
    profil(&["diff", "a.pb"])
        .assert_code(2)
        .assert_clear_error();
    profil(&["diff", "a.pb", "c.pb", "--by", "thread"])
        .assert_code(2)
        .assert_clear_error();
    let gone = profil(&["diff", "a.pb", "gone.pb"]);
    gone.assert_code(1)
        .assert_clear_error()
        .assert_says("gone.pb");
}
