//! `cargo xtask run -- ARGS`: the profiler from this checkout, with the privileges it needs.

use std::{ffi::OsString, process::Command};

use anyhow::{Result, bail};

use crate::{exec, machine, workspace};

/// Builds the release binary as it is shipped.
pub(crate) const BUILD: [&str; 5] = ["build", "--release", "--locked", "--package", "profil-user"];

/// The name of that binary.
pub(crate) const PROFIL_BPF: &str = "profil-bpf";

/// Builds the profiler and becomes it.
///
/// # Errors
///
/// If it cannot be built or started, or if there is no way to the privileges.
pub(crate) fn run(args: &[OsString]) -> Result<()> {
    let program = workspace::build_executable(&BUILD, PROFIL_BPF)?;
    let mut command = if machine::may_profile() {
        Command::new(&program)
    } else if machine::find_program("sudo").is_some() {
        eprintln!("xtask: running profil-bpf with sudo, for CAP_BPF and CAP_PERFMON");
        let mut sudo = Command::new("sudo");
        sudo.arg("--").arg(&program);
        sudo
    } else {
        bail!(
            "profil-bpf needs the capabilities CAP_BPF and CAP_PERFMON, and there is no sudo: \
             run this as root"
        );
    };
    Err(exec::replace_by(command.args(args)))
}
