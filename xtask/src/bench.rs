//! `cargo xtask bench [NAME…]`: what the profiler costs, on this machine.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{exec, machine, run, workspace};

/// Builds the measurements, optimised like what they measure.
const BUILD: [&str; 7] = [
    "build",
    "--release",
    "--locked",
    "--package",
    "profil-tests",
    "--bin",
    PROFIL_BENCH,
];

/// The name of that binary; `tests/bench` has its sources.
const PROFIL_BENCH: &str = "profil-bench";

/// What is measured of files, without profiling anything.
const SCALE: &str = "scale";

/// Builds the profiler and the measurements, and becomes the measurements.
///
/// # Errors
///
/// If something cannot be built or started, or without root.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let (of_files, names): (Vec<_>, Vec<_>) = names.iter().partition(|&name| name == SCALE);
    let is_of_files_alone = names.is_empty() && !of_files.is_empty();
    if !is_of_files_alone && !machine::is_root() {
        bail!(
            "the measurements need root: they profile, switch on the kernel's BPF statistics and \
             load a program of their own; nothing was built, so please try again as root"
        );
    }
    if !of_files.is_empty() || names.is_empty() {
        let mut scale = workspace::cargo();
        scale.args(["bench", "--locked", "-p", "profil-user", "--bench", SCALE]);
        exec::run(&mut scale)?;
    }
    if is_of_files_alone {
        return Ok(());
    }
    let profiler = workspace::build_executable(&run::BUILD, run::PROFIL_BPF)?;
    let bench = workspace::build_executable(&BUILD, PROFIL_BENCH)?;
    let workloads = workspace::target_dir().join("workloads");
    let mut command = Command::new(bench);
    command.args(names);
    command.envs([("PROFIL_BPF", profiler), ("PROFIL_WORKLOADS", workloads)]);
    Err(exec::replace_by(&mut command))
}
