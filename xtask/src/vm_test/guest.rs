//! What a virtual machine runs: the file system in its memory, one for all kernels of an
//! architecture.
//!
//! It holds the shipped binary, the tests, their targets, and the few programs that they use, out
//! of the packages of the system that we run on: programs compiled here find the same C library
//! there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use flate2::{Compression, write::GzEncoder};

use super::{
    cpio::Cpio,
    libraries::{Libraries, Program},
    packages,
};
use crate::{arch::Arch, dist::StaticBuild, exec, run, workspace};

/// The first process.
pub(super) const INIT: &str = include_str!("init.sh");

/// The test binary, and the program that builds its targets.
const ROOT_TESTS: [&str; 8] = [
    "test",
    "--no-run",
    "--release",
    "--locked",
    "--package",
    "profil-tests",
    "--test",
    "root",
];
const BUILD_WORKLOADS: [&str; 6] = [
    "build",
    "--locked",
    "--package",
    "profil-tests",
    "--bin",
    PROFIL_WORKLOADS,
];
const PROFIL_WORKLOADS: &str = "profil-workloads";

/// Modules of the tests that a virtual machine is no place for: one drives a terminal by a
/// program that the guest does not have, one draws on a terminal what other tests print, one wants
/// rates that an emulated CPU cannot keep, one is about time alone, of which it takes much, one wants a
/// second CPU, one a compiler, and one a Prometheus and more time than there is (`always_on` has its main job). The
/// controllers of a guest are where its first process has put them.
const LEFT_OUT: [&str; 8] = [
    "serve::",
    "terminal::",
    "top::",
    "high_rate::",
    "lockstep::",
    "cpus::",
    "go::",
    "cgroup_of_version_1",
];

/// Modules of the tests of names and files, for which one kernel is like the other, but not one
/// architecture: they run where the machine that we run on cannot run them.
const OF_NAMES_AND_FILES: [&str; 9] = [
    "annotate::",
    "filters::",
    "gmon::",
    "hostile::",
    "names::",
    "outputs::",
    "saved::",
    "symbols::",
    "translation::",
];

/// Modules of what is no part of the main job: on kernels of our architecture that are newer than the oldest of a run
/// they are left out, because what works there and on the machine that it runs on works on them.
const OF_FURTHER_JOBS: [&str; 9] = [
    "always_on::",
    "control::",
    "dialects::",
    "jitter::",
    "lifecycle::",
    "regions::",
    "targets::",
    "undisturbed::",
    "vectors::",
];

/// Where in the guest the test runner's arguments are: all tests that there are for its architecture, or
/// those of the main job.
pub(super) const ALL: &str = "/arguments";
pub(super) const MAIN_JOB: &str = "/arguments-of-main-job";

/// What is not made by a file, and modes that are not the usual ones.
const DIRECTORIES: [(&str, u32); 5] = [
    ("/dev", 0o755),
    ("/proc", 0o755),
    ("/sys", 0o755),
    ("/tmp", 0o1777),
    ("/root", 0o700),
];

/// Users that programs ask for by name.
const TEXTS: [(&str, &str); 2] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    ),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
];

/// Builds what is built by cargo, for all architectures at once.
///
/// # Errors
///
/// If something cannot be fetched or built.
pub(super) fn build_together(arches: &[Arch]) -> Result<()> {
    let builds: Vec<_> = arches
        .iter()
        .copied()
        .map(StaticBuild::provide)
        .collect::<Result<_>>()?;
    StaticBuild::together(&builds, &run::BUILD)?;
    StaticBuild::together(&builds, &ROOT_TESTS)
}

