//! What the profiler costs: `cargo xtask bench [NAME…]`.
//!
//! One module per measurement: [`tick`], [`regions`], [`read`], [`own`], [`start`], [`slowdown`],
//! [`lockstep`], [`machine`], [`large`]. Every figure stands beside a peer or a floor that was measured in the same run,
//! because nanoseconds of one machine mean little on another. Nothing is asserted here: it
//! measures and reports.
//!
//! The rest is what they share: a [`worker`] notices what is taken from it, [`profilers`] are
//! attached to it, [`empty`] is the cheapest program that an event can have, [`fdinfo`], [`maps`]
//! and [`account`] are what the kernel tells about others, [`cpus`] keeps the two sides apart,
//! [`sample`] condenses, [`figure`] prints.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program talks to its user"
)]

mod account;
mod cpus;
mod empty;
mod fdinfo;
mod figure;
mod large;
mod lockstep;
mod machine;
mod maps;
mod own;
mod profilers;
mod read;
mod regions;
mod sample;
mod slowdown;
mod start;
mod tick;
mod worker;

use std::{
    env, fs,
    io::{self, Write as _},
    panic,
    process::ExitCode,
};

use profil_tests::Machine;

use cpus::Cpus;
use figure::Report;

/// A measurement adds its figures to the report.
type Measurement = fn(&Machine, &Cpus, &mut Report);

/// Every measurement, in the order of a tick's way.
const MEASUREMENTS: [(&str, Measurement); 9] = [
    ("tick", tick::measure),
    ("regions", regions::measure),
    ("read", read::measure),
    ("own", own::measure),
    ("start", start::measure),
    ("slowdown", slowdown::measure),
    ("lockstep", lockstep::measure),
    ("machine", machine::measure),
    ("large", large::measure),
];

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).collect();
    if names == [worker::ARGUMENT] {
        worker::work();
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known = MEASUREMENTS.map(|(name, _)| name).join(", ");
        eprintln!("profil-bench: there is no measurement {unknown:?}; there are {known}");
        return ExitCode::from(2);
    }
    let Some(machine) = Machine::claim() else {
        eprintln!(
            "profil-bench: this needs root, because it profiles, switches on the kernel's BPF \
             statistics and loads a program of its own"
        );
        return ExitCode::FAILURE;
    };
    if run(&machine, &names) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn is_known(name: &str) -> bool {
    MEASUREMENTS.iter().any(|(known, _)| *known == name)
}

/// Runs the named measurements, or all of them, and prints what they found. Returns whether all
/// of them could be taken.
fn run(machine: &Machine, names: &[String]) -> bool {
    let cpus = Cpus::divide();
    let mut report = Report::default();
    let mut complete = true;
    let load_before = load_average();
    for (name, measure) in MEASUREMENTS {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        eprintln!("measuring: {name}");
        // The harness panics with a reason, already printed; the other measurements still count.
        let measured = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            measure(machine, &cpus, &mut report);
        }));
        if measured.is_err() {
            report.note(format!("{name}: not measured, see above"));
            complete = false;
        }
    }
    report.note("in brackets: where the middle half of the readings lies");
    report.note(cpus.to_string());
    report.note(format!(
        "load average: {load_before} before, {} after",
        load_average()
    ));
    // A reader that has gone has seen enough.
    let _ = write!(io::stdout(), "{report}");
    complete
}

/// The load of the last minute, with its fields as the kernel shows them.
fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
