//! Debian's archive, any suite and any architecture of it, without a change to this machine.
//!
//! apt works with lists, a cache and an (empty) status of its own below `target/vm/apt`; of the
//! machine's own apt only the addresses of the mirrors are read. Packages are unpacked, never
//! installed.

mod mirrors;
mod stanza;
mod system;
mod tarball;

use std::{
    error,
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{arch::Arch, exec, machine, workspace};
use mirrors::Mirrors;
pub(crate) use stanza::Stanza;
pub(crate) use system::suite_of_this_system;

/// What signs the archive's lists.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A mirror that answers anywhere gets this many chances to answer.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(3);

/// What apt says of a suite or a file that has left the mirror for good. Asking again is no use.
const GONE: [&str; 3] = [
    "404  Not Found",
    "does not have a Release file",
    "is expired",
];

/// The archive does not have it (any more): no fault of the network.
#[derive(Debug)]
pub(crate) struct Absent(pub(crate) String);

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Absent {}

/// Some suites of the archive for one architecture, with current lists.
#[derive(Debug)]
pub(crate) struct Archive {
    dir: PathBuf,
    arch: Arch,
    suites: String,
}

impl Archive {
    /// Fetches the lists of these suites.
    ///
    /// # Errors
    ///
    /// [`Absent`] if the archive does not have such a suite; anything else if it cannot be
    /// reached.
    pub(crate) fn open(arch: Arch, suites: &[&str]) -> Result<Self> {
        ensure!(
            machine::is_debian_like() && Path::new(KEYRING).exists(),
            "Debian's archive takes apt and {KEYRING}: `apt-get install debian-archive-keyring`, \
             or do this on Debian"
        );
        let name = format!("{}-{}", suites.join("+"), arch.debian());
        let archive = Self {
            dir: workspace::target_dir().join("vm/apt").join(name),
            arch,
            suites: suites.join(" "),
        };
        for dir in ["lists/partial", "cache/archives/partial"] {
            let dir = archive.dir.join(dir);
            fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
        archive.write("status", "")?;
        let sources = Mirrors::of_this_machine()?.sources(KEYRING, arch, suites);
        archive.write("sources.list", &sources)?;
        archive.fetch("update", &[], &archive.dir)?;
        Ok(archive)
    }

    /// The suites of the system that this machine runs: programs from there fit its libraries.
    ///
    /// # Errors
    ///
    /// As [`Archive::open`], or if this is not Debian.
    pub(crate) fn of_this_system(arch: Arch) -> Result<Self> {
        let suite = suite_of_this_system()?;
        Self::open(arch, &[&suite, &format!("{suite}-security")])
    }

    /// What the lists say about these packages. Those that they do not have are left out.
    ///
    /// # Errors
    ///
    /// If apt cannot be run.
    pub(crate) fn show(&self, packages: &[impl AsRef<OsStr>]) -> Result<Vec<Stanza>> {
        let mut command = self.apt("apt-cache");
        command.args(["show", "--no-all-versions"]).args(packages);
        // It fails if it knows none of them, which is an answer too.
        let output = command.stderr(Stdio::null()).output();
        let output = output.with_context(|| exec::cannot_run(&command))?;
        Ok(stanza::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The names of all packages that start like this.
    ///
    /// # Errors
    ///
    /// If apt cannot be run.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let names = exec::output(self.apt("apt-cache").args(["pkgnames", prefix]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// These packages and all that they depend on, as far as `wanted` says so of a name.
    ///
    /// # Errors
    ///
    /// [`Absent`] if one of `packages` is not there; anything else if apt cannot be run.
    pub(crate) fn closure(
        &self,
        packages: &[&str],
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        let mut closure: Vec<String> = Vec::new();
        let mut asked: Vec<String> = packages.iter().map(|&name| name.to_owned()).collect();
        let mut next = asked.clone();
        while !next.is_empty() {
            let found = self.show(&next)?;
            next = Vec::new();
            for stanza in found {
                for name in stanza.depends() {
                    if wanted(name) && !asked.iter().any(|asked| asked == name) {
                        asked.push(name.to_owned());
                        next.push(name.to_owned());
                    }
                }
                closure.push(stanza.package().to_owned());
            }
        }
        for package in packages {
            if !closure.iter().any(|name| name == package) {
                bail!(Absent(format!(
                    "no package {package} for {} in {}",
                    self.arch.debian(),
                    self.suites
                )));
            }
        }
        Ok(closure)
    }

    /// Fetches these packages and unpacks them below `into`: files that match `patterns`, or all
    /// if there are none, except documentation.
    ///
    /// # Errors
    ///
    /// [`Absent`] if a package is gone; anything else if it cannot be fetched or unpacked.
    pub(crate) fn unpack(&self, packages: &[String], patterns: &[&str], into: &Path) -> Result<()> {
        let fetched = self.dir.join("fetched");
        let _ = fs::remove_dir_all(&fetched);
        for dir in [&*fetched, into] {
            fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
        self.fetch("download", packages, &fetched)?;
        let files = fs::read_dir(&fetched).context("cannot list what was fetched")?;
        for file in files {
            let file = file.context("cannot list what was fetched")?;
            tarball::unpack(&file.path(), patterns, into)?;
        }
        fs::remove_dir_all(&fetched).context("cannot remove what was fetched")
    }

    /// A tool of apt's that keeps to our directory.
    fn apt(&self, tool: &str) -> Command {
        let path = |name: &str| self.dir.join(name).display().to_string();
        let arch = self.arch.debian();
        let mut command = Command::new(tool);
        for option in [
            format!("Dir::Etc::sourcelist={}", path("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".into(),
            "Dir::Etc::preferencesparts=/dev/null".into(),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            format!("APT::Architecture={arch}"),
            format!("APT::Architectures::={arch}"),
            // root would otherwise fetch as a user who may not write here.
            "APT::Sandbox::User=root".into(),
            // By default a list that cannot be fetched is a warning, and looks like an empty suite.
            "APT::Update::Error-Mode=any".into(),
            "Acquire::Languages=none".into(),
            "Acquire::Retries=3".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ] {
            command.args(["-o", &option]);
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Runs an apt that uses the network, again if need be.
    fn fetch(&self, verb: &str, packages: &[String], into: &Path) -> Result<()> {
        let mut attempt = 1;
        loop {
            let mut command = self.apt("apt-get");
            command.args(["-qq", verb]).args(packages).current_dir(into);
            let output = command.output();
            let output = output.with_context(|| exec::cannot_run(&command))?;
            if output.status.success() {
                return Ok(());
            }
            let words = String::from_utf8_lossy(&output.stderr);
            let words = words.lines().collect::<Vec<_>>().join("; ");
            if is_gone(&words) {
                bail!(Absent(format!("{} does not have it: {words}", self.suites)));
            }
            if attempt == ATTEMPTS {
                // Not all of its options, which would hide its words.
                bail!("`apt-get {verb}` failed for {}: {words}", self.suites);
            }
            attempt += 1;
            thread::sleep(PAUSE);
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn is_gone(words: &str) -> bool {
    GONE.iter().any(|gone| words.contains(gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gone_is_not_unreachable() {
        for gone in [
            "E: The repository 'http://deb.debian.org/debian-security x Release' does not have a Release file.",
            "E: Failed to fetch http://deb.debian.org/x.deb  404  Not Found [IP: 1.2.3.4 80]",
            "E: Release file for http://x/InRelease is expired (invalid since 3d).",
        ] {
            assert!(is_gone(gone), "{gone}");
        }
        for unreachable in [
            "E: Failed to fetch http://deb.debian.org/x  Temporary failure resolving 'deb.debian.org'",
            "E: Failed to fetch http://deb.debian.org/x  503  Service Unavailable",
        ] {
            assert!(!is_gone(unreachable), "{unreachable}");
        }
    }
}
