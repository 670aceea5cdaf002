//! Wrong usage is status 2; help and version are status 0.

use profil_tests::Finished;

use crate::run;

/// An existing process, which is not touched: the arguments are wrong.
fn own_pid() -> String {
    std::process::id().to_string()
}

#[track_caller]
fn wrong_usage(arguments: &[&str]) -> Finished {
    let finished = run(arguments);
    finished.assert_code(2).assert_clear_error();
    finished
}

#[test]
fn pids_that_are_none() {
    let long = "9".repeat(30);
    for pid in [
        "0",
        "-1",
        "-4242",
        "self",
        "",
        " ",
        "12x",
        "1.5",
        "0x10",
        "4294967296",
        &long,
    ] {
        let pid = format!("--pid={pid}");
        wrong_usage(&[&pid]);
    }
}

#[test]
fn lists_with_junk() {
    for junk in ["x", "0", "-1", "", ",", "1x"] {
        let list = format!("--pid={},{junk}", own_pid());
        wrong_usage(&[&list]);
    }
}

#[test]
fn rates_that_are_none() {
    for rate in [
        "0",
        "200000",
        "abc",
        "-1",
        "",
        "1.5e9",
        "nan",
        "99999999999999999999",
    ] {
        let rate = format!("--rate={rate}");
        wrong_usage(&["--pid", &own_pid(), &rate]);
    }
}

#[test]
fn durations_that_are_none() {
    for duration in ["", "abc", "-1s", "10 parsecs", "0s", "0"] {
        let duration = format!("--duration={duration}");
        wrong_usage(&["--pid", &own_pid(), &duration]);
    }
}

#[test]
fn formats_that_are_none() {
    wrong_usage(&["--pid", &own_pid(), "-o", "x.xyz"]).assert_says("x.xyz");
    wrong_usage(&["--pid", &own_pid(), "-o", "nothing"]).assert_says("nothing");
    wrong_usage(&["--pid", &own_pid(), "-o", ""]);
    wrong_usage(&["--pid", &own_pid(), "--format", "xyz"]).assert_says("xyz");
}

#[test]
fn options_that_are_none() {
    wrong_usage(&["--pid", &own_pid(), "--no-such-option"]).assert_says("--no-such-option");
    wrong_usage(&["--pid", &own_pid(), "--strays", "0"]);
    wrong_usage(&["--pid"]);
}

#[test]
fn targets_that_are_none_or_too_many() {
    wrong_usage(&["--per-process"]).assert_says("--all");
    wrong_usage(&["--pid", &own_pid(), "--all"]).assert_says("only one of");
    wrong_usage(&["--tid", "1", "--", "true"]).assert_says("only one of");
    wrong_usage(&["--all", "--per-process", "--per-thread"]);
    wrong_usage(&["--all", "--offset", "main"]).assert_says("--pid PID");
    wrong_usage(&["--all", "-o", "gmon.out"]).assert_says("-o DIR/");
}

#[test]
fn no_arguments() {
    let finished = run::<&str>([]);
    finished.assert_code(2).assert_no_panic();
    assert!(
        finished.stdout.is_empty(),
        "usage errors go to stderr: {}",
        finished.stdout
    );
    finished.assert_says("--pid");
}

#[test]
fn help() {
    for flag in ["--help", "-h"] {
        let finished = run([flag]);
        finished.assert_code(0).assert_no_panic();
        assert!(finished.stderr.is_empty(), "{}", finished.stderr);
        for option in ["--pid", "--rate", "--duration", "--output"] {
            assert!(
                finished.stdout.contains(option),
                "{option} in:\n{}",
                finished.stdout
            );
        }
    }
}

#[test]
fn version() {
    let finished = run(["--version"]);
    finished.assert_code(0).assert_no_panic();
    assert!(
        finished.stdout.starts_with("profil-bpf "),
        "{}",
        finished.stdout
    );
    assert_eq!(finished.stdout.lines().count(), 1, "{}", finished.stdout);
}
