//! `profil-bpf report FILE -o …`: saved profiles in every other format.

use std::fs;

use profil_tests::{Finished, Profiler, Report, places};
use tempfile::TempDir;

use crate::run;

/// A profile of ours of 16 ticks, with functions, an address without a name and generated code.
const SMALL: &[u8] = include_bytes!("../../profil-user/src/pprof/tests/small.pb");

#[track_caller]
fn report(bytes: &[u8], arguments: &[&str]) -> (TempDir, Finished) {
    let dir = places::public_dir();
    fs::write(dir.path().join("small.pb"), bytes).expect("a file");
    let profiler = Profiler::new().args(["report", "small.pb"]).args(arguments);
    let finished = profiler.in_dir(dir.path()).run();
    (dir, finished)
}

/// What is written to a file of this name, which is what standard output gets in that format.
#[track_caller]
fn written(name: &str, format: &str) -> String {
    let (dir, finished) = report(SMALL, &["-o", name]);
    finished.assert_code(0);
    assert_eq!(finished.stdout, "");
    let file = fs::read_to_string(dir.path().join(name)).expect("a text");
    let (_dir, finished) = report(SMALL, &["--format", format]);
    finished.assert_code(0);
    assert_eq!(finished.stdout, file);
    file
}

#[test]
fn folded_stacks_add_up() {
    let folded = written("a.folded", "folded");
    let counts = folded.lines().filter_map(|line| line.rsplit_once(' '));
    let total: u64 = counts
        .map(|(_, ticks)| ticks.parse::<u64>().expect("ticks"))
        .sum();
    assert_eq!(total, 16);
    assert!(folded.contains("prog;prog;f(int) 10\n"), "{folded}");
}

#[test]
fn a_flame_graph_has_frames() {
    let svg = written("a.svg", "svg");
    assert!(
        svg.contains("<title>f(int) (10 ticks, 62.50%)</title>"),
        "{svg}"
    );
}

#[test]
fn json_is_json() {
    let json: serde_json::Value = serde_json::from_str(&written("a.json", "json")).expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    let ticks =
        |row: &serde_json::Value| row["user"].as_u64().unwrap() + row["system"].as_u64().unwrap();
    assert_eq!(rows.iter().map(ticks).sum::<u64>(), 16);
    assert_eq!(json["subject"], "command prog (pid 7)");
}

#[test]
fn csv_has_a_line_a_row() {
    let csv = written("a.csv", "csv");
    assert_eq!(csv.split_terminator("\r\n").count(), 1 + 4);
    assert!(csv.contains("\"f(int)\""), "{csv}");
}

#[test]
fn speedscope_has_nanoseconds() {
    let text = written("a.speedscope.json", "speedscope");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["profiles"][0]["endValue"], 16 * 1_003_009);
}

#[test]
fn text_is_what_is_printed_and_pprof_what_was_read() {
    let (_dir, printed) = report(SMALL, &[]);
    assert_eq!(written("a.txt", "text"), printed.stdout);
    let (dir, finished) = report(SMALL, &["-o", "again.pb", "-o", "a.syms", "-o", "gmon.out"]);
    finished.assert_code(0);
    assert_eq!(
        fs::read(dir.path().join("again.pb")).expect("a file"),
        SMALL
    );
    let gmon = fs::read(dir.path().join("gmon.out")).expect("a file");
    assert!(gmon.starts_with(b"gmon\x01\0\0\0"));
    let syms = fs::read_to_string(dir.path().join("a.syms")).expect("a text");
    assert!(syms.contains("_Z1fi"), "{syms}");
}

#[test]
fn rows_are_those_that_are_asked_for() {
    let (_dir, finished) = report(SMALL, &["--format", "folded", "--inline"]);
    assert!(
        finished.stdout.contains("prog;prog;inner 4\n"),
        "{}",
        finished.stdout
    );
}

