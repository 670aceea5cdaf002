//! Outputs that cannot be opened: said before anything is attached.

use std::{fs, os::unix::fs::symlink};

use profil_tests::{Profiler, Target, Workload, places};

use crate::run;

#[test]
fn a_directory_that_does_not_exist() {
    let target = Target::start(Workload::Idle);
    let finished = run([
        "--pid",
        &target.pid().to_string(),
        "-o",
        "no/such/dir/gmon.out",
    ]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("no/such/dir");
}

#[test]
fn a_directory_that_takes_no_files() {
    let target = Target::start(Workload::Idle);
    // Root may write anywhere but here.
    let finished = run([
        "--pid",
        &target.pid().to_string(),
        "-o",
        "/proc/self/gmon.out",
    ]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("/proc/self");
}

#[test]
fn a_file_that_is_a_directory() {
    let target = Target::start(Workload::Idle);
    let dir = places::public_dir();
    let output = dir.path().join("gmon.out");
    fs::create_dir(&output).expect("a directory");
    let output = output.to_str().expect("a plain path");
    let finished = run(["--pid", &target.pid().to_string(), "-o", output]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("gmon.out");
    assert_eq!(places::names_in(dir.path()), ["gmon.out"]);
}

#[test]
fn a_directory_that_is_a_file() {
    let target = Target::start(Workload::Idle);
    let dir = places::public_dir();
    fs::write(dir.path().join("profiles"), "mine").expect("a file");
    let output = format!("{}/profiles/", dir.path().display());
    let finished = run(["--pid", &target.pid().to_string(), "-o", &output]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("profiles");
    assert_eq!(
        fs::read(dir.path().join("profiles")).expect("the file"),
        b"mine"
    );
}

#[test]
fn the_second_output_fails_and_the_first_is_not_left_behind() {
    let target = Target::start(Workload::Idle);
    let pid = target.pid().to_string();
    let finished = run([
        "--pid",
        &pid,
        "-o",
        "gmon.out",
        "-o",
        "no/such/dir/gmon.out",
    ]);
    finished.assert_code(1).assert_clear_error();
}

#[test]
fn an_error_keeps_the_old_file() {
    let dir = places::public_dir();
    let old = dir.path().join("gmon.out");
    fs::write(&old, "an older profile").expect("a file");
    let target = Target::start(Workload::Idle);
    let finished = Profiler::on(target.pid(), 997)
        .output("gmon.out")
        .output("no/such/dir/gmon.out")
        .in_dir(dir.path())
        .run();
    finished.assert_code(1).assert_clear_error();
    assert_eq!(fs::read(&old).expect("the old file"), b"an older profile");
    assert_eq!(places::names_in(dir.path()), ["gmon.out"]);
}

#[test]
fn a_link_to_nowhere() {
    let dir = places::public_dir();
    symlink("no/such/dir/gmon.out", dir.path().join("gmon.out")).expect("a link");
    let target = Target::start(Workload::Idle);
    let finished = Profiler::on(target.pid(), 997)
        .args(["-d", "100ms"])
        .output("gmon.out")
        .in_dir(dir.path())
        .run();
    // Either the link is refused or it is replaced; nothing appears elsewhere.
    finished.assert_no_panic();
    assert_eq!(places::names_in(dir.path()), ["gmon.out"]);
}

/// Whoever names a file can put there what a terminal obeys.
#[test]
fn a_path_with_an_escape_sequence_is_shown_as_text() {
    let target = Target::start(Workload::Idle);
    let finished = run([
        "--pid",
        &target.pid().to_string(),
        "-o",
        "no\x1b[31m/such\u{202e}/gmon.out",
    ]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says(r"no\u{1b}[31m/such\u{202e}");
    assert!(!finished.stderr.contains(['\x1b', '\u{202e}']));
}
