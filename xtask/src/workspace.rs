//! Where things are, and the cargo that started us.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::exec;

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask
        .parent()
        .expect("xtask is a directory of the workspace")
}

/// Where build products go: `target/`, or where the user sends them.
pub(crate) fn target_dir() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The cargo that started us, in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(cargo_program());
    command.current_dir(root());
    // Facts about xtask itself that the outer `cargo run` left in our environment.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_")
            || name.to_string_lossy().starts_with("CARGO_MANIFEST_")
        {
            command.env_remove(name);
        }
    }
    command
}

/// The program that [`cargo`] runs.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds something and returns the executable that it produced for `target`.
///
/// # Errors
///
/// If the build fails or produces no such executable.
pub(crate) fn build_executable(cargo_args: &[&str], target: &str) -> Result<PathBuf> {
    executable_of(cargo().args(cargo_args), target)
}

/// Runs a cargo that builds something, and returns the executable that it produced for `target`.
///
/// # Errors
///
/// If the build fails or produces no such executable.
pub(crate) fn executable_of(command: &mut Command, target: &str) -> Result<PathBuf> {
    command.arg("--message-format=json-render-diagnostics");
    executable_in(&exec::output(command)?, target)
        .with_context(|| format!("`{}` made no executable `{target}`", exec::shown(command)))
}

/// A line of cargo's report that says what was built.
#[derive(Deserialize)]
struct Artifact {
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn executable_in(report: &str, target: &str) -> Option<PathBuf> {
    report
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|artifact| artifact.target.name == target)
        .find_map(|artifact| artifact.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_executable_in_the_report() {
        let report = r#"
{"reason":"compiler-artifact","target":{"name":"root","kind":["lib"]},"executable":null}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other-1"}
{"reason":"compiler-artifact","target":{"name":"root"},"executable":"/t/root-2"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable_in(report, "root"), Some("/t/root-2".into()));
        assert_eq!(executable_in(report, "nothing"), None);
    }
}
