//! `cargo xtask VERB`: everything the project does besides `cargo build` and `cargo test`.
//!
//! One module per verb. What the verbs share: [`exec`] runs commands, [`workspace`] knows where
//! things are, [`machine`] knows what this computer has, [`ebpf`] builds the kernel half, and
//! [`steps`] runs a list of steps to its end and sums it up.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program talks to its user"
)]

mod arch;
mod bench;
mod build_ebpf;
mod check_ebpf;
mod ci;
mod cross;
mod debian_archive;
mod dist;
mod ebpf;
mod elf;
mod exec;
mod fuzz;
mod machine;
mod picture;
mod run;
mod steps;
mod test;
mod vm_test;
mod workspace;

use std::{ffi::OsString, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use arch::Arch;

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", help_expected = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Build the checked-in BPF objects from their sources
    BuildEbpf,
    /// Prove that the checked-in BPF objects are those of the sources
    CheckEbpf {
        /// Compare digests only; do not rebuild
        #[arg(long)]
        no_build: bool,
    },
    /// Build profil-bpf and run it, with sudo if it lacks the privileges
    Run {
        /// Arguments for profil-bpf
        #[arg(last = true)]
        args: Vec<OsString>,
    },
    /// Run the tests; asks for root only where it is needed
    Test {
        /// The suite to run; all of them by default
        suite: Option<test::Suite>,
        /// Run only the tests whose names contain this
        filter: Option<String>,
    },
    /// Measure what the profiler costs on this machine; needs root
    Bench {
        /// The measurements to take; all of them by default
        names: Vec<String>,
    },
    /// Take what the README shows, a report and a picture of the live view, from real runs; needs root
    Picture,
    /// Build the static files to ship, packages of them with their manual, and a list of digests
    Dist {
        /// Build for this architecture; for all of them by default
        #[arg(long = "arch", value_name = "ARCH")]
        arches: Vec<Arch>,
    },
    /// Run the root tests on other kernels and on arm64, in virtual machines
    VmTest(vm_test::Options),
    /// Feed damaged and hostile inputs to everything that reads what others wrote
    Fuzz {
        /// How long
        #[arg(default_value_t = 60)]
        seconds: u64,
    },
    /// Run everything that CI checks
    Ci,
}

fn main() -> ExitCode {
    if let Some(error) = ebpf::identity::run_as_rustc_wrapper() {
        eprintln!("xtask: {error:#}");
        return ExitCode::FAILURE;
    }
    match dispatch(Cli::parse().verb) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::BuildEbpf => build_ebpf::run(),
        Verb::CheckEbpf { no_build } => check_ebpf::run(no_build),
        Verb::Run { args } => run::run(&args),
        Verb::Test { suite, filter } => return Ok(test::run(suite, filter.as_deref())),
        Verb::Bench { names } => bench::run(&names),
        Verb::Picture => picture::run(),
        Verb::Dist { arches } => dist::run(&arches),
        Verb::VmTest(options) => return Ok(vm_test::run(&options)),
        Verb::Fuzz { seconds } => fuzz::run(seconds),
        Verb::Ci => return Ok(ci::run()),
    }
    .map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
