//! The live view, in a terminal: what is seen, what keys do, and that the terminal is as it was.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use profil_tests::{Profiler, Report, Target, Terminal, Workload, claim_machine, places};
use rustix::{process::Signal, termios::LocalModes};

/// How long anything may take to be seen.
const SOON: Duration = Duration::from_secs(10);

/// Rows and columns.
const SIZE: (u16, u16) = (24, 80);

/// What gives a terminal back: attributes, cursor, screen.
const GIVEN_BACK: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

fn top(arguments: &[&str]) -> Command {
    let mut command = Command::new(places::profil_bpf());
    command.arg("top").args(arguments);
    command
}

/// The view of a target that burns, once it has rows.
fn watch(target: &mut Target, directory: &Path) -> Terminal {
    let pid = target.pid().to_string();
    let mut command = top(&["--pid", &pid]);
    command.current_dir(directory);
    let mut terminal = Terminal::start(command, SIZE);
    target.go_and_hold(Duration::from_secs(60));
    terminal.wait_for_text("spin_alpha", SOON);
    terminal
}

/// The number in front of a word.
fn number_before(lines: &[String], word: &str) -> f64 {
    let line = lines.iter().find(|line| line.contains(word));
    let line = line.unwrap_or_else(|| panic!("no {word} in\n{}", lines.join("\n")));
    let first = line.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// Where a text begins: its line.
fn line_of(lines: &[String], text: &str) -> Option<usize> {
    lines.iter().position(|line| line.contains(text))
}

#[track_caller]
fn assert_given_back(terminal: &Terminal) {
    let modes = terminal.settings().local_modes;
    let usual = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    assert!(modes.contains(usual), "{modes:?}");
    let screen = terminal.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor());
    let bytes = terminal.bytes();
    let place = bytes
        .windows(GIVEN_BACK.len())
        .rposition(|part| part == GIVEN_BACK);
    let place = place.expect("it is given back");
    // Whatever is drawn is drawn before, and one line is said.
    let after = String::from_utf8_lossy(&bytes[place + GIVEN_BACK.len()..]);
    let is_balance = after.starts_with("balance: runs ") && after.lines().count() == 1;
    assert!(is_balance && !after.contains('\x1b'), "{after:?}");
}

#[test]
fn from_the_first_picture_to_a_file_and_the_end() {
    let _machine = claim_machine!();
    let directory = places::public_dir();
    let mut target = Target::start(Workload::Pie);
    let pid = target.pid().to_string();
    let mut terminal = watch(&mut target, directory.path());
    assert!(terminal.screen().alternate_screen() && terminal.screen().hide_cursor());
    assert!(!terminal.settings().local_modes.contains(LocalModes::ECHO));

    // Its functions share one CPU, each with its part: six, three and one in ten.
    // A second of a loaded machine can be any, but not every one.
    terminal.wait_for("the shares of all functions", SOON, |lines| {
        let names = ["spin_alpha", "spin_beta", "spin_gamma"];
        if names.iter().any(|name| line_of(lines, name).is_none()) {
            return false;
        }
        let [alpha, beta, gamma] = names.map(|name| number_before(lines, name));
        alpha > beta && beta > gamma && gamma > 0.0 && alpha + beta + gamma < 130.0
    });
    let balance = terminal.wait_for_text("runs ", SOON).join("\n");
    for text in [
        "binned",
        "strays",
        "seen",
        "due",
        "kernel memory",
        "own CPU",
    ] {
        assert!(balance.contains(text), "no {text}:\n{balance}");
    }

    // Names upwards, and downwards.
    terminal.press("5");
    terminal.wait_for_text("function▲", SOON);
    let lines = terminal.lines();
    assert!(line_of(&lines, "spin_alpha") < line_of(&lines, "spin_beta"));
    terminal.press("r");
    terminal.wait_for_text("function▼", SOON);
    let lines = terminal.lines();
    assert!(line_of(&lines, "spin_alpha") > line_of(&lines, "spin_beta"));

    // A filter, while it is typed; one that is none; and none.
    terminal.press("/^spin_b");
    terminal.wait_for("spin_beta alone", SOON, |lines| {
        line_of(lines, "spin_beta").is_some() && line_of(lines, "spin_alpha").is_none()
    });
    terminal.press("(");
    terminal.wait_for_text("not a regular expression", SOON);
    terminal.press("\x7f\r");
    terminal.wait_for_text("1 functions with /^spin_b/", SOON);
    terminal.press("\x7f");
    terminal.wait_for_text("spin_alpha", SOON);

    // Into the process, its function, and back.
    terminal.press("p");
    terminal.wait_for_text(&format!(" {pid} "), SOON);
    terminal.press("\r");
    terminal.wait_for_text(&format!("{pid} "), SOON);
    terminal.wait_for_text("spin_alpha", SOON);
    terminal.press("/^spin_alpha$\r");
    terminal.wait_for_text("1 functions with", SOON);
    terminal.press("\r");
    // With the instructions of its loop, and their lines.
    terminal.wait_for("instructions of spin_alpha", SOON, |lines| {
        let line = line_of(lines, "+0x").map(|line| &lines[line]);
        lines[0].contains("spin_alpha")
            && line.is_some_and(|line| line.contains("add ") && line.contains("hot.c:"))
    });
    terminal.press("\x7f");
    terminal.wait_for_text("1 functions with", SOON);

    // Another size.
    terminal.resize(10, 40);
    terminal.wait_for("a smaller picture", SOON, |lines| {
        lines.len() == 10 && lines[9].contains("? help") && lines[2].contains("10s▼")
    });
    terminal.resize(1, 1);
    terminal.read_for(Duration::from_millis(100));
    terminal.resize(SIZE.0, SIZE.1);
    terminal.wait_for("the picture again", SOON, |lines| {
        lines[23].contains("Space hold")
    });

    // Held, and the clock off and on.
    terminal.press(" ");
    terminal.wait_for_text("PICTURE HELD", SOON);
    terminal.press(" c");
    terminal.wait_for_text("CLOCK OFF", SOON);
    terminal.press("c");
    terminal.wait_for("the clock on", SOON, |lines| {
        !lines[0].contains("CLOCK OFF")
    });

    // A file.
    terminal.press("s\x15/nonexistent/a.pb.gz\r");
    terminal.wait_for_text("cannot write to /nonexistent/a.pb.gz", SOON);
    terminal.press("s");
    terminal.wait_for_text(&format!("save as: profil-bpf-{pid}-2"), SOON);
    terminal.press("\x15saved.pb.gz\r");
    terminal.wait_for_text("ticks as saved.pb.gz", SOON);
    let file = directory.path().join("saved.pb.gz");

    terminal.press("q");
    let status = terminal.finish(SOON);
    assert_eq!(status.code(), Some(0));
    assert_given_back(&terminal);
    let said = terminal.lines().join("\n");
    assert!(said.starts_with("balance: runs "), "{said}");

    let report = Profiler::new().arg("report").arg(&file).run();
    report.assert_code(0);
    let report = Report::of(&report.stdout);
    report.assert_conserved();
    assert!(report.ticks_of("spin_alpha") > 100);
    assert_eq!(places::names_in(directory.path()), ["saved.pb.gz"]);
}

