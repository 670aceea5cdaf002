//! `cargo xtask fuzz [SECONDS]`: damaged and hostile inputs for everything that reads what others
//! wrote, all targets at the same time.

use std::process::{Child, Command};

use anyhow::{Context as _, Result, bail};

use crate::{exec, workspace};

/// Built for debugging: an overflow is a fault then. With the rest of the workspace and its features, so that the library
/// is compiled once for this and for the tests.
const BUILD: [&str; 8] = [
    "build",
    "--locked",
    "--workspace",
    "--exclude",
    "profil-tests",
    "--features",
    "profil-user/otlp",
    "--bin=profil-fuzz",
];

/// The name of the binary; `fuzz/src` has its targets.
const PROFIL_FUZZ: &str = "profil-fuzz";

/// Everything that is fuzzed.
const TARGETS: [&str; 10] = [
    "gmon",
    "pprof",
    "region",
    "formula",
    "elf",
    "mappings",
    "perf-map",
    "records",
    "request",
    "configuration",
];

/// Hunts for `seconds` in every target.
///
/// # Errors
///
/// If it cannot be built, or an input does harm.
pub(crate) fn run(seconds: u64) -> Result<()> {
    let program = workspace::build_executable(&BUILD, PROFIL_FUZZ)?;
    let mut hunts = Vec::new();
    for target in TARGETS {
        let mut command = Command::new(&program);
        command
            .args([target, &seconds.to_string()])
            .current_dir(workspace::target_dir());
        let child = command.spawn();
        hunts.push((
            target,
            Hunt(child.with_context(|| exec::cannot_run(&command))?),
        ));
    }
    let mut harmed = Vec::new();
    for (target, mut hunt) in hunts {
        if !hunt
            .0
            .wait()
            .context("cannot wait for the fuzzer")?
            .success()
        {
            harmed.push(target);
        }
    }
    if !harmed.is_empty() {
        bail!("an input did harm to: {}", harmed.join(", "));
    }
    Ok(())
}

/// A hunt that ends with us.
struct Hunt(Child);

impl Drop for Hunt {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
