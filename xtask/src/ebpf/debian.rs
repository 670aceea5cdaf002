//! Where rustup cannot add the sources of `core`: Debian's newest compiler, which has them.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::machine;

/// The compiler that Debian keeps current for its web browsers, and its standard library.
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Provides Debian's compiler and returns its sysroot.
///
/// # Errors
///
/// If it is missing and cannot be installed; the error names the command that does.
pub(super) fn provide() -> Result<PathBuf> {
    eprintln!(
        "xtask: building with Debian's {} instead",
        PACKAGES.join(", ")
    );
    let missing = machine::missing_packages(&PACKAGES);
    if !missing.is_empty() {
        if !machine::is_root() {
            bail!(
                "missing: `sudo apt-get install --no-install-recommends {}`",
                missing.join(" ")
            );
        }
        machine::install_packages(&missing)?;
    }
    Ok("/usr".into())
}
