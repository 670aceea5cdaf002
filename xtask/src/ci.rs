//! `cargo xtask ci`: everything that CI checks. If this passes here, CI is green.

use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, ensure};

use crate::{check_ebpf, dist, ebpf, exec, fuzz, run, steps::Steps, test, vm_test, workspace};

/// How long hostile inputs are tried.
const FUZZ_SECONDS: u64 = 60;

/// Runs all checks, whatever fails on the way, and sums them up.
pub(crate) fn run() -> ExitCode {
    let mut steps = Steps::default();
    steps.step("rustfmt and clippy", || {
        provide_component("rustfmt", "cargo-fmt").and(provide_component("clippy", "cargo-clippy"))
    });
    steps.step("format", || exec::run(&mut cargo("fmt --all --check")));
    steps.step("format of the eBPF crate", || {
        exec::run(cargo("fmt --check").current_dir(ebpf::crate_dir()))
    });
    steps.step("clippy", || {
        exec::run(&mut cargo(
            "clippy --locked --workspace --all-targets --features profil-user/otlp -- -D warnings",
        ))
    });
    // Embedding it takes no command line, no runtime, no symbolizer and no format. Its tests that
    // want root are named, because `--all-targets` leaves them out.
    steps.step("the library builds without its extras", || {
        exec::run(&mut cargo(
            "clippy --locked --package profil-user --package profil-c --no-default-features --lib \
             --examples --test handle --test face -- -D warnings",
        ))
    });
    // Apart from the rest: it has a panic handler of its own, and only a nightly can build it.
    steps.step("clippy of the eBPF crate", ebpf_clippy);
    steps.step("documentation", || {
        exec::run(cargo("doc --locked --no-deps --workspace").env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.step("BPF objects are current", || check_ebpf::run(false));
    steps.step("the user half builds on stable Rust alone", stable_alone);
    steps.step("hostile inputs", || fuzz::run(FUZZ_SECONDS));
    let mut remarks = test::add_steps(&mut steps, None, None);
    remarks.extend(vm_test::add_steps(&mut steps, &vm_test::Options::of_ci()));
    // Of what the machines above have been built with.
    steps.step("packages", || dist::run(&[]));
    steps.finish(&remarks)
}

/// A cargo command from words without spaces.
fn cargo(words: &str) -> Command {
    let mut command = workspace::cargo();
    command.args(words.split(' '));
    command
}

/// Adds a part of the toolchain that a minimal installation lacks.
fn provide_component(component: &str, program: &str) -> Result<()> {
    let works = Command::new(program).arg("--version").output();
    if works.is_ok_and(|works| works.status.success()) {
        return Ok(());
    }
    println!("adding {component} with rustup");
    exec::run(Command::new("rustup").args(["component", "add", component]))
}

fn ebpf_clippy() -> Result<()> {
    let builder = ebpf::Builder::new()?;
    for arch in ebpf::ARCHES {
        if !builder.clippy(arch)? {
            println!("not done: {} has no clippy", builder.rustc());
            break;
        }
    }
    Ok(())
}

/// Builds the user half where neither a nightly nor bpf-linker can be found. What users do.
fn stable_alone() -> Result<()> {
    let cargo_program = workspace::cargo_program();
    let toolchain = Path::new(&cargo_program)
        .parent()
        .context("cargo has no directory")?;
    let rustc = exec::output(Command::new(toolchain.join("rustc")).arg("--version"))?;
    ensure!(
        !rustc.contains("nightly"),
        "this cargo is not a stable one: {rustc}"
    );
    let path = env::var_os("PATH").context("PATH is not set")?;
    let others = env::split_paths(&path).filter(|dir| !dir.join("bpf-linker").exists());
    let path = env::join_paths(std::iter::once(toolchain.to_owned()).chain(others))?;
    let no_toolchains = workspace::target_dir().join("no-toolchains");
    fs::create_dir_all(&no_toolchains)?;

    // Cargo would not run the build script again just because its environment has changed.
    exec::run(&mut cargo(
        "clean --quiet --locked --release --package profil-user",
    ))?;
    exec::run(
        workspace::cargo()
            .args(run::BUILD)
            .env("PATH", path)
            .env("RUSTUP_HOME", no_toolchains)
            .env_remove("RUSTUP_TOOLCHAIN"),
    )
}
