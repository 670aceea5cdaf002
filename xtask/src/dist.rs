//! `cargo xtask dist`: the profiler as one static file per architecture, which needs nothing on
//! the machine that runs it but a kernel; and with its manual, as packages.

mod deb;
mod package;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::{
    arch::Arch,
    cross::{self, Compiler},
    elf::Needs,
    exec, run, workspace,
};

/// The version that is shipped.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Links the C library in.
const RUSTFLAGS: &str = "-C target-feature=+crt-static";

/// Other flags for rustc take the place of a target's own ones, so they have to go.
const OVERRIDING: [&str; 2] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];

/// Who checks a download against this list, and how: `sha256sum --check SHA256SUMS`.
const SUMS: &str = "SHA256SUMS";

/// Builds the files to ship, and a list of their digests.
///
/// # Errors
///
/// If a tool is missing, a build fails, or something comes out that is not static.
pub(crate) fn run(arches: &[Arch]) -> Result<()> {
    let arches = if arches.is_empty() {
        &Arch::ALL
    } else {
        arches
    };
    let dir = workspace::target_dir().join("dist");
    // What an earlier version left is not on the list.
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let stage = workspace::target_dir().join("dist-stage");
    let here = Arch::of_this_machine().context("we do not ship for this machine's architecture")?;
    let mut sums = String::new();
    let mut add = |name: &str, bytes: &[u8]| -> Result<()> {
        writeln!(sums, "{:x}  {name}", Sha256::digest(bytes))?;
        println!("{}: {} bytes", dir.join(name).display(), bytes.len());
        Ok(())
    };
    for &arch in arches {
        let built = StaticBuild::provide(arch)?.profil_bpf()?;
        let name = format!("{}-{VERSION}-linux-{arch}", run::PROFIL_BPF);
        fs::copy(&built, dir.join(&name))
            .with_context(|| format!("cannot write {name} to {}", dir.display()))?;
        add(&name, &read(&built)?)?;

        // The manual is the same for all, and told by the one that can be run here.
        let speaker = if arch == here {
            built.clone()
        } else {
            StaticBuild::provide(here)?.profil_bpf()?
        };
        package::stage(&built, &speaker, &stage)?;
        let package = package::pack(&stage)?;
        let name = format!("{}-{VERSION}-{arch}.tar.gz", run::PROFIL_BPF);
        fs::write(dir.join(&name), &package)
            .with_context(|| format!("cannot write {name} to {}", dir.display()))?;
        add(&name, &package)?;

        let package = deb::pack(
            deb::Built {
                program: &built,
                manual: &stage.join("share"),
                arch,
            },
            &workspace::target_dir().join("deb-stage"),
        )?;
        // As Debian names them.
        let name = format!("{}_{VERSION}_{}.deb", run::PROFIL_BPF, arch.debian());
        fs::write(dir.join(&name), &package)
            .with_context(|| format!("cannot write {name} to {}", dir.display()))?;
        add(&name, &package)?;
    }
    let path = dir.join(SUMS);
    fs::write(&path, sums).with_context(|| format!("cannot write {}", path.display()))
}

/// Builds executables that need no library.
#[derive(Debug)]
pub(crate) struct StaticBuild {
    arch: Arch,
    compiler: Compiler,
}

impl StaticBuild {
    /// Finds or fetches what a build for `arch` takes.
    ///
    /// # Errors
    ///
    /// If something is missing and cannot be fetched.
    pub(crate) fn provide(arch: Arch) -> Result<Self> {
        cross::provide_std(arch)?;
        let compiler = Compiler::provide(arch)?;
        Ok(Self { arch, compiler })
    }

    /// The C compiler for the same architecture.
    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// The profiler, as it is shipped.
    ///
    /// # Errors
    ///
    /// As for [`StaticBuild::executable`].
    pub(crate) fn profil_bpf(&self) -> Result<PathBuf> {
        self.executable(&run::BUILD, run::PROFIL_BPF)
    }

    /// Has one cargo build the same for several architectures, so that each CPU has something to do while one
    /// large crate is compiled; who builds it by itself afterwards finds it done.
    ///
    /// # Errors
    ///
    /// If a build fails.
    pub(crate) fn together(builds: &[Self], cargo_args: &[&str]) -> Result<()> {
        let mut cargo = workspace::cargo();
        cargo.args(cargo_args);
        for build in builds {
            build.set_up(&mut cargo)?;
        }
        exec::run(&mut cargo)
    }

    /// Tells a cargo to build for our architecture.
    fn set_up(&self, cargo: &mut Command) -> Result<()> {
        // Without the target, build scripts and procedural macros would get the flags too.
        cargo.args(["--target", self.arch.triple()]);
        for name in OVERRIDING {
            cargo.env_remove(name);
        }
        cargo.env(cross::cargo_variable(self.arch, "RUSTFLAGS"), RUSTFLAGS);
        self.compiler.set_up_cargo(cargo)
    }

    /// Runs cargo and returns the executable that it made for `target`.
    ///
    /// # Errors
    ///
    /// If the build fails, or if what it makes is not static or for another architecture.
    pub(crate) fn executable(&self, cargo_args: &[&str], target: &str) -> Result<PathBuf> {
        let mut cargo = workspace::cargo();
        cargo.args(cargo_args);
        self.set_up(&mut cargo)?;
        let built = workspace::executable_of(&mut cargo, target)?;
        check(&read(&built)?, self.arch)
            .with_context(|| format!("{} is no use", built.display()))?;
        Ok(built)
    }
}

fn check(bytes: &[u8], arch: Arch) -> Result<()> {
    let needs = Needs::of(bytes)?.context("it is not an ELF file")?;
    needs.check_machine(arch)?;
    needs.check_static()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_library_is_not_shipped() {
        let bytes = read(Path::new("/proc/self/exe")).expect("we have been started from a file");
        for arch in Arch::ALL {
            assert!(check(&bytes, arch).is_err());
        }
        assert!(check(b"#!/bin/sh\n", Arch::X86_64).is_err());
    }
}
