//! The first screen of the README: what the main job prints on a terminal.

use std::{fs, io, path::Path, process::Command, time::Duration};

use profil_tests::{Terminal, places};

/// The command that the output stands below. The process has another number, and the program is built.
const COMMAND: &str = "$ cargo xtask run -- --pid 4242 --duration 10s";
const PID: &str = "4242";
const TIME: &str = "10s";

/// Rows, so that nothing scrolls away, and columns.
const SIZE: (u16, u16) = (60, 92);

/// Rows of the list that are kept.
const FUNCTIONS: usize = 5;

/// Profiles a process, and puts what is printed into the README.
///
/// # Errors
///
/// If the README cannot be read or written, or has no such block.
pub(crate) fn write(readme: &Path, pid: u32) -> io::Result<()> {
    let mut command = Command::new(places::profil_bpf());
    command.args(["--pid", &pid.to_string(), "--duration", TIME]);
    let mut terminal = Terminal::start(command, SIZE);
    let status = terminal.finish(Duration::from_secs(60));
    let lines = terminal.lines();
    if !status.success() {
        return Err(io::Error::other(lines.join("\n")));
    }
    let shown = shortened(&lines, pid);
    let text = fs::read_to_string(readme)?;
    let replaced = replaced(&text, &shown);
    let replaced = replaced.ok_or_else(|| io::Error::other(format!("no block with {COMMAND}")))?;
    fs::write(readme, replaced)
}

/// The report from its first line on, with the list cut off and the number of the README.
fn shortened(lines: &[String], pid: u32) -> String {
    let head = format!("pid {pid} ");
    let report = lines.iter().skip_while(|line| !line.starts_with(&head));
    let report: Vec<&str> = report.map(|line| line.trim_end()).collect();
    let list = report.iter().position(|line| line.starts_with("self%"));
    let list = list.map_or(0, |index| index + 1);
    let end = report[list..].iter().position(|line| line.is_empty());
    let end = end.map_or(report.len(), |length| list + length);
    // What says how many more there are is no function.
    let (kept, left) = (end.min(list + FUNCTIONS), end.saturating_sub(1));
    let mut shown: Vec<_> = report[..kept].iter().map(ToString::to_string).collect();
    if kept < left {
        shown.push("…".to_owned());
        shown.extend(report[left..].iter().map(ToString::to_string));
    }
    let text = shown.join("\n").replacen(&head, &format!("pid {PID} "), 1);
    text.trim_end().to_owned()
}

/// The README with another output below the command.
fn replaced(readme: &str, shown: &str) -> Option<String> {
    let (before, after) = readme.split_once(COMMAND)?;
    let end = after.find("\n```\n")?;
    Some(format!("{before}{COMMAND}\n{shown}{}", &after[end..]))
}
