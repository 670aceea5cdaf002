//! Where Debian's archive is, as this machine's own apt knows it.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::{arch::Arch, exec, machine};

/// apt is asked for what it fetches, by whose label, and from where.
const FORMAT: &str = "$(CREATED_BY)|$(LABEL)|$(REPO_URI)";

/// The addresses of the two parts of the archive.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Mirrors {
    main: String,
    security: String,
}

impl Mirrors {
    /// # Errors
    ///
    /// If this machine's apt knows no mirror of Debian, even after it has fetched its lists.
    pub(super) fn of_this_machine() -> Result<Self> {
        if let Some(mirrors) = Self::known()? {
            return Ok(mirrors);
        }
        // A fresh container has addresses and no lists, and so no labels.
        if machine::is_root() {
            exec::run(Command::new("apt-get").args(["-qq", "update"]))?;
        }
        Self::known()?.context(
            "this machine's apt knows no mirror of Debian and of its security updates: \
             `sudo apt-get update`, and look at what is in /etc/apt/sources.list.d",
        )
    }

    fn known() -> Result<Option<Self>> {
        let targets =
            exec::output(Command::new("apt-get").args(["indextargets", "--format", FORMAT]))?;
        Ok(Self::among(&targets))
    }

    fn among(targets: &str) -> Option<Self> {
        let mirror = |wanted: &str| {
            targets.lines().find_map(|line| {
                let mut fields = line.split('|');
                let is_it = fields.next()? == "Packages" && fields.next()? == wanted;
                fields.next().filter(|_| is_it).map(str::to_owned)
            })
        };
        Some(Self {
            main: mirror("Debian")?,
            security: mirror("Debian-Security")?,
        })
    }

    /// The lines of a `sources.list` for these suites.
    pub(super) fn sources(&self, keyring: &str, arch: Arch, suites: &[&str]) -> String {
        let arch = arch.debian();
        let line = |suite: &&str| {
            let mirror = if suite.ends_with("-security") {
                &self.security
            } else {
                &self.main
            };
            format!("deb [signed-by={keyring} arch={arch}] {mirror} {suite} main\n")
        };
        suites.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
DEP-11|Debian|http://wrong/
Packages|Docker CE|http://docker/
Packages|Debian|http://mirror/debian/
Packages|Debian|http://second/debian/
Packages|Debian-Security|http://mirror/debian-security/
";

    #[test]
    fn each_part_has_its_mirror() {
        let mirrors = Mirrors::among(TARGETS).expect("both are there");
        assert_eq!(
            mirrors.sources(
                "/key.gpg",
                Arch::Aarch64,
                &["bookworm", "bookworm-security"]
            ),
            "deb [signed-by=/key.gpg arch=arm64] http://mirror/debian/ bookworm main\n\
             deb [signed-by=/key.gpg arch=arm64] http://mirror/debian-security/ bookworm-security main\n"
        );
    }

    #[test]
    fn both_parts_are_wanted() {
        assert_eq!(Mirrors::among(""), None);
        assert_eq!(Mirrors::among("Packages|Debian|http://mirror/\n"), None);
    }
}
