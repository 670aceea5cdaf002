//! What the profiler itself uses while it profiles one ordinary process at the default rate.

use std::{
    thread,
    time::{Duration, Instant},
};

use profil_tests::{Machine, Profiler, Target, Workload, session::RATE};

use crate::{
    account::{Resident, cpu_ns},
    cpus::Cpus,
    fdinfo::{buffer_bytes, counters_of},
    figure::{Figure, Report, mebibytes, percent},
};

const WINDOW: Duration = Duration::from_secs(10);

/// Takes both figures.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let mut target = Target::start(Workload::Pie);
    cpus.set_aside(target.pid());
    let profiler = Profiler::on(target.pid(), RATE).attach();
    target.go(WINDOW * 2);

    let (before, start) = (cpu_ns(profiler.pid()), Instant::now());
    thread::sleep(WINDOW);
    let used = (cpu_ns(profiler.pid()) - before) as f64;
    let core = used / start.elapsed().as_nanos() as f64;
    let resident = Resident::of(profiler.pid());
    let counters = counters_of(profiler.pid());
    let buffer = buffer_bytes(counters);

    report.figure(Figure {
        what: "own CPU time at 997 Hz, part of a core",
        measured: percent(core),
        beside: "-".to_owned(),
        ratio: None,
        target: "≤ 0.2 %",
    });
    report.figure(Figure {
        what: "resident memory without the buffer",
        measured: mebibytes(resident.all.saturating_sub(buffer)),
        beside: format!("the buffer: {}", mebibytes(buffer)),
        ratio: None,
        target: "≤ 25 MiB",
    });
    report.note(format!(
        "own: VmRSS {} = RssAnon {} + RssFile {}, which holds the buffer of {counters} counters; \
         start and end are not in the CPU time",
        mebibytes(resident.all),
        mebibytes(resident.anonymous),
        mebibytes(resident.of_files),
    ));
}
