//! A second opinion: what an unmodified `gprof` reads in our files.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::process::Process;

/// A line of gprof's flat profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Part of the time of this object, in percent, to two digits.
    pub percent: f64,
    /// Seconds, to two digits.
    pub self_seconds: f64,
    /// The function.
    pub name: String,
}

/// Reads a profile of one object: `gprof -b -p OBJECT FILE`.
///
/// # Panics
///
/// If gprof fails, or complains, or its table is not understood.
pub fn flat_profile(object: &Path, file: &Path) -> Vec<Entry> {
    flat_profile_by(&mut Command::new("gprof"), object, file)
}

/// Reads a profile with the symbols of a table: `gprof -b -p -S SYMBOLS OBJECT FILE`.
///
/// # Panics
///
/// If gprof fails, or complains, or its table is not understood.
pub fn flat_profile_with_symbols(symbols: &Path, object: &Path, file: &Path) -> Vec<Entry> {
    flat_profile_by(Command::new("gprof").arg("-S").arg(symbols), object, file)
}

fn flat_profile_by(command: &mut Command, object: &Path, file: &Path) -> Vec<Entry> {
    command
        .args(["-b", "-p"])
        .arg(object)
        .arg(file)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let finished = Process::start(command).finish(Duration::from_secs(60));
    finished.assert_code(0);
    assert!(
        finished.stderr.is_empty(),
        "gprof complains:\n{}",
        finished.stderr
    );
    parse(&finished.stdout).unwrap_or_else(|| panic!("not gprof's table:\n{}", finished.stdout))
}

/// The entry of a function.
///
/// # Panics
///
/// If there is none.
#[track_caller]
pub fn entry<'a>(entries: &'a [Entry], name: &str) -> &'a Entry {
    match entries.iter().find(|entry| entry.name == name) {
        Some(entry) => entry,
        None => panic!("gprof knows no {name}: {entries:#?}"),
    }
}

/// Percent, cumulative seconds, self seconds, then three columns that are empty without call
/// counts, then the name.
fn parse(text: &str) -> Option<Vec<Entry>> {
    let heading = |line: &&str| line.trim_start().starts_with("time ");
    let table = text.lines().skip_while(|line| !heading(line)).skip(1);
    let entries: Vec<_> = table
        .take_while(|line| !line.trim().is_empty())
        .map(|line| {
            let mut words = line.split_whitespace();
            let percent = words.next()?.parse().ok()?;
            let self_seconds = words.nth(1)?.parse().ok()?;
            let mut rest: Vec<_> = words.collect();
            let calls = rest.iter().take_while(|word| word.parse::<f64>().is_ok());
            if calls.count() >= 3 {
                rest.drain(..3);
            }
            let name = rest.join(" ");
            Some(Entry {
                percent,
                self_seconds,
                name,
            })
        })
        .collect::<Option<_>>()?;
    (!entries.is_empty()).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let text = "\
Flat profile:

Each sample counts as 0.00100301 seconds.
  %   cumulative   self              self     total           
 time   seconds   seconds    calls  Ts/call  Ts/call  name    
 60.02      3.00     3.00                             spin_alpha
 29.98      4.50     1.50                             a::b(int, char)
 10.00      5.00     0.50     2412   199.23   199.23  called

";
        let entries = parse(text).expect("a table");
        assert_eq!(entries.len(), 3);
        assert_eq!(entry(&entries, "called").self_seconds, 0.5);
        assert_eq!(entry(&entries, "spin_alpha").percent, 60.02);
        assert_eq!(entry(&entries, "a::b(int, char)").self_seconds, 1.5);
    }

    #[test]
    fn an_empty_table_is_not_an_answer() {
        assert_eq!(
            parse("Flat profile:\n\n time   seconds   seconds\n\n"),
            None
        );
    }
}
