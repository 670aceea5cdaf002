//! Builds the kernel half of the profiler, and the test program beside it: two objects per target
//! architecture.
//!
//! The same sources and the same tools give the same bytes, wherever the checkout, cargo's home
//! and the toolchain lie. Four things see to that: cargo runs in a clean environment
//! ([`toolchain`]), the paths in debug information are replaced ([`paths`]), our own crates have
//! fixed names ([`identity`]), and DWARF, which nobody reads in the end, is removed.

mod debian;
pub(crate) mod identity;
mod linker;
pub(crate) mod manifest;
mod paths;
mod toolchain;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{exec, workspace};

use toolchain::Toolchain;
pub(crate) use toolchain::Version;

/// The architectures whose registers the program can read.
pub(crate) const ARCHES: [&str; 2] = ["aarch64", "x86_64"];

/// The binaries of the eBPF crate, and what their objects' names begin with.
const BINARIES: [(&str, &str); 2] = [("profil-ebpf", "profil"), ("profil-trial", "profil-trial")];

const TARGET: &str = "bpfel-unknown-none";

/// What to build: no target, no `core` comes prebuilt for BPF.
const BUILD: [&str; 5] = [
    "--locked",
    "--release",
    "--target",
    TARGET,
    "-Zbuild-std=core",
];

/// bpf-linker makes BTF out of full debug information.
const RUSTFLAGS: [&str; 2] = ["-Cdebuginfo=2", "-Clink-arg=--btf"];

/// Removes DWARF and keeps BTF: nine tenths of the object, and the part with mangled names.
const STRIP: &str = "--strip-debug";

/// Everything about the build, besides sources and tools, that shows in the bytes.
fn recipe() -> String {
    [
        &BUILD[..],
        &RUSTFLAGS,
        &[STRIP],
        &paths::STAND_INS,
        &identity::PACKAGES,
    ]
    .concat()
    .join(" ")
}

/// The eBPF crate, a workspace of its own.
pub(crate) fn crate_dir() -> PathBuf {
    workspace::root().join("profil-ebpf")
}

/// Where the objects are checked in.
pub(crate) fn objects_dir() -> PathBuf {
    workspace::root().join("profil-user/bpf")
}

/// The files that all objects are checked in as.
pub(crate) fn object_names() -> impl Iterator<Item = String> {
    let of = |arch| BINARIES.map(|(_, stem)| object_name(stem, arch));
    ARCHES.into_iter().flat_map(of)
}

fn object_name(stem: &str, arch: &str) -> String {
    format!("{stem}-{arch}.bpf.o")
}

/// An object, by the name of its file.
pub(crate) type Object = (String, Vec<u8>);

/// Everything that a build needs, found or installed.
#[derive(Debug)]
pub(crate) struct Builder {
    toolchain: Toolchain,
    linker_dir: PathBuf,
    rustflags: Vec<String>,
}

impl Builder {
    /// Finds the tools, and installs those that can be installed.
    ///
    /// # Errors
    ///
    /// If a tool is missing; the error names the command that installs it.
    pub(crate) fn new() -> Result<Self> {
        let toolchain = Toolchain::provide()?;
        let linker_dir = linker::provide()?;
        let mut builder = Self {
            toolchain,
            linker_dir,
            rustflags: Vec::new(),
        };
        builder.rustflags = RUSTFLAGS.map(str::to_owned).to_vec();
        builder.rustflags.extend(paths::remappings(&builder)?);
        Ok(builder)
    }

    /// The compiler in use.
    pub(crate) fn rustc(&self) -> &Version {
        &self.toolchain.version
    }

    /// Compiles and links all objects, in the order of [`object_names`].
    ///
    /// # Errors
    ///
    /// If the build fails.
    pub(crate) fn objects(&self) -> Result<Vec<Object>> {
        let mut objects = Vec::new();
        for arch in ARCHES {
            self.build(arch)?;
            for (binary, stem) in BINARIES {
                objects.push(self.strip(arch, binary, object_name(stem, arch))?);
            }
        }
        Ok(objects)
    }

    fn build(&self, arch: &str) -> Result<()> {
        eprintln!(
            "xtask: building the eBPF objects for {arch} with {}",
            self.rustc()
        );
        // Cargo does not know when the linker or our stand-in for rustc has changed, so our own
        // crates are always built anew.
        let mut clean = self.nested_cargo(arch);
        clean
            .args("clean --quiet --locked --release --target".split(' '))
            .arg(TARGET);
        clean.args(identity::PACKAGES.map(|package| format!("--package={package}")));
        exec::run(&mut clean)?;
        exec::run(self.nested_cargo(arch).arg("build").args(BUILD))
    }

    fn strip(&self, arch: &str, binary: &str, name: String) -> Result<Object> {
        let target_dir = target_dir(arch);
        let linked = target_dir.join(TARGET).join("release").join(binary);
        let stripped = target_dir.join(&name);
        exec::run(
            self.toolchain
                .objcopy()
                .arg(STRIP)
                .arg(&linked)
                .arg(&stripped),
        )?;
        let object =
            fs::read(&stripped).with_context(|| format!("cannot read {}", stripped.display()))?;
        if let Some(path) = paths::foreign_path(&object) {
            bail!("{name} depends on where it was built: it contains {path:?}");
        }
        Ok((name, object))
    }

    /// Lints the eBPF crate as it is compiled for `arch`. `Ok(false)` if there is no clippy.
    ///
    /// # Errors
    ///
    /// If clippy finds something.
    pub(crate) fn clippy(&self, arch: &str) -> Result<bool> {
        if !self.toolchain.has("cargo-clippy") {
            return Ok(false);
        }
        exec::run(
            self.nested_cargo(arch)
                .arg("clippy")
                .args(BUILD)
                .args(["--", "-D", "warnings"]),
        )?;
        Ok(true)
    }

    /// The toolchain's cargo in the eBPF crate, set up for `arch`.
    fn nested_cargo(&self, arch: &str) -> Command {
        let mut command = self.toolchain.cargo();
        command
            .current_dir(crate_dir())
            .env("AYA_BPF_TARGET_ARCH", arch)
            .env("CARGO_ENCODED_RUSTFLAGS", self.rustflags.join("\x1f"))
            .env("CARGO_TARGET_DIR", target_dir(arch));
        prepend_to_path(&mut command, [&self.toolchain.bin_dir(), &self.linker_dir]);
        identity::wrap_rustc(&mut command);
        command
    }
}

/// A target directory per architecture: a build of one does not make the other's stale.
fn target_dir(arch: &str) -> PathBuf {
    workspace::target_dir().join("ebpf").join(arch)
}

fn prepend_to_path(command: &mut Command, dirs: [&Path; 2]) {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = dirs
        .into_iter()
        .map(Path::to_owned)
        .chain(env::split_paths(&path));
    command.env(
        "PATH",
        env::join_paths(dirs).expect("PATH's parts and tool directories have no colon"),
    );
}
