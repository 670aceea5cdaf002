//! What the facts mean for us: each in one line, with a verdict, and a command where there is something
//! to mend.

use std::fmt::Display;

use super::{
    Diagnosis, Machine, limits::limits, privileges::privileges, surroundings::surroundings,
};
use crate::kernel::{Feature, Presence};

/// What the program's file is called in commands: its real place may be in somebody's home.
pub const PROGRAM: &str = "\"$(command -v profil-bpf)\"";

/// Whether a thing is as we want it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is.
    Good,
    /// It is not, and we work in another way.
    Otherwise,
    /// It is not, and no profile can be taken.
    Missing,
    /// The machine does not tell, or does not let us try.
    Unknown,
}

impl Verdict {
    /// As a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Otherwise => "instead",
            Self::Missing => "missing",
            Self::Unknown => "?",
        }
    }
}

/// One line of a diagnosis.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// What it belongs to.
    pub section: &'static str,
    /// What was looked at.
    pub what: String,
    /// What was found.
    pub value: String,
    /// What that means.
    pub verdict: Verdict,
    /// What is done, or what does not work, in one line.
    pub remark: Option<String>,
    /// A command, or what else there is to do.
    pub mend: Option<String>,
}

impl Finding {
    /// That something is as we want it.
    pub fn good(section: &'static str, what: impl Display, value: impl Display) -> Self {
        Self {
            section,
            what: what.to_string(),
            value: value.to_string(),
            verdict: Verdict::Good,
            remark: None,
            mend: None,
        }
    }

    /// The same with another verdict.
    #[must_use]
    pub fn but(mut self, verdict: Verdict, remark: impl Into<String>) -> Self {
        self.verdict = verdict;
        self.remark(remark)
    }

    /// The same, found otherwise, with nothing more to say.
    pub(super) const fn judged(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// The same with a remark.
    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }

    /// The same with what there is to do.
    #[must_use]
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }
}

/// All findings, section by section, but for the trial.
pub fn findings(diagnosis: &Diagnosis) -> Vec<Finding> {
    let machine = &diagnosis.machine;
    let works = diagnosis.trial.is_ok();
    let presence_of = |wanted| {
        let mut features = diagnosis.features.iter();
        features
            .find(|(feature, _)| *feature == wanted)
            .map_or(Presence::Unknown, |&(_, presence)| presence)
    };
    let mut findings = kernel(machine);
    findings.extend(privileges(machine));
    findings.extend(limits(machine, works, presence_of(Feature::FreeMaps)));
    findings.extend(surroundings(machine, works));
    for &(feature, presence) in &diagnosis.features {
        findings.push(of_feature(feature, presence));
    }
    if let Some(records) = &diagnosis.records {
        findings.push(of_records(records, machine));
    }
    findings
}

fn kernel(machine: &Machine) -> Vec<Finding> {
    const SECTION: &str = "kernel";
    let or_unknown = |what, value: Option<String>| match value {
        Some(value) => Finding::good(SECTION, what, value),
        None => Finding::good(SECTION, what, "not told").judged(Verdict::Unknown),
    };
    vec![
        Finding::good(SECTION, "release", format!("Linux {}", machine.release)),
        Finding::good(SECTION, "architecture", &machine.architecture),
        or_unknown("distribution", machine.distribution.clone()),
        or_unknown("CPUs", machine.cpus.map(|cpus| cpus.to_string())),
    ]
}

const FEATURES: &str = "features";

fn of_feature(feature: Feature, presence: Presence) -> Finding {
    let name = feature.name();
    let since = feature.since();
    match (presence, feature.instead()) {
        (Presence::Present, _) => Finding::good(FEATURES, name, "yes"),
        (Presence::Unknown, _) => {
            Finding::good(FEATURES, name, "not permitted to try").judged(Verdict::Unknown)
        }
        (Presence::Absent, Some(instead)) => {
            Finding::good(FEATURES, name, format!("no (Linux {since})"))
                .but(Verdict::Otherwise, instead)
        }
        (Presence::Absent, None) => Finding::good(FEATURES, name, format!("no (Linux {since})"))
            .but(Verdict::Missing, "needed")
            .mend(format!("a kernel from Linux {since}")),
    }
}

fn of_records(records: &Result<(), String>, machine: &Machine) -> Finding {
    const WHAT: &str = "records of what processes map, start and end";
    match records {
        Ok(()) => Finding::good(FEATURES, WHAT, "yes"),
        Err(_) if !machine.missing().is_empty() => {
            Finding::good(FEATURES, WHAT, "not permitted to try").judged(Verdict::Unknown)
        }
        Err(reason) => Finding::good(FEATURES, WHAT, format!("no ({reason})"))
            .but(Verdict::Otherwise, "/proc is looked at four times a second"),
    }
}
