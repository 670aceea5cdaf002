//! What this computer has: programs, privileges, packages.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Result;

use crate::exec;

/// Bits of the capability sets in `/proc/PID/status`, see capabilities(7).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Finds a program as the shell would.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| is_executable(file))
}

/// Whether a continuous-integration system runs us: nothing may be left out then.
pub(crate) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}

/// Whether we are root.
pub(crate) fn is_root() -> bool {
    status_field("Uid:").and_then(|ids| ids.split_whitespace().nth(1).map(|id| id == "0"))
        == Some(true)
}

/// Whether we may load and attach BPF programs to perf events.
pub(crate) fn may_profile() -> bool {
    status_field("CapEff:")
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(suffices_to_profile)
}

fn suffices_to_profile(capabilities: u64) -> bool {
    let has = |bit: u32| capabilities & (1 << bit) != 0;
    has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON))
}

/// Whether packages come from Debian or one of its relatives.
pub(crate) fn is_debian_like() -> bool {
    find_program("apt-get").is_some() && find_program("dpkg-query").is_some()
}

/// The packages among these that are not installed.
pub(crate) fn missing_packages<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    let installed = |package: &str| {
        let query = Command::new("dpkg-query")
            .args(["--show", "--showformat=${db:Status-Status}", package])
            .stderr(Stdio::null())
            .output();
        query.is_ok_and(|query| query.stdout == b"installed")
    };
    packages
        .iter()
        .copied()
        .filter(|package| !installed(package))
        .collect()
}

/// Installs packages. Asks for the newest lists only if the present ones do not lead to success.
///
/// # Errors
///
/// If apt-get cannot install them.
pub(crate) fn install_packages(packages: &[&str]) -> Result<()> {
    eprintln!("xtask: installing {} with apt-get", packages.join(" "));
    if exec::run(apt_get("install").args(packages).stderr(Stdio::null())).is_ok() {
        return Ok(());
    }
    exec::run(&mut apt_get("update"))?;
    exec::run(apt_get("install").args(packages))
}

fn apt_get(verb: &str) -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["-qq", verb]);
    if verb == "install" {
        command.args(["-y", "--no-install-recommends"]);
    }
    // What it unpacks is of no interest; stdout belongs to the tests.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn status_field(name: &str) -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::to_owned)
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_that_suffice() {
        for (capabilities, suffice) in [
            (0, false),
            (1 << CAP_BPF, false),
            (1 << CAP_PERFMON, false),
            (1 << CAP_BPF | 1 << CAP_PERFMON, true),
            (1 << CAP_SYS_ADMIN, true),
            (u64::MAX, true),
        ] {
            assert_eq!(
                suffices_to_profile(capabilities),
                suffice,
                "{capabilities:#x}"
            );
        }
    }

    #[test]
    fn programs_are_found_by_path() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-anywhere").is_none());
    }
}
