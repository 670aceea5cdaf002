//! `cargo xtask vm-test`: the root tests on other kernels and on another architecture.
//!
//! Stock kernels of Debian's boot in QEMU from a file system in memory that holds the shipped
//! binary, the tests and little else: no disk image, no network, no modules. A leg is one kernel.
//! [`matrix`] lists them, [`kernels`] fetches them, [`guest`] makes the file system, [`machine`]
//! runs QEMU, [`console`] reads what the guest says, [`verdict`] judges it, [`budgets`] among others, and
//! [`outcome`] takes a leg through all of this.

mod budgets;
mod console;
mod cpio;
mod guest;
mod kernels;
mod libraries;
mod machine;
mod matrix;
mod outcome;
mod packages;
mod verdict;

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, sync::Mutex, thread};

use anyhow::Result;
use clap::Args;

use crate::{arch::Arch, steps::Steps};
use budgets::Budgets;
use machine::Accelerator;
use matrix::Leg;
use outcome::Ran;

/// Several times what a kernel takes; on a host at a load of ten some take nearly four minutes.
const TIMEOUT_SECONDS: u64 = 400;

/// What to run, and how.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Run on every kernel of the matrix, not only on those that CI runs
    #[arg(long)]
    all: bool,
    /// Run on this architecture only
    #[arg(long = "arch", value_name = "ARCH")]
    arches: Vec<Arch>,
    /// Run on this kernel only: a leg such as amd64-6.1, or 6.1 on all architectures
    #[arg(long = "kernel", value_name = "NAME")]
    kernels: Vec<String>,
    /// What runs the guest's instructions
    #[arg(long, value_enum, default_value_t)]
    accel: Accelerator,
    /// The time that one kernel may take
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT_SECONDS)]
    timeout: u64,
    /// Take the sizes of the BPF programs as what they should be from now on
    #[arg(long)]
    record: bool,
    /// Show the consoles as they come
    #[arg(short, long)]
    verbose: bool,
    /// Run only the tests whose names contain one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

impl Options {
    /// What CI runs.
    pub(crate) fn of_ci() -> Self {
        Self {
            all: false,
            arches: Vec::new(),
            kernels: Vec::new(),
            accel: Accelerator::default(),
            timeout: TIMEOUT_SECONDS,
            record: false,
            verbose: false,
            filters: Vec::new(),
        }
    }
}

impl Options {
    /// Whether they ask for nothing else than what CI runs.
    fn is_of_ci(&self) -> bool {
        !self.all && self.kernels.is_empty() && self.filters.is_empty()
    }
}

/// Runs the tests in virtual machines and sums them up.
pub(crate) fn run(options: &Options) -> ExitCode {
    let mut steps = Steps::default();
    let remarks = add_steps(&mut steps, options);
    steps.finish(&remarks)
}

/// Runs them as steps of something larger. Returns the lines that belong in its summary: one for
/// each kernel.
pub(crate) fn add_steps(steps: &mut Steps, options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    let selected = steps.step("QEMU", || {
        let legs = matrix::select(options.all, &options.arches, &options.kernels)?;
        let arches = arches(&legs);
        machine::provide(&arches)?;
        Ok((legs, arches, Budgets::read()?))
    });
    let Some((legs, arches, mut budgets)) = selected else {
        return lines;
    };
    steps.step("what guests run", || guest::build_together(&arches));
    let mut guests = BTreeMap::new();
    for arch in arches {
        let name = format!("the guest for {arch}");
        if let Some(guest) = steps.step(&name, || guest::provide(arch, &options.filters)) {
            guests.insert(arch, guest);
        }
    }
    let kernels: Vec<_> = legs.iter().map(|leg| kernels::provide(leg)).collect();
    let mut ran = Vec::new();
    steps.step("kernels with the tests in them", || {
        ran = boot_all(&legs, kernels, &guests, options);
        Ok(())
    });
    for (leg, ran) in legs.into_iter().zip(ran) {
        let name = format!("tests on {leg}");
        steps.step(&name, || {
            let outcome = outcome::judge(leg, ran, options, &mut budgets);
            println!("{}", outcome.line);
            lines.push(outcome.line);
            outcome.result
        });
    }
    if options.record {
        steps.step("record the sizes of the BPF programs", || budgets.write());
    }
    lines
}

/// Boots all kernels, as many at a time as do not disturb each other.
fn boot_all(
    legs: &[&Leg],
    kernels: Vec<Result<PathBuf>>,
    guests: &BTreeMap<Arch, PathBuf>,
    options: &Options,
) -> Vec<Ran> {
    let mut waiting: Vec<_> = legs.iter().zip(kernels).enumerate().collect();
    waiting.sort_by_key(|(_, (leg, _))| leg.turn());
    let waiting = Mutex::new(waiting.into_iter());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..options.accel.at_once() {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no thread panics with it").next();
                    let Some((index, (leg, kernel))) = next else {
                        break;
                    };
                    let guest = guests.get(&leg.arch).map(PathBuf::as_path);
                    let ran = outcome::boot(leg, kernel, guest, options);
                    done.lock()
                        .expect("no thread panics with it")
                        .push((index, ran));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, ran)| ran).collect()
}

fn arches(legs: &[&Leg]) -> Vec<Arch> {
    let mut arches: Vec<_> = legs.iter().map(|leg| leg.arch).collect();
    arches.sort();
    arches.dedup();
    arches
}
