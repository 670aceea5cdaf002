//! How large the BPF programs are for each kernel, and how large they may become.
//!
//! A verifier gives up at a million processed instructions, and old ones take more steps for the
//! same program. Nobody would notice on the way there.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::workspace;

/// What a program may grow before somebody has to look at it, in percent.
const GROWTH: u64 = 25;

/// How to say that somebody has looked.
pub(super) const RECORD: &str = "record it with cargo xtask vm-test --record";

/// The size of a program.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Figures {
    /// Its instructions, as the kernel has rewritten them.
    pub(super) instructions: u64,
    /// The instructions that the verifier went through on all its paths, if it tells.
    pub(super) processed: Option<u64>,
}

/// What was recorded on one kernel.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct Leg {
    /// The kernel at that time; for information.
    kernel: String,
    programs: BTreeMap<String, Figures>,
}

/// All that was recorded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Budgets {
    legs: BTreeMap<String, Leg>,
}

impl Budgets {
    /// Reads what is checked in.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn read() -> Result<Self> {
        let path = path();
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes it to where it is checked in.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn write(&self) -> Result<()> {
        let path = path();
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Takes what a kernel says now as what it should say.
    pub(super) fn record(&mut self, leg: &str, kernel: &str, programs: &[(String, Figures)]) {
        let leg = self.legs.entry(leg.to_owned()).or_default();
        kernel.clone_into(&mut leg.kernel);
        leg.programs = programs.iter().cloned().collect();
    }

    /// What is wrong with the programs of a leg.
    pub(super) fn faults(&self, leg: &str, programs: &[(String, Figures)]) -> Vec<String> {
        if programs.is_empty() {
            return vec!["`profil-bpf doctor` says nothing of the size of its programs".into()];
        }
        let Some(recorded) = self.legs.get(leg) else {
            return vec![format!("nothing is recorded for {leg}: {RECORD}")];
        };
        let mut faults = Vec::new();
        for (name, now) in programs {
            match recorded.programs.get(name) {
                None => faults.push(format!("nothing is recorded for {name}: {RECORD}")),
                Some(then) => faults.extend(growth(name, *then, *now)),
            }
        }
        for name in recorded.programs.keys() {
            if !programs.iter().any(|(now, _)| now == name) {
                faults.push(format!("{name} was recorded and is gone: {RECORD}"));
            }
        }
        faults
    }
}

fn growth(program: &str, then: Figures, now: Figures) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |what: &str, then: u64, now: u64| {
        if now * 100 > then * (100 + GROWTH) {
            faults.push(format!(
                "{program} grew from {then} {what} to {now}, by more than {GROWTH} %: if that is \
                 meant, {RECORD}"
            ));
        }
    };
    compare("instructions", then.instructions, now.instructions);
    match (then.processed, now.processed) {
        (Some(then), Some(now)) => compare("instructions in the verifier", then, now),
        (Some(_), None) => faults.push(format!(
            "{program}: the verifier no longer tells what it processed; if that is meant, {RECORD}"
        )),
        (None, _) => {}
    }
    faults
}

fn path() -> PathBuf {
    let dir: &Path = workspace::root();
    dir.join("xtask/bpf-budgets.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(instructions: u64, processed: Option<u64>) -> (String, Figures) {
        let figures = Figures {
            instructions,
            processed,
        };
        ("profil_tick".into(), figures)
    }

    fn recorded(processed: Option<u64>) -> Budgets {
        let mut budgets = Budgets::default();
        budgets.record("amd64-6.1", "6.1.0", &[program(100, processed)]);
        budgets
    }

    #[test]
    fn a_quarter_more_is_the_most() {
        let budgets = recorded(Some(1000));
        for (instructions, processed, faults) in [
            (100, 1000, 0),
            (50, 500, 0),
            (125, 1250, 0),
            (126, 1250, 1),
            (125, 1251, 1),
            (126, 1251, 2),
        ] {
            let now = program(instructions, Some(processed));
            let found = budgets.faults("amd64-6.1", &[now]);
            assert_eq!(
                found.len(),
                faults,
                "{instructions}, {processed}: {found:?}"
            );
        }
    }

    #[test]
    fn a_kernel_that_does_not_tell() {
        let budgets = recorded(None);
        assert!(
            budgets
                .faults("amd64-6.1", &[program(100, None)])
                .is_empty()
        );
        assert_eq!(budgets.faults("amd64-6.1", &[program(126, None)]).len(), 1);
        let budgets = recorded(Some(1000));
        assert_eq!(budgets.faults("amd64-6.1", &[program(100, None)]).len(), 1);
    }

    #[test]
    fn what_is_not_recorded_is_a_fault() {
        let budgets = recorded(Some(1000));
        let now = [program(100, Some(1000))];
        let faults = budgets.faults("arm64-6.1", &now);
        assert_eq!(
            faults,
            [format!("nothing is recorded for arm64-6.1: {RECORD}")]
        );
        assert_eq!(budgets.faults("amd64-6.1", &[]).len(), 1);

        let other = ("other".to_owned(), now[0].1);
        let faults = budgets.faults("amd64-6.1", &[now[0].clone(), other.clone()]);
        assert_eq!(faults, [format!("nothing is recorded for other: {RECORD}")]);
        assert_eq!(budgets.faults("amd64-6.1", &[other]).len(), 2);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let budgets = recorded(None);
        let text = serde_json::to_string(&budgets).expect("plain data");
        let read: Budgets = serde_json::from_str(&text).expect("just written");
        assert_eq!(read, budgets);
        assert!(Budgets::read().is_ok(), "the one that is checked in");
    }
}
