//! What a person sees: progress that is refreshed in place, and a report that fits.

use std::{process::Command, time::Duration};

use profil_tests::{
    Target, Workload, claim_machine, places,
    process::Process,
    profiler::{PATIENCE, wait_until_attached},
    require_programs,
};

/// Columns of the terminal that the tests open: fewer than the report would like.
const COLUMNS: usize = 66;

/// Up to the first line of the last picture, and everything from there wiped.
const REDRAW: &str = "F\u{1b}[J";

/// What `profil-bpf` writes to a terminal, while it runs and at its end.
fn on_a_terminal(target: &mut Target) -> String {
    let shell = format!(
        "stty cols {COLUMNS} rows 24; exec {} --pid {} -d 3500ms",
        places::profil_bpf().display(),
        target.pid()
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &shell, "/dev/null"]);
    let process = Process::start(&mut script);
    target.go(Duration::from_secs(6));
    let finished = process.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    finished.stdout
}

/// Lines as they stand on the screen: without what moves the cursor.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character == '\u{1b}' {
            // A control sequence ends with its first letter.
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else if character != '\r' {
            plain.push(character);
        }
    }
    plain.lines().map(str::to_owned).collect()
}

#[test]
fn progress_is_refreshed_in_place_and_fits() {
    let _machine = claim_machine!();
    require_programs!("script", "stty");
    let mut target = Target::start(Workload::Pie);
    let screen = on_a_terminal(&mut target);
    let (progress, report) = screen
        .rsplit_once(REDRAW)
        .unwrap_or_else(|| panic!("nothing was refreshed: {screen:?}"));
    assert!(progress.matches(REDRAW).count() >= 2, "{progress:?}");
    for expected in ["target CPU", "Ctrl-C", "spin_alpha", " ticks"] {
        assert!(progress.contains(expected), "no {expected} in {progress:?}");
    }
    assert!(!report.contains("Ctrl-C"), "the last picture is wiped");
    assert!(report.contains("spin_alpha"), "{report:?}");

    for line in lines(progress).into_iter().chain(lines(report)) {
        assert!(
            line.chars().count() <= COLUMNS,
            "wider than the terminal: {line:?}"
        );
    }
}

#[test]
fn without_a_terminal_there_is_no_progress() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let mut command = Command::new(places::profil_bpf());
    command.args(["--pid", &target.pid().to_string(), "-d", "1500ms"]);
    let mut process = Process::start(&mut command);
    wait_until_attached(&mut process);
    target.go(Duration::from_secs(3));
    let finished = process.finish(PATIENCE);
    finished.assert_code(0);
    assert_eq!(finished.stderr, "");
    assert!(!finished.stdout.contains('\u{1b}'), "{:?}", finished.stdout);
}
