//! Gives our own crates an identity that does not depend on the checkout.
//!
//! Cargo passes `-C metadata=HASH` to rustc, and rustc puts it into every mangled name. For a
//! crate from a registry the hash is the same everywhere; for a path dependency outside of its
//! workspace, as `profil-common` is to `profil-ebpf`, it covers the absolute path. So cargo is
//! told to call this very program in place of rustc, and it calls rustc with a fixed value.

use std::{env, ffi::OsString, process::Command};

use anyhow::{Error, anyhow};

use crate::exec;

/// The crates that cargo finds by path.
pub(super) const PACKAGES: [&str; 2] = ["profil-common", "profil-ebpf"];

/// Set when cargo calls us in place of rustc.
const ACTS_AS_RUSTC: &str = "XTASK_ACTS_AS_RUSTC";

/// Makes a cargo command call us in place of rustc.
pub(super) fn wrap_rustc(cargo: &mut Command) {
    let us = env::current_exe().expect("the kernel knows which file we were started from");
    cargo.env("RUSTC_WRAPPER", us).env(ACTS_AS_RUSTC, "1");
}

/// If cargo called us in place of rustc, becomes rustc, and returns only if that fails.
/// Otherwise does nothing.
pub(crate) fn run_as_rustc_wrapper() -> Option<Error> {
    env::var_os(ACTS_AS_RUSTC)?;
    let mut arguments = env::args_os().skip(1);
    let Some(rustc) = arguments.next() else {
        return Some(anyhow!("{ACTS_AS_RUSTC} is set, but no compiler is named"));
    };
    let ours = env::var("CARGO_PKG_NAME")
        .ok()
        .filter(|name| PACKAGES.contains(&name.as_str()));
    let arguments = arguments.map(|argument| match &ours {
        Some(package) => with_fixed_metadata(argument, package),
        None => argument,
    });
    Some(exec::replace_by(Command::new(rustc).args(arguments)))
}

/// The value of a `-C` option, which is an argument of its own when cargo passes it.
fn with_fixed_metadata(argument: OsString, package: &str) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("metadata=") => format!("metadata={package}").into(),
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_metadata_is_fixed() {
        let fixed = |argument: &str| with_fixed_metadata(argument.into(), "profil-common");
        assert_eq!(fixed("metadata=0123456789abcdef"), "metadata=profil-common");
        assert_eq!(
            fixed("extra-filename=-0123456789abcdef"),
            "extra-filename=-0123456789abcdef"
        );
        assert_eq!(fixed("-C"), "-C");
    }
}