#[test]
fn what_is_saved_in_the_middle_adds_up() {
    let _machine = claim_machine!();
    let directory = places::public_dir();
    let mut target = Target::start(Workload::Pie);
    let name = fs::read_to_string(format!("/proc/{}/comm", target.pid())).expect("it runs");
    // Ticks of every process are taken out of a table, and are under way all the time.
    let mut command = top(&["--comm", name.trim_end(), "--rate", "4999"]);
    command.current_dir(directory.path());
    let mut terminal = Terminal::start(command, SIZE);
    target.go_and_hold(Duration::from_secs(60));
    terminal.wait_for_text("spin_alpha", SOON);
    terminal.press("s\x15middle.pb.gz\r");
    terminal.wait_for_text("ticks as middle.pb.gz", SOON);
    terminal.press("q");
    assert_eq!(terminal.finish(SOON).code(), Some(0));
    let file = directory.path().join("middle.pb.gz");
    let report = Profiler::new().arg("report").arg(&file).run();
    report.assert_code(0);
    Report::of(&report.stdout).assert_conserved();
}

#[test]
fn the_terminal_is_given_back_at_every_signal() {
    let _machine = claim_machine!();
    let directory = places::public_dir();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut target = Target::start(Workload::Pie);
        let mut terminal = watch(&mut target, directory.path());
        terminal.signal(signal);
        let status = terminal.finish(SOON);
        assert_eq!(
            (status.code(), status.signal()),
            (Some(0), None),
            "{signal:?}"
        );
        assert_given_back(&terminal);
    }
}

#[test]
fn settings_come_back_as_they_were() {
    let _machine = claim_machine!();
    let mut terminal = Terminal::start(top(&["-d", "700ms"]), SIZE);
    let before = format!("{:?}", terminal.settings());
    terminal.wait_for_text("all processes", SOON);
    let meanwhile = format!("{:?}", terminal.settings());
    let status = terminal.finish(SOON);
    assert_eq!(status.code(), Some(0), "its time is up");
    assert_ne!(meanwhile, before);
    assert_eq!(format!("{:?}", terminal.settings()), before);
    assert_given_back(&terminal);
}

#[test]
fn the_last_picture_stays_when_the_target_ends() {
    let _machine = claim_machine!();
    let directory = places::public_dir();
    let mut target = Target::start(Workload::Pie);
    let mut terminal = watch(&mut target, directory.path());
    drop(target);
    terminal.wait_for_text("the target has ended", SOON);
    terminal.wait_for_text("ENDED", SOON);
    terminal.wait_for_text("spin_alpha", SOON);
    terminal.press("s\x15late.pb.gz\r");
    terminal.wait_for_text("ticks as late.pb.gz", SOON);
    terminal.press("\x03");
    assert_eq!(terminal.finish(SOON).code(), Some(0));
    assert_given_back(&terminal);
    assert!(fs::metadata(directory.path().join("late.pb.gz")).is_ok());
}

#[test]
fn a_terminal_that_takes_nothing_does_not_keep_it() {
    let _machine = claim_machine!();
    // Larger than what a terminal keeps for who does not read.
    let terminal = Terminal::start(top(&[]), (200, 400));
    let mut terminal = terminal;
    std::thread::sleep(Duration::from_secs(2));
    assert!(terminal.ended().is_none());
    terminal.signal(Signal::TERM);
    let end = Instant::now() + SOON;
    while terminal.ended().is_none() {
        assert!(Instant::now() < end, "it waits for the terminal");
        std::thread::sleep(Duration::from_millis(10));
    }
}
