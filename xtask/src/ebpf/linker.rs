//! bpf-linker, in exactly one version: it decides on the bytes as much as the compiler does.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail};

use crate::{exec, machine, workspace};

/// The last version that works with the LLVM of the nightly in use.
pub(crate) const VERSION: &str = "0.10.3";

/// The major version of LLVM that it loads from the toolchain.
pub(super) const LLVM: &str = "22";

/// Returns the directory of a bpf-linker of the right version: the user's, or our own, which is
/// kept apart so that it replaces nobody's.
///
/// # Errors
///
/// If there is none and it cannot be installed.
pub(super) fn provide() -> Result<PathBuf> {
    let own_root = workspace::target_dir().join("tools");
    let own = own_root.join("bin/bpf-linker");
    let users = machine::find_program("bpf-linker");
    for linker in users.iter().chain([&own]) {
        if is_right(linker) {
            return Ok(dir_of(linker));
        }
    }
    eprintln!(
        "xtask: installing bpf-linker {VERSION} to {}",
        own_root.display()
    );
    exec::run(
        workspace::cargo()
            .args([
                "install",
                "bpf-linker",
                "--version",
                VERSION,
                "--locked",
                "--quiet",
                "--root",
            ])
            .arg(&own_root),
    )?;
    if !is_right(&own) {
        bail!("{} is not bpf-linker {VERSION}", own.display());
    }
    Ok(dir_of(&own))
}

fn is_right(linker: &Path) -> bool {
    let about = Command::new(linker).arg("--version").output();
    about.is_ok_and(|about| about.stdout.trim_ascii() == format!("bpf-linker {VERSION}").as_bytes())
}

fn dir_of(linker: &Path) -> PathBuf {
    linker
        .parent()
        .expect("a path that ends in a file name")
        .to_owned()
}
