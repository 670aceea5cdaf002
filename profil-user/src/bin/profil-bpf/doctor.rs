//! `profil-bpf doctor`: what this machine can do, in lines for people, or as JSON.
//!
//! It is what a report of a fault should have with it, so nothing in it names the machine, its users or
//! their directories.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use anyhow::Context as _;
use profil_user::{
    LoadError, StartError,
    doctor::{Diagnosis, Finding, PROGRAM, Trial, Verdict, bpf_object, examine, findings},
    export::printable,
    hz::{Figure, figures},
};
use serde_json::{Value, json};

use crate::talk;

/// Lines of a verifier's log that are shown: its end says why.
const LOG_LINES: usize = 60;

/// What is said at the end, because whoever passes it on should know.
const NOTHING_SECRET: &str =
    "no host name, user name or directory is in this: attach it to the report of a fault";

/// Examines the machine and prints what was found. Whether a profile can be taken.
pub(crate) fn run(as_json: bool) -> anyhow::Result<bool> {
    let diagnosis = examine();
    let mut all = findings(&diagnosis);
    all.extend(clocks(&figures()));
    let trial = diagnosis.trial.as_ref().map_err(|error| {
        let mut failure = Failure::of(error);
        // Once is enough.
        failure
            .mend
            .take_if(|mend| all.iter().any(|found| found.mend.as_ref() == Some(mend)));
        failure
    });
    let text = if as_json {
        format!("{:#}\n", as_value(&all, &trial))
    } else {
        as_text(&all, &trial, log_of(&diagnosis))
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("cannot write the report")?;
    if diagnosis.trial.is_err() {
        talk::note("no profile can be taken here; the report says what is missing");
    }
    Ok(diagnosis.trial.is_ok())
}

/// Why the trial came to nothing, and what to do.
struct Failure {
    error: String,
    mend: Option<String>,
}

impl Failure {
    fn of(error: &StartError) -> Self {
        Self {
            error: talk::chain(std::iter::successors(
                Some(error as &(dyn std::error::Error + 'static)),
                |error| error.source(),
            )),
            mend: error.hint_for(PROGRAM),
        }
    }
}

/// The clocks that matter for a profile, of those that `profil-bpf clock` tells.
fn clocks(figures: &[Figure]) -> Vec<Finding> {
    const SECTION: &str = "clocks";
    let shown = ["hz", "stathz", "profhz", "timer_resolution"];
    let lines = figures.iter().filter(|figure| shown.contains(&figure.name));
    let lines = lines.map(|figure| match figure.value {
        Some(value) => Finding::good(SECTION, figure.name, format!("{value} {}", figure.unit)),
        None => Finding::good(SECTION, figure.name, "unknown"),
    });
    let high = figures
        .iter()
        .find(|figure| figure.name == "high_resolution");
    let high = match high.and_then(|figure| figure.value) {
        Some(0) => Finding::good(SECTION, "timers of high resolution", "no").but(
            Verdict::Otherwise,
            "no clock ticks faster than the kernel's hz",
        ),
        _ => Finding::good(SECTION, "timers of high resolution", "yes"),
    };
    lines.chain([high]).collect()
}

/// The end of the verifier's log, if it refused the program.
fn log_of(diagnosis: &Diagnosis) -> Option<&str> {
    match &diagnosis.trial {
        Err(StartError::Load(LoadError::Refused { log, .. })) => Some(log),
        _ => None,
    }
}

fn as_text(all: &[Finding], trial: &Result<&Trial, Failure>, log: Option<&str>) -> String {
    let (object, digest) = bpf_object();
    let mut text = format!(
        "profil-bpf {}\nBPF object {object}, SHA-256 {digest}\n",
        env!("CARGO_PKG_VERSION")
    );
    for section in all.chunk_by(|one, other| one.section == other.section) {
        let width = section.iter().map(|finding| finding.what.len()).max();
        line(&mut text, format_args!("\n{}", section[0].section));
        for finding in section {
            text += &lines_of(finding, width.unwrap_or(0));
        }
    }
    text += "\ntrial\n";
    match trial {
        Ok(trial) => text += &trial_text(trial),
        Err(Failure { error, mend }) => {
            line(&mut text, format_args!("missing  {}", printable(error)));
            mend.iter().for_each(|mend| text += &mend_line(mend));
        }
    }
    if let Some(log) = log {
        let lines: Vec<_> = log.lines().collect();
        let skipped = lines.len().saturating_sub(LOG_LINES);
        line(
            &mut text,
            format_args!("the verifier's log, without {skipped} lines:"),
        );
        for shown in &lines[skipped..] {
            line(&mut text, format_args!("  {}", printable(shown)));
        }
    }
    line(&mut text, format_args!("\n{NOTHING_SECRET}"));
    text
}

/// A verdict, what it is on, and what was found; and a line below, where there is something to mend.
fn lines_of(finding: &Finding, width: usize) -> String {
    let mut text = format!(
        "{:>7}  {:<width$}  {}",
        finding.verdict.word(),
        finding.what,
        printable(&finding.value)
    );
    if let Some(remark) = &finding.remark {
        text += &format!(": {remark}");
    }
    text.push('\n');
    finding
        .mend
        .iter()
        .for_each(|mend| text += &mend_line(mend));
    text
}

fn mend_line(mend: &str) -> String {
    format!("         mend: {mend}\n")
}

fn trial_text(trial: &Trial) -> String {
    let mut text = String::new();
    let processed = trial.figures.processed;
    line(
        &mut text,
        format_args!(
            "BPF program {}: {} instructions, {} processed by the verifier",
            trial.program,
            trial.figures.instructions,
            processed.map_or_else(|| "?".to_owned(), |count| count.to_string()),
        ),
    );
    line(
        &mut text,
        format_args!("system time: charged by {}", charged_by(trial)),
    );
    line(
        &mut text,
        format_args!(
            "trial: {} ticks counted and {} seen of {:.0} due; profiles can be taken here",
            trial.counted, trial.runs, trial.due
        ),
    );
    text
}

const fn charged_by(trial: &Trial) -> &'static str {
    if trial.by_saved_registers {
        "the saved registers of the task"
    } else {
        "the user stack of the task"
    }
}

fn as_value(all: &[Finding], trial: &Result<&Trial, Failure>) -> Value {
    let (object, digest) = bpf_object();
    let all: Vec<_> = all
        .iter()
        .map(|finding| {
            json!({
                "section": finding.section,
                "what": finding.what,
                "value": finding.value,
                "verdict": finding.verdict.word(),
                "remark": finding.remark,
                "mend": finding.mend,
            })
        })
        .collect();
    let trial = match trial {
        Ok(trial) => json!({
            "program": trial.program,
            "instructions": trial.figures.instructions,
            "processed": trial.figures.processed,
            "system_time": charged_by(trial),
            "counted": trial.counted,
            "seen": trial.runs,
            "due": trial.due,
        }),
        Err(Failure { error, mend }) => json!({ "error": error, "mend": mend }),
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "object": { "name": object, "sha256": digest },
        "works": trial.get("error").is_none(),
        "findings": all,
        "trial": trial,
    })
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes everything.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use profil_user::{
        Figures, Missing, StartError,
        doctor::{Finding, Trial, Verdict},
        hz::Figure,
    };

    use super::{Failure, as_text, as_value, clocks, trial_text};

    const TRIAL: Trial = Trial {
        program: "profil_tick",
        figures: Figures {
            instructions: 641,
            processed: None,
        },
        by_saved_registers: false,
        kernel_bytes: 0,
        runs: 99,
        counted: 98,
        due: 99.7,
    };

    fn some() -> Vec<Finding> {
        vec![
            Finding::good("one", "a thing", "4"),
            Finding::good("one", "a longer thing", "\x1b[31m")
                .but(Verdict::Otherwise, "something else")
                .mend("sudo mend it"),
            Finding::good("two", "x", "y"),
        ]
    }

    #[test]
    fn the_figures_of_the_program_are_a_line_that_tools_can_read() {
        let text = trial_text(&TRIAL);
        let first = "BPF program profil_tick: 641 instructions, ? processed by the verifier\n";
        assert!(text.starts_with(first), "{text}");
        assert!(
            text.contains("98 ticks counted and 99 seen of 100 due"),
            "{text}"
        );
    }

    #[test]
    fn a_finding_is_a_line_and_its_command_another() {
        let text = as_text(&some(), &Ok(&TRIAL), None);
        let expected = "
one
     ok  a thing         4
instead  a longer thing  \\u{1b}[31m: something else
         mend: sudo mend it

two
     ok  x  y

trial
BPF program";
        assert!(text.contains(expected), "{text}");
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("BPF object profil-"))
        );
    }

    #[test]
    fn a_failure_is_in_the_report_without_a_path() {
        let error = StartError::Privileges(vec![Missing::Bpf]);
        let trial = Err(Failure::of(&error));
        let text = as_text(&some(), &trial, Some("first\nlast\x07\n"));
        assert!(
            text.contains("\nmissing  cannot profile: CAP_BPF is missing\n         mend: run it"),
            "{text}"
        );
        assert!(text.contains("\n  last\\u{7}\n"), "{text}");
        let own = std::env::current_exe().expect("a path");
        assert!(
            !text.contains(own.to_str().expect("a plain path")),
            "{text}"
        );
        let value = as_value(&some(), &trial);
        assert_eq!(value["works"], false);
        assert_eq!(value["findings"][1]["verdict"], "instead");
        assert!(value["trial"]["mend"].is_string());
        assert_eq!(as_value(&some(), &Ok(&TRIAL))["works"], true);
    }

    #[test]
    fn a_coarse_timer_is_no_obstacle() {
        let figure = |name, value| Figure {
            name,
            value: Some(value),
            unit: "Hz",
            source: "a test",
        };
        let coarse = clocks(&[figure("hz", 250), figure("high_resolution", 0)]);
        assert_eq!(coarse[0].value, "250 Hz");
        assert_eq!(coarse[1].verdict, Verdict::Otherwise);
    }
}
