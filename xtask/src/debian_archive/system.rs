//! Which Debian this machine runs.

use std::fs;

use anyhow::{Context as _, Result};

/// The suite that this machine runs.
///
/// # Errors
///
/// If this is not Debian.
pub(crate) fn suite_of_this_system() -> Result<String> {
    let about = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let suite = codename(&about).context("this is not Debian, whose programs are wanted here")?;
    Ok(suite.to_owned())
}

/// The name of Debian's suite in `/etc/os-release`.
fn codename(about: &str) -> Option<&str> {
    let value = |name: &str| {
        about
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map(|value| value.trim_matches('"'))
    };
    value("ID")
        .filter(|&id| id == "debian")
        .and_then(|_| value("VERSION_CODENAME"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debian_has_a_suite() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_CODENAME=bookworm\n";
        assert_eq!(codename(debian), Some("bookworm"));
        let relative = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n";
        assert_eq!(codename(relative), None);
        assert_eq!(codename("ID=debian\n"), None);
    }
}
