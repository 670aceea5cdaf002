//! `cargo xtask picture`: what the README shows, a report and the live view (`docs/top.svg`), as they really
//! were.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{exec, machine, run, workspace};

/// Builds what drives and draws it.
const BUILD: [&str; 7] = [
    "build",
    "--release",
    "--locked",
    "--package",
    "profil-tests",
    "--bin",
    PROFIL_PICTURE,
];

/// The name of that binary; `tests/picture` has its sources.
const PROFIL_PICTURE: &str = "profil-picture";

/// Builds the profiler and runs it in a terminal that is drawn.
///
/// # Errors
///
/// If something cannot be built or started, or without root.
pub(crate) fn run() -> Result<()> {
    if !machine::is_root() {
        bail!("a picture needs a real run, and that needs root: please try again as root");
    }
    let profiler = workspace::build_executable(&run::BUILD, run::PROFIL_BPF)?;
    let picture = workspace::build_executable(&BUILD, PROFIL_PICTURE)?;
    let mut command = Command::new(picture);
    let root = workspace::root();
    command.args([root.join("README.md"), root.join("docs/top.svg")]);
    command.env("PROFIL_BPF", profiler);
    exec::run(&mut command)
}
