//! The live view where there is nothing to draw on, or nobody to show.

use std::{process::Command, time::Duration};

use profil_tests::{Terminal, places};

use crate::run;

#[test]
fn without_a_terminal_there_is_one_line() {
    let finished = run(["top"]);
    finished.assert_code(1).assert_clear_error();
    finished.assert_says("top draws on a terminal, and standard input and output are none");
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
}

#[test]
fn two_ways_of_naming_somebody_are_wrong_usage() {
    let finished = run(["top", "--all", "--pid", "1"]);
    finished.assert_code(2).assert_clear_error();
    finished.assert_says("only one of --pid");
    for arguments in [
        ["top", "--pid", "0"],
        ["top", "--rate", "0"],
        ["top", "-d", "0"],
        ["top", "--output", "a.pb.gz"],
    ] {
        run(arguments).assert_code(2);
    }
}

#[test]
fn what_cannot_begin_leaves_the_terminal_alone() {
    // Far above what any kernel is built for.
    let mut command = Command::new(places::profil_bpf());
    command.args(["top", "--pid", "4194304"]);
    let mut terminal = Terminal::start(command, (24, 80));
    let before = format!("{:?}", terminal.settings());
    let status = terminal.finish(Duration::from_secs(20));
    assert_eq!(status.code(), Some(1));
    let said = String::from_utf8_lossy(terminal.bytes()).into_owned();
    assert!(said.starts_with("profil-bpf: "), "{said}");
    assert!(!said.contains('\x1b'), "{said:?}");
    assert_eq!(format!("{:?}", terminal.settings()), before);
}
