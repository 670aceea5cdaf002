//! `profil-bpf annotate` where there is nothing to annotate.

use std::fs;

use profil_tests::{Finished, Profiler, places};

use crate::run;

/// A profile of ours, of programs that are nowhere.
const SMALL: &[u8] = include_bytes!("../../profil-user/src/pprof/tests/small.pb");

#[track_caller]
fn annotate(bytes: &[u8], arguments: &[&str]) -> Finished {
    let dir = places::public_dir();
    fs::write(dir.path().join("small.pb"), bytes).expect("a file");
    let profiler = Profiler::new().arg("annotate").args(arguments);
    profiler.in_dir(dir.path()).run()
}

#[test]
fn code_that_is_nowhere_is_said() {
    for name in ["f(int)", "_Z1fi"] {
        annotate(SMALL, &[name, "small.pb"])
            .assert_code(1)
            .assert_clear_error()
            .assert_says("cannot annotate f(int) in prog")
            .assert_says("/bin/prog");
    }
    annotate(SMALL, &["h", "small.pb"])
        .assert_code(1)
        .assert_clear_error()
        .assert_says("no tick is in a function called h")
        .assert_says("g in libg.so (3)");
    annotate(SMALL, &["g", "small.pb", "--object", "prog"])
        .assert_code(1)
        .assert_clear_error()
        .assert_says("in an object that --object asks for; some are in one in: libg.so");
    // A name of somebody's who means the terminal.
    let finished = annotate(SMALL, &["\x1b[2J", "small.pb"]);
    finished.assert_code(1).assert_clear_error();
    assert!(!finished.stderr.contains('\x1b'));
    annotate(&[SMALL, &[0x50, 1]].concat(), &["g", "small.pb"])
        .assert_code(1)
        .assert_clear_error()
        .assert_says("small.pb");
    annotate(&SMALL[..20], &["g", "small.pb"])
        .assert_code(1)
        .assert_clear_error()
        .assert_says("small.pb");
}

#[test]
fn it_is_of_a_file_or_of_a_run() {
    let refused = |arguments: &[&str], text: &str| {
        run([&["annotate"], arguments].concat())
            .assert_code(2)
            .assert_clear_error()
            .assert_says(text);
    };
    let pid = std::process::id().to_string();
    refused(&["f"], "nothing to annotate");
    refused(&["f", "a.pb.gz", "--pid", &pid], "either a file");
    refused(&["f", "a.pb.gz", "--all"], "either a file");
    refused(&["f", "a.pb.gz", "-d", "1s"], "--duration");
    refused(&["f", "--pid", &pid, "--all"], "only one of");
    refused(&["f", "--all", "--per-thread"], "--per-thread");
    refused(&["f", "a.pb.gz", "--object", "[a"], "--object");
}