/// Builds all of it, and returns the file that a kernel is started with.
///
/// # Errors
///
/// If something cannot be fetched or built, or needs a library that is not there.
pub(super) fn provide(arch: Arch, filters: &[String]) -> Result<PathBuf> {
    let build = StaticBuild::provide(arch)?;
    let profil_bpf = build.profil_bpf()?;
    let tests = build.executable(&ROOT_TESTS, "root")?;
    let workloads = build_workloads(arch, &build)?;
    let packages = packages::provide(arch)?;

    let mut programs = packages::programs(&packages, arch)?;
    add_files(&workloads, "/workloads", &mut programs)?;
    let libraries = Libraries::below(&packages, arch)?;
    // The C library loads it when a thread is cancelled.
    programs.push(libraries.program("libgcc_s.so.1", &library_path(arch, "libgcc_s.so.1"))?);
    let needed = libraries.needed_by(&programs)?;
    programs.push(Program::read(&profil_bpf, "/profil-bpf")?);
    programs.push(Program::read(&tests, "/root-tests")?);

    let path = workspace::target_dir()
        .join("vm")
        .join(format!("initramfs-{}.gz", arch.debian()));
    let file = fs::File::create(&path);
    let file = file.with_context(|| format!("cannot create {}", path.display()))?;
    let mut cpio = Cpio::new(GzEncoder::new(file, Compression::fast()));
    let written = (|| {
        for (directory, mode) in DIRECTORIES {
            cpio.directory(directory, mode)?;
        }
        cpio.device("/dev/console", 0o600, (5, 1))?;
        for (name, text) in TEXTS {
            cpio.file(name, 0o644, text.as_bytes())?;
        }
        for (name, further) in [(ALL, &[][..]), (MAIN_JOB, &OF_FURTHER_JOBS)] {
            let lines = arguments(arch, filters, further);
            cpio.file(name, 0o644, lines.as_bytes())?;
        }
        cpio.file("/init", 0o755, INIT.as_bytes())?;
        for (name, bytes) in &needed.loaders {
            cpio.file(name, 0o755, bytes)?;
        }
        for (name, bytes) in &needed.libraries {
            cpio.file(&library_path(arch, name), 0o755, bytes)?;
        }
        for program in &programs {
            cpio.file(&program.name, 0o755, &program.bytes)?;
        }
        cpio.finish()?.finish()
    })();
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Where Debian's C library looks.
fn library_path(arch: Arch, name: &str) -> String {
    format!("/lib/{}/{name}", arch.gnu())
}

/// The test runner's arguments, one in a line.
fn arguments(arch: Arch, filters: &[String], left_out: &[&str]) -> String {
    let mut lines = "--test-threads=1\n".to_owned();
    let ours = Some(arch) == Arch::of_this_machine() && filters.is_empty();
    let of_names = OF_NAMES_AND_FILES.iter().filter(|_| ours);
    for module in LEFT_OUT.iter().chain(of_names).chain(left_out) {
        lines += &format!("--skip\n{module}\n");
    }
    for filter in filters {
        lines += &format!("{filter}\n");
    }
    lines
}

/// Builds the targets and returns the directory that holds them.
fn build_workloads(arch: Arch, build: &StaticBuild) -> Result<PathBuf> {
    let builder = workspace::build_executable(&BUILD_WORKLOADS, PROFIL_WORKLOADS)?;
    let dir = workspace::target_dir()
        .join("vm/workloads")
        .join(arch.debian());
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut command = Command::new(builder);
    command.arg(&dir);
    build.compiler().set_up(&mut command)?;
    exec::run(&mut command)?;
    Ok(dir)
}

/// Adds every file below `dir`, as it lies there.
fn add_files(dir: &Path, name: &str, programs: &mut Vec<Program>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add_files(&entry.path(), &name, programs)?;
        } else {
            programs.push(Program::read(&entry.path(), &name)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_is_a_line() {
        assert_eq!(
            arguments(Arch::Aarch64, &["gmon::".into()], &["further::"]),
            "--test-threads=1\n--skip\nserve::\n--skip\nterminal::\n--skip\ntop::\n--skip\nhigh_rate::\n--skip\nlockstep::\n--skip\ncpus::\n--skip\ngo::\n--skip\ncgroup_of_version_1\n--skip\nfurther::\ngmon::\n"
        );
    }
}
