//! `profil-bpf doctor`: what this machine can do, in lines for people.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use profil_user::{
    Feature, LoadError, Missing, Presence, StartError,
    doctor::{Diagnosis, Trial, examine},
};

use crate::talk;

/// Lines of a verifier's log that are shown: its end says why.
const LOG_LINES: usize = 60;

/// Examines the machine and prints what was found. Whether a profile can be taken.
pub(crate) fn run() -> anyhow::Result<bool> {
    let diagnosis = examine();
    let mut out = io::stdout().lock();
    out.write_all(text(&diagnosis).as_bytes())?;
    out.flush()?;
    match diagnosis.trial {
        Ok(_) => Ok(true),
        Err(error) => {
            talk::error(&error.into());
            Ok(false)
        }
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let kernel = rustix::system::uname();
    line(
        &mut text,
        format_args!(
            "profil-bpf {} on Linux {}, {}\n",
            env!("CARGO_PKG_VERSION"),
            kernel.release().to_string_lossy(),
            kernel.machine().to_string_lossy()
        ),
    );
    for &(feature, presence) in &diagnosis.features {
        line(
            &mut text,
            format_args!("{}", feature_line(feature, presence)),
        );
    }
    text.push('\n');
    line(
        &mut text,
        format_args!("privileges: {}", privileges(&diagnosis.missing)),
    );
    line(
        &mut text,
        format_args!(
            "highest rate: {} (kernel.perf_event_max_sample_rate)",
            diagnosis
                .max_rate
                .map_or_else(|| "unknown".to_owned(), |hertz| format!("{hertz} Hz"))
        ),
    );
    if let Some(paranoid) = diagnosis.paranoid {
        line(
            &mut text,
            format_args!("kernel.perf_event_paranoid: {paranoid}"),
        );
    }
    line(
        &mut text,
        format_args!(
            "process numbers: {}",
            match diagnosis.initial_pid_namespace {
                Some(true) => "those of the kernel",
                Some(false) => "those of a PID namespace, translated at every tick",
                None => "unknown: /proc is not that of this PID namespace",
            }
        ),
    );
    text.push('\n');
    match &diagnosis.trial {
        Ok(trial) => text += &trial_text(trial),
        Err(StartError::Load(LoadError::Refused { log, .. })) => {
            let lines: Vec<_> = log.lines().collect();
            let skipped = lines.len().saturating_sub(LOG_LINES);
            line(
                &mut text,
                format_args!("the verifier's log, without {skipped} lines:"),
            );
            for shown in &lines[skipped..] {
                line(&mut text, format_args!("  {shown}"));
            }
        }
        Err(_) => {}
    }
    text
}

fn feature_line(feature: Feature, presence: Presence) -> String {
    let (word, remark) = match presence {
        Presence::Present => ("yes", String::new()),
        Presence::Absent => {
            let remark = match feature.instead() {
                Some(instead) => format!(" (Linux {}): {instead}", feature.since()),
                None => format!(" (Linux {}): needed", feature.since()),
            };
            ("no", remark)
        }
        Presence::Unknown => ("?", ": not permitted to try".to_owned()),
    };
    format!("{word:>3}  {}{remark}", feature.name())
}

fn privileges(missing: &[Missing]) -> String {
    if missing.is_empty() {
        return "enough to load and attach".to_owned();
    }
    let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
    format!("{} missing", names.join(" and "))
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
        format_args!(
            "system time: charged by {}",
            if trial.by_saved_registers {
                "the saved registers of the task"
            } else {
                "the user stack of the task"
            }
        ),
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

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes everything.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use profil_user::{Feature, Figures, Presence, doctor::Trial};

    use super::{feature_line, trial_text};

    #[test]
    fn a_feature_that_is_absent_has_a_version_and_a_way_around() {
        assert_eq!(feature_line(Feature::Bpf, Presence::Present), "yes  bpf(2)");
        assert_eq!(
            feature_line(Feature::MappableArrays, Presence::Absent),
            " no  BPF arrays that can be mapped (BPF_F_MMAPABLE) (Linux 5.5): needed"
        );
        let line = feature_line(Feature::SavedRegisters, Presence::Absent);
        assert!(
            line.contains("5.15") && line.ends_with("by the user stack"),
            "{line}"
        );
    }

    #[test]
    fn the_figures_of_the_program_are_a_line_that_tools_can_read() {
        let trial = Trial {
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
        let text = trial_text(&trial);
        let first = "BPF program profil_tick: 641 instructions, ? processed by the verifier\n";
        assert!(text.starts_with(first), "{text}");
        assert!(
            text.contains("98 ticks counted and 99 seen of 100 due"),
            "{text}"
        );
    }
}
