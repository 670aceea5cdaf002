//! The hunt: inputs, one after another, until the time is up or one of them does harm.

use std::{
    collections::HashSet,
    fs,
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    process::{self, ExitCode},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::{Target, mutate::Mutator};

/// No input may take this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Inputs that are kept to be mutated further.
const MOST_KEPT: usize = 4096;

/// What is being tried at the moment, for the watchdog.
type Current = Arc<Mutex<(Instant, Vec<u8>)>>;

/// Hunts for `time`.
pub(crate) fn run(target: Target, time: Duration, seed: u64) -> ExitCode {
    let mut corpus = (target.seeds)();
    let mut seen = HashSet::new();
    for input in &corpus {
        // If a well-formed input does harm, that is seen as it is.
        seen.extend((target.run)(input));
    }
    println!(
        "{}: {} seeds, {} kinds of outcome",
        target.name,
        corpus.len(),
        seen.len()
    );

    let current: Current = Arc::new(Mutex::new((Instant::now(), Vec::new())));
    watch(target, Arc::clone(&current));
    let mut mutator = Mutator::new(seed);
    let start = Instant::now();
    let mut runs = 0_u64;
    while start.elapsed() < time {
        let input = mutator.mutate(&corpus);
        {
            let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
            current.0 = Instant::now();
            current.1.clone_from(&input);
        }
        runs += 1;
        match panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input))) {
            Err(_) => {
                let path = keep(target, &input);
                eprintln!(
                    "profil-fuzz: input {runs} did harm; once more: profil-fuzz {} {}",
                    target.name,
                    path.display()
                );
                return ExitCode::FAILURE;
            }
            Ok(outcomes) => {
                let known = seen.len();
                seen.extend(outcomes);
                if seen.len() > known && corpus.len() < MOST_KEPT {
                    corpus.push(input);
                }
            }
        }
    }
    println!(
        "{}: {runs} inputs in {:.0} s, {} kinds of outcome, no harm (seed {seed})",
        target.name,
        start.elapsed().as_secs_f64(),
        seen.len()
    );
    ExitCode::SUCCESS
}

/// Ends the program when an input takes too long: nothing else can stop it.
fn watch(target: Target, current: Current) {
    thread::spawn(move || {
        loop {
            thread::sleep(PATIENCE / 10);
            let current = current.lock().unwrap_or_else(PoisonError::into_inner);
            if current.0.elapsed() > PATIENCE {
                let path = keep(target, &current.1);
                eprintln!("profil-fuzz: an input takes too long: {}", path.display());
                process::abort();
            }
        }
    });
}

/// Writes an input where it can be found again.
fn keep(target: Target, input: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("profil-fuzz-{}-{}", target.name, process::id()));
    if let Err(error) = fs::write(&path, input) {
        eprintln!("profil-fuzz: cannot keep the input: {error}; it is {input:02x?}");
    }
    path
}
