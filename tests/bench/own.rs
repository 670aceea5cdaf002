//! What the profiler itself uses while it profiles one ordinary process at the default rate,
//! beside `perf record`.

use std::{
    thread,
    time::{Duration, Instant},
};

use profil_tests::{Machine, Process, Target, Workload, session::RATE};

use crate::{
    account::{Resident, cpu_ns},
    cpus::Cpus,
    figure::{Figure, Report, mebibytes, percent},
    maps::Counters,
    profilers,
};

const WINDOW: Duration = Duration::from_secs(10);

/// Takes both figures.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let mut target = Target::start(Workload::Pie);
    cpus.set_aside(target.pid());
    let profiler = profilers::ours(target.pid(), RATE);
    target.go(WINDOW * 4);

    let core = part_of_a_core(&profiler);
    let resident = Resident::of(profiler.pid());
    let counters = Counters::of(profiler.pid());
    profilers::end(profiler).assert_code(0);
    let peer = profilers::has_peer().then(|| {
        let peer = profilers::peer(target.pid());
        let core = part_of_a_core(&peer);
        let resident = Resident::of(peer.pid());
        profilers::end(peer);
        (core, resident.all)
    });

    let buffer = counters.bytes();
    let besides = resident.all.saturating_sub(buffer);
    let beside = |show: &dyn Fn((f64, u64)) -> String| match peer {
        Some(peer) => format!("perf record: {}", show(peer)),
        None => profilers::NO_PEER.to_owned(),
    };
    report.figure(Figure {
        what: "own CPU time at 997 Hz, part of a core",
        measured: percent(core),
        beside: beside(&|(core, _)| percent(core)),
        ratio: peer.map(|(theirs, _)| core / theirs),
        target: "≤ 0.2 %",
    });
    report.figure(Figure {
        what: "resident memory without the buffer",
        measured: mebibytes(besides),
        beside: beside(&|(_, resident)| mebibytes(resident)),
        ratio: peer.map(|(_, theirs)| besides as f64 / theirs as f64),
        target: "≤ 25 MiB",
    });
    report.note(format!(
        "own: VmRSS {} = RssAnon {} + RssFile {}, which holds the buffer, {} for {} counters; \
         neither start nor end is in the CPU time",
        mebibytes(resident.all),
        mebibytes(resident.anonymous),
        mebibytes(resident.of_files),
        mebibytes(buffer),
        counters.count,
    ));
}

/// What a process uses over the window.
fn part_of_a_core(process: &Process) -> f64 {
    let (before, start) = (cpu_ns(process.pid()), Instant::now());
    thread::sleep(WINDOW);
    let used = (cpu_ns(process.pid()) - before) as f64;
    used / start.elapsed().as_nanos() as f64
}
