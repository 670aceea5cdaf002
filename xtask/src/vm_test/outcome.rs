//! One leg from its kernel to its line in the summary.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::{
    Options,
    budgets::Budgets,
    console::Console,
    guest,
    machine::{End, Machine},
    matrix::Leg,
    verdict::{Verdict, Word},
};
use crate::{debian_archive::Absent, workspace};

/// How much of a failed leg's console is printed, in lines, if no test says more about itself.
const TAIL: usize = 60;

/// How much of it is printed at most.
const MOST: usize = 400;

/// What the guest says between `profil-bpf doctor` and the tests.
const DOCTOR_IS_DONE: &str = "VM: doctor is done";

/// What a leg leaves behind.
#[derive(Debug)]
pub(super) struct Outcome {
    /// For the summary.
    pub(super) line: String,
    /// Whether it is as it should be.
    pub(super) result: Result<()>,
}

/// What came of a leg's machine: its console and end, or why there was none.
#[derive(Debug)]
pub(super) struct Ran {
    result: Result<(String, End)>,
    took: Duration,
}

/// Boots the leg's kernel with this guest, and waits for its end.
pub(super) fn boot(
    leg: &Leg,
    kernel: Result<PathBuf>,
    guest: Option<&Path>,
    options: &Options,
) -> Ran {
    let start = Instant::now();
    let result = kernel.and_then(|kernel| run(leg, &kernel, guest, options));
    Ran {
        result,
        took: start.elapsed(),
    }
}

/// Judges what a leg's machine said.
pub(super) fn judge(leg: &Leg, ran: Ran, options: &Options, budgets: &mut Budgets) -> Outcome {
    let log = log_of(leg);
    let took = ran.took;
    match ran.result {
        Ok((text, end)) => {
            let console = Console::read(&text);
            if options.record && console.exit.is_some() && !console.programs.is_empty() {
                let kernel = console.release.as_deref().unwrap_or("unknown");
                budgets.record(&leg.to_string(), kernel, &console.programs);
            }
            let verdict = Verdict::of(&console, end, &leg.to_string(), budgets);
            if verdict.word != Word::Passed {
                print_excerpt(&text, &console, &log);
            }
            Outcome {
                line: line(leg, &verdict, &console, took),
                result: result(&verdict),
            }
        }
        Err(error) => {
            let allowed = leg.may_be_absent.filter(|_| error.is::<Absent>());
            let line = line(leg, &Verdict::not_run(), &Console::default(), took);
            match allowed {
                None => Outcome {
                    line: format!("{line}: {error:#}"),
                    result: Err(error.context("not run")),
                },
                Some(why) => Outcome {
                    line: format!("{line}, which is allowed ({why}): {error:#}"),
                    result: Ok(()),
                },
            }
        }
    }
}

fn run(leg: &Leg, kernel: &Path, guest: Option<&Path>, options: &Options) -> Result<(String, End)> {
    let log = log_of(leg);
    let initramfs = guest.context("there is no guest to run on it")?;
    if let Some(dir) = log.parent() {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    let machine = Machine {
        arch: leg.arch,
        accelerator: options.accel,
        kernel,
        initramfs,
        arguments: if leg.is_of_main_job && options.is_of_ci() {
            guest::MAIN_JOB
        } else {
            guest::ALL
        },
        limit: Duration::from_secs(options.timeout),
    };
    machine.run(&log, |line| {
        if options.verbose {
            println!("{leg}: {line}");
        }
    })
}

fn log_of(leg: &Leg) -> PathBuf {
    let logs = workspace::target_dir().join("vm/logs");
    logs.join(format!("{leg}.log"))
}

fn result(verdict: &Verdict) -> Result<()> {
    match verdict.word {
        Word::Passed => Ok(()),
        word => bail!("{word}: {}", verdict.reasons.join("; ")),
    }
}

/// `amd64-6.1  6.1.0-57-cloud-amd64  passed  52 passed, 0 failed, 0 skipped, 85.3 s`, and the
/// sizes of the BPF programs.
fn line(leg: &Leg, verdict: &Verdict, console: &Console, took: Duration) -> String {
    let release = console.release.as_deref().unwrap_or("-");
    let failed = console.counts.map_or(0, |counts| counts.failed);
    let mut line = format!(
        "{:12} {release:28} {:7} {:3} passed, {failed} failed, {} skipped, {:.1} s",
        leg.to_string(),
        verdict.word,
        console.passed(),
        console.skipped.len(),
        took.as_secs_f64()
    );
    for (name, figures) in &console.programs {
        let processed = figures
            .processed
            .map_or("?".into(), |count| count.to_string());
        line += &format!(
            "; {name}: {} instructions, {processed} processed",
            figures.instructions
        );
    }
    line
}

fn print_excerpt(text: &str, console: &Console, log: &Path) {
    println!("--- from {}:", log.display());
    if console.programs.is_empty() && text.contains(DOCTOR_IS_DONE) {
        // Why the kernel refused them is in what doctor says.
        for line in doctor(text) {
            println!("{line}");
        }
        println!("[…]");
    }
    for line in end_of(text) {
        println!("{line}");
    }
    println!("---");
}

/// What comes before the tests, its last part if it is long: a verifier's verdict is at its end.
fn doctor(text: &str) -> Vec<&str> {
    let lines = text.lines().take_while(|&line| line != DOCTOR_IS_DONE);
    let lines: Vec<_> = lines.collect();
    lines[lines.len().saturating_sub(MOST)..].to_vec()
}

/// What the failed tests say, or else the last lines.
fn end_of(text: &str) -> Vec<&str> {
    let lines: Vec<_> = text.lines().collect();
    let failures = lines.iter().position(|&line| line == "failures:");
    let start = failures.unwrap_or(lines.len().saturating_sub(TAIL));
    lines[start.max(lines.len().saturating_sub(MOST))..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm_test::guest::INIT;

    #[test]
    fn failed_tests_have_their_say() {
        let long = "noise\n".repeat(100);
        assert_eq!(end_of(&long).len(), TAIL);
        assert_eq!(end_of("one\ntwo\n"), ["one", "two"]);
        let text = format!("{long}failures:\n{long}failures:\n    a::b\n");
        assert_eq!(end_of(&text).len(), 103);
        let text = format!("failures:\n{}", long.repeat(10));
        assert_eq!(end_of(&text).len(), MOST);
    }

    #[test]
    fn a_refusal_is_shown() {
        let text = format!("refused\n{DOCTOR_IS_DONE}\nrunning\n");
        assert_eq!(doctor(&text), ["refused"]);
        assert!(INIT.contains(DOCTOR_IS_DONE));
    }
}
