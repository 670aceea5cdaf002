//! Takes files out of a package.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::exec;

/// Unpacks what matches one of `patterns`, or everything if there are none, except documentation.
/// Each pattern must match something.
///
/// # Errors
///
/// If the package cannot be read, or does not have the files.
pub(super) fn unpack(package: &Path, patterns: &[&str], into: &Path) -> Result<()> {
    let mut reader = Command::new("dpkg-deb");
    reader
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped());
    let mut read = reader.spawn().with_context(|| exec::cannot_run(&reader))?;
    let archive = read.stdout.take().context("stdout was piped")?;

    let mut writer = Command::new("tar");
    writer.args(["-x", "--wildcards", "--exclude=./usr/share/*", "-C"]);
    writer.arg(into).args(patterns).stdin(archive);
    let written = exec::run(&mut writer);
    let read = read.wait().with_context(|| exec::cannot_run(&reader))?;
    written.map_err(|error| anyhow!("{} cannot be unpacked: {error:#}", package.display()))?;
    ensure!(read.success(), "{} is damaged", package.display());
    Ok(())
}
