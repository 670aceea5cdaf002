//! `profil-fuzz TARGET [SECONDS] [SEED]`: feeds mutated inputs to a reader for a while.
//! `profil-fuzz TARGET FILE`: one input again.
//!
//! It runs on stable Rust and needs no instrumentation. In its place, a target returns what it made
//! of an input, roughly, as numbers; inputs with a number that was never seen are kept and mutated
//! further. With the same seed the same inputs come in the same order.
//!
//! A panic, an input that takes too long, or a broken promise of the target ends the run: the input
//! is written to a file, and the exit status is 1.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program talks to its user"
)]

mod elf;
mod formula;
mod gmon;
mod hunt;
mod memory;
mod mutate;
mod pprof;
mod process;
mod region;
mod serve;

use std::{env, fs, process::ExitCode, time::Duration};

/// Counts what the readers allocate.
#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

/// Something that reads what others wrote.
#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    /// Inputs to begin with, each of them well-formed.
    seeds: fn() -> Vec<Vec<u8>>,
    /// Reads one input, and panics if a promise is broken. The numbers stand for what it made of it,
    /// roughly, one for each way of reading.
    run: fn(&[u8]) -> Vec<u64>,
}

const TARGETS: &[Target] = &[
    gmon::TARGET,
    pprof::TARGET,
    region::TARGET,
    formula::TARGET,
    elf::TARGET,
    process::MAPPINGS,
    process::PERF_MAP,
    process::RECORDS,
    serve::REQUEST,
    serve::CONFIGURATION,
];

const USAGE: &str = "usage: profil-fuzz TARGET [SECONDS] [SEED], or profil-fuzz TARGET FILE";

/// What to do with a target.
enum Job {
    Hunt(Duration, u64),
    Again(Vec<u8>),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let job = arguments.split_first().ok_or(USAGE.to_owned());
    let job = job.and_then(|(name, rest)| Ok((target(name)?, job_of(rest)?)));
    match job {
        Err(message) => {
            eprintln!("profil-fuzz: {message}");
            ExitCode::from(2)
        }
        Ok((target, Job::Again(input))) => {
            println!("{}: {:x?}", target.name, (target.run)(&input));
            ExitCode::SUCCESS
        }
        Ok((target, Job::Hunt(time, seed))) => hunt::run(target, time, seed),
    }
}

fn target(name: &str) -> Result<Target, String> {
    let found = TARGETS.iter().find(|target| target.name == name);
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>();
    found.copied().ok_or_else(|| {
        format!(
            "there is no target {name}; there are: {}",
            names().join(", ")
        )
    })
}

fn job_of(arguments: &[String]) -> Result<Job, String> {
    const MINUTE: u64 = 60;

    let number = |text: &String| text.parse::<u64>().ok();
    match arguments {
        [] => Ok(Job::Hunt(Duration::from_secs(MINUTE), 1)),
        [seconds] if number(seconds).is_none() => {
            let input = fs::read(seconds).map_err(|error| format!("{seconds}: {error}"))?;
            Ok(Job::Again(input))
        }
        [seconds, seed @ ..] if seed.len() <= 1 => {
            let seconds = number(seconds).ok_or(USAGE)?;
            let seed = seed.first().map_or(Some(1), number).ok_or(USAGE)?;
            Ok(Job::Hunt(Duration::from_secs(seconds), seed))
        }
        _ => Err(USAGE.to_owned()),
    }
}
