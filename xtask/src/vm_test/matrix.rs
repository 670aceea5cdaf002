//! Which kernels the tests run on, and where each comes from.
//!
//! Suites are asked by name, because versions leave the mirror within weeks.

use std::fmt;

use anyhow::{Result, bail};

use crate::arch::Arch;

/// A kernel to run the tests on.
#[derive(Debug)]
pub(super) struct Leg {
    /// The kernel's part of the leg's name.
    version: &'static str,
    pub(super) arch: Arch,
    /// The suite of Debian's archive that has it.
    pub(super) suite: &'static str,
    /// The start of its version, if it is not the one that the suite recommends.
    pub(super) series: Option<&'static str>,
    /// Whether CI runs the tests of the main job alone there. All of them run on the oldest, on the other
    /// architecture, and on the machine that CI runs on.
    pub(super) is_of_main_job: bool,
    /// Whether CI runs it.
    by_default: bool,
    /// Why the archive may be without it, if it may.
    pub(super) may_be_absent: Option<&'static str>,
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.arch.debian(), self.version)
    }
}

const PAST_SUPPORT: Option<&str> = Some("its suite is past its support and may leave the mirror");
const BETWEEN: Option<&str> = Some("versions between the suites' own leave the mirror");

/// The legs of CI in an order in which two at a time end together, as long as they took when this was written
/// (188, 144, 106, 125 and 75 s).
const TURNS: [&str; 5] = [
    "amd64-5.10",
    "arm64-6.12",
    "amd64-6.12",
    "amd64-newest",
    "amd64-6.1",
];

/// The oldest, the long-term ones, the newest.
static MATRIX: [Leg; 10] = [
    leg("5.10", Arch::X86_64, "bullseye-security").absent(PAST_SUPPORT),
    leg("6.1", Arch::X86_64, "bookworm-security").main_job(),
    leg("6.12", Arch::X86_64, "trixie-security").main_job(),
    leg("newest", Arch::X86_64, "trixie-backports").main_job(),
    leg("6.12", Arch::Aarch64, "trixie-security"),
    leg("6.18", Arch::X86_64, "trixie-backports")
        .series("6.18")
        .absent(BETWEEN)
        .on_request(),
    leg("sid", Arch::X86_64, "sid").on_request(),
    // bullseye-security names a package for arm64 that is gone.
    leg("5.10", Arch::Aarch64, "bullseye")
        .absent(PAST_SUPPORT)
        .on_request(),
    leg("6.1", Arch::Aarch64, "bookworm-security").on_request(),
    leg("newest", Arch::Aarch64, "trixie-backports").on_request(),
];

const fn leg(version: &'static str, arch: Arch, suite: &'static str) -> Leg {
    Leg {
        version,
        arch,
        suite,
        series: None,
        is_of_main_job: false,
        by_default: true,
        may_be_absent: None,
    }
}

impl Leg {
    const fn absent(mut self, why: Option<&'static str>) -> Self {
        self.may_be_absent = why;
        self
    }

    const fn main_job(mut self) -> Self {
        self.is_of_main_job = true;
        self
    }

    const fn series(mut self, series: &'static str) -> Self {
        self.series = Some(series);
        self
    }

    const fn on_request(mut self) -> Self {
        self.by_default = false;
        self
    }

    /// When it is booted, from 0; those that CI does not run come last.
    pub(super) fn turn(&self) -> usize {
        let name = self.to_string();
        let turn = TURNS.iter().position(|&one| one == name);
        turn.unwrap_or(TURNS.len())
    }

    fn is_called(&self, name: &str) -> bool {
        name == self.version || name == self.to_string()
    }
}

/// The legs of these architectures and kernels; none named stands for those that CI runs, or with
/// `all` for every one.
///
/// # Errors
///
/// If a name is not one of a leg, or nothing is left.
pub(super) fn select(all: bool, arches: &[Arch], kernels: &[String]) -> Result<Vec<&'static Leg>> {
    for kernel in kernels {
        if !MATRIX.iter().any(|leg| leg.is_called(kernel)) {
            let names: Vec<_> = MATRIX.iter().map(Leg::to_string).collect();
            bail!(
                "no kernel is called {kernel}: there are {}",
                names.join(", ")
            );
        }
    }
    let wanted = |leg: &&Leg| {
        let named = kernels.iter().any(|kernel| leg.is_called(kernel));
        (arches.is_empty() || arches.contains(&leg.arch))
            && (named || (kernels.is_empty() && (all || leg.by_default)))
    };
    let legs: Vec<_> = MATRIX.iter().filter(wanted).collect();
    if legs.is_empty() {
        bail!("there is no such kernel for such an architecture");
    }
    Ok(legs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leg_of_ci_has_a_turn() {
        for leg in MATRIX.iter().filter(|leg| leg.by_default) {
            assert!(leg.turn() < TURNS.len(), "{leg}");
        }
    }

    fn names(all: bool, arches: &[Arch], kernels: &[&str]) -> Vec<String> {
        let kernels: Vec<_> = kernels.iter().map(|&name| name.to_owned()).collect();
        let legs = select(all, arches, &kernels).expect("there are such legs");
        legs.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn legs_are_selected() {
        assert_eq!(
            names(false, &[], &[]),
            [
                "amd64-5.10",
                "amd64-6.1",
                "amd64-6.12",
                "amd64-newest",
                "arm64-6.12"
            ]
        );
        assert_eq!(names(true, &[], &[]).len(), MATRIX.len());
        assert_eq!(names(false, &[Arch::Aarch64], &[]), ["arm64-6.12"]);
        assert_eq!(names(false, &[], &["6.1"]), ["amd64-6.1", "arm64-6.1"]);
        assert_eq!(names(false, &[], &["arm64-6.1"]), ["arm64-6.1"]);
        assert_eq!(
            names(false, &[Arch::X86_64], &["sid", "6.1"]),
            ["amd64-6.1", "amd64-sid"]
        );
    }

    #[test]
    fn every_leg_has_a_name_of_its_own() {
        let mut names = names(true, &[], &[]);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), MATRIX.len());
    }

    #[test]
    fn nothing_to_run_is_an_error() {
        assert!(select(false, &[], &["2.6".into()]).is_err());
        assert!(select(false, &[Arch::Aarch64], &["sid".into()]).is_err());
    }
}
