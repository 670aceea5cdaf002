//! The compiler for the eBPF crate: a nightly Rust with the sources of `core`.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::{debian, linker};
use crate::{exec, machine};

/// The nightlies that will do, the first that is installed wins. The first one is the one that
/// [`linker::VERSION`] is known to work with; whoever has just "nightly" may have a later LLVM.
const NIGHTLIES: [&str; 2] = ["nightly-2026-05-20", "nightly"];

/// Where the sources of the standard library lie in a sysroot.
const RUST_SRC: &str = "lib/rustlib/src/rust";

/// What a compiler says it is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Version {
    /// As in `1.97.0-nightly`.
    pub(crate) release: String,
    /// The commit it was built from, which is its identity.
    pub(crate) commit: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rustc {} ({})",
            self.release,
            self.commit.get(..9).unwrap_or(&self.commit)
        )
    }
}

/// A compiler that can build `core` for BPF, and the LLVM that bpf-linker borrows.
#[derive(Debug)]
pub(super) struct Toolchain {
    pub(super) version: Version,
    /// The root of the compiler in use.
    sysroot: PathBuf,
    /// The triple of this machine.
    host: String,
    /// The root of rustup's nightly; another one only if the compiler is Debian's.
    nightly: PathBuf,
}

impl Toolchain {
    /// Finds the toolchain and adds what is missing.
    pub(super) fn provide() -> Result<Self> {
        let (name, nightly) = find_nightly()?;
        let sysroot = if has_rust_src(&nightly) || (add_rust_src(name) && has_rust_src(&nightly)) {
            nightly.clone()
        } else if machine::is_debian_like() {
            debian::provide()?
        } else {
            bail!(
                "the sources of `core` are missing: `rustup component add rust-src --toolchain {name}`"
            );
        };
        if !has_rust_src(&sysroot) {
            bail!(
                "{} holds no sources of `core`",
                sysroot.join(RUST_SRC).display()
            );
        }
        let about = exec::output(command_in(&sysroot, "rustc").arg("-vV"))?;
        let fact = |name: &str| {
            about
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .with_context(|| format!("rustc -vV says no {name}"))
        };
        let llvm = fact("LLVM version")?;
        if llvm.split('.').next() != Some(linker::LLVM) {
            bail!(
                "bpf-linker {} works with LLVM {} and {name} has {llvm}: \
                 `rustup toolchain install {} --profile minimal --component rust-src`",
                linker::VERSION,
                linker::LLVM,
                NIGHTLIES[0],
            );
        }
        let version = Version {
            release: fact("release")?.into(),
            commit: fact("commit-hash")?.into(),
        };
        let host = fact("host")?.to_owned();
        Ok(Self {
            version,
            host,
            sysroot,
            nightly,
        })
    }

    /// The sources of the standard library.
    pub(super) fn rust_src(&self) -> PathBuf {
        self.sysroot.join(RUST_SRC)
    }

    /// The directory of the compiler.
    pub(super) fn bin_dir(&self) -> PathBuf {
        self.sysroot.join("bin")
    }

    /// Whether the toolchain has this program.
    pub(super) fn has(&self, program: &str) -> bool {
        self.bin_dir().join(program).exists()
    }

    /// Its cargo, in an environment without our own cargo's settings.
    pub(super) fn cargo(&self) -> Command {
        let mut command = command_in(&self.sysroot, "cargo");
        command.env("RUSTC", self.bin_dir().join("rustc"));
        // bpf-linker looks for LLVM here.
        command.env("LD_LIBRARY_PATH", self.nightly.join("lib"));
        if self.sysroot != self.nightly {
            // Debian's compiler is a stable one and would refuse what only a nightly may do.
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        command
    }

    /// The objcopy that every Rust toolchain brings along.
    pub(super) fn objcopy(&self) -> Command {
        let bin = self
            .nightly
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin");
        let mut command = Command::new(bin.join("rust-objcopy"));
        command.env("LD_LIBRARY_PATH", self.nightly.join("lib"));
        command
    }
}

/// The name and the sysroot of an installed nightly.
fn find_nightly() -> Result<(&'static str, PathBuf)> {
    if machine::find_program("rustup").is_none() {
        bail!("building the eBPF crate takes rustup: see https://rustup.rs");
    }
    for name in NIGHTLIES {
        let mut rustc = rustup();
        rustc
            .args(["run", name, "rustc", "--print", "sysroot"])
            .stderr(Stdio::null());
        if let Ok(found) = rustc.output()
            && found.status.success()
        {
            let sysroot = String::from_utf8(found.stdout).context("the sysroot is not UTF-8")?;
            return Ok((name, sysroot.trim_end().into()));
        }
    }
    bail!(
        "building the eBPF crate takes a nightly Rust: \
         `rustup toolchain install {} --profile minimal --component rust-src`",
        NIGHTLIES[0],
    );
}

fn has_rust_src(sysroot: &Path) -> bool {
    sysroot
        .join(RUST_SRC)
        .join("library/core/Cargo.toml")
        .exists()
}

fn add_rust_src(toolchain: &str) -> bool {
    eprintln!("xtask: adding rust-src to {toolchain} with rustup");
    let added =
        exec::run(rustup().args(["component", "add", "rust-src", "--toolchain", toolchain]));
    if let Err(error) = &added {
        eprintln!("xtask: {error:#}");
    }
    added.is_ok()
}

fn rustup() -> Command {
    let mut command = Command::new("rustup");
    clean_environment(&mut command);
    // Its stack is no use to whoever reads why it failed.
    command.env_remove("RUST_BACKTRACE");
    command
}

/// A program of the toolchain itself, not rustup's stand-in for it.
fn command_in(sysroot: &Path, program: &str) -> Command {
    let mut command = Command::new(sysroot.join("bin").join(program));
    clean_environment(&mut command);
    command
}

/// Removes what the outer `cargo xtask` or the user set for another build. How to reach the
/// network and how to write to the terminal remain theirs.
fn clean_environment(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(steers_a_build) {
            command.env_remove(name);
        }
    }
}

fn steers_a_build(name: &str) -> bool {
    const OURS: [&str; 6] = [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
        "AYA_",
    ];
    const THEIRS: [&str; 6] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    let any = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    name == "LD_LIBRARY_PATH" || (any(&OURS) && !any(&THEIRS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_network_and_the_terminal_stay() {
        for name in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_TARGET_DIR",
            "LD_LIBRARY_PATH",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(steers_a_build(name), "{name}");
        }
        for name in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_TERM_COLOR",
            "PATH",
            "RUSTUP_HOME",
        ] {
            assert!(!steers_a_build(name), "{name}");
        }
    }
}