#[test]
fn what_cannot_be_written_is_said() {
    let (dir, finished) = report(SMALL, &["-o", "a.buf"]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("region");
    let (_dir, of_others) = report(&[SMALL, &[0x50, 1]].concat(), &["-o", "a.json"]);
    of_others
        .assert_code(1)
        .assert_clear_error()
        .assert_says("small.pb");
    let (_dir, finished) = report(SMALL, &["-o", "dir/", "--format", "csv"]);
    finished
        .assert_code(2)
        .assert_clear_error()
        .assert_says("csv");
    let (_dir, finished) = report(SMALL, &["-o", "a.xyz"]);
    finished
        .assert_code(2)
        .assert_clear_error()
        .assert_says("*.speedscope.json");
    run([
        "report",
        "gmon.out",
        "--exe",
        "/proc/self/exe",
        "-o",
        "a.json",
    ])
    .assert_code(2)
    .assert_says("pb.gz");
    let names: Vec<_> = fs::read_dir(dir.path()).expect("a directory").collect();
    assert_eq!(names.len(), 1, "nothing is left behind");
}

#[test]
fn a_report_is_read_by_the_reader_of_reports() {
    let rows = Report::of(&written("a.txt", "text")).rows;
    assert_eq!(rows.iter().map(|row| row.ticks).sum::<u64>(), 16);
}

#[test]
fn a_report_is_in_the_manner_that_is_asked_for() {
    for (style, row) in [
        ("perf", "    62.50%  prog     prog           [.] f(int)\n"),
        (
            "gprof",
            " 62.50      0.01     0.01                             f(int)\n",
        ),
        (
            "prof",
            "  62.5    0.01    0.01                      f(int)\n",
        ),
    ] {
        let (dir, finished) = report(SMALL, &["--style", style, "-o", "a.txt"]);
        finished.assert_code(0);
        let file = fs::read_to_string(dir.path().join("a.txt")).expect("a text");
        let (_dir, printed) = report(SMALL, &["--style", style]);
        printed.assert_code(0);
        assert_eq!(printed.stdout, file);
        assert!(file.contains(row), "{file}");
    }
    report(SMALL, &["--style", "vtune"])
        .1
        .assert_code(2)
        .assert_clear_error();
}

/// What filters leave out, 3 of 16 ticks here, is in no format for other programs, and shares stay those
/// of all.
#[test]
fn filters_and_errors_go_into_other_formats() {
    let filters = ["--ignore", "^g$"];
    let in_format = |format: &str, more: &[&str]| {
        let arguments = [&["--format", format], &filters[..], more].concat();
        let (_dir, finished) = report(SMALL, &arguments);
        finished.assert_code(0);
        finished.stdout
    };
    let folded = in_format("folded", &[]);
    assert!(
        folded.contains("f(int) 10\n") && !folded.contains(";g "),
        "{folded}"
    );
    let json: serde_json::Value = serde_json::from_str(&in_format("json", &[])).expect("JSON");
    assert_eq!(json["filtered_out"], 3);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(3));
    let csv = in_format("csv", &["--errors"]);
    let rows: Vec<_> = csv.split_terminator("\r\n").collect();
    assert!(rows[0].ends_with(",percent,error"), "{csv}");
    assert!(rows[1].ends_with(",62.5000,12.1031"), "{csv}");
    for (style, share) in [
        ("perf", "62.50%"),
        ("gprof", " 62.50 "),
        ("prof", "  62.5 "),
    ] {
        let text = in_format("text", &["--style", style]);
        assert!(text.contains(share), "{text}");
        assert!(text.contains("filtered out: 3 ticks, 18.75 %\n"), "{text}");
    }
    let perf = in_format("text", &["--style", "perf", "--errors"]);
    assert!(perf.contains("62.50%  ± 12.10  prog"), "{perf}");
    assert!(
        perf.contains("# filtered out: 3 ticks, 18.75 ± 9.76 %\n"),
        "{perf}"
    );
    for style in ["gprof", "prof"] {
        report(SMALL, &["--style", style, "--errors"])
            .1
            .assert_code(2)
            .assert_clear_error()
            .assert_says("--style");
    }
}

/// A row of an object is no function.
#[test]
fn objects_go_into_other_formats() {
    let in_format = |format: &str| {
        let (_dir, finished) = report(SMALL, &["--format", format, "--by", "object"]);
        finished.assert_code(0);
        finished.stdout
    };
    let folded = in_format("folded");
    assert!(folded.contains("prog;prog 10\n"), "{folded}");
    let json: serde_json::Value = serde_json::from_str(&in_format("json")).expect("JSON");
    for row in json["rows"].as_array().expect("rows") {
        assert!(row["function"].is_null() && row["address"].is_null());
        assert!(row["object"].is_number());
    }
    let csv = in_format("csv");
    assert!(csv.contains(",\"libg.so\",,,,,,"), "{csv}");
    let (_dir, finished) = report(SMALL, &["-o", "a.json", "--by", "thread"]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("--per-thread");
}
