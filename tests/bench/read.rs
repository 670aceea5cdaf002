//! What it costs to read a million counters, from the profiler's own CPU time.

use std::{
    env,
    hint::black_box,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use profil_tests::{Machine, Profiler, Target, places, session::RATE};

use crate::{
    account::cpu_ns,
    cpus::Cpus,
    fdinfo::{buffer_bytes, counters_of},
    figure::{Figure, Report, mebibytes, time},
    sample::Sample,
};

/// The profiler reads everything once a second.
const DRAIN: Duration = Duration::from_secs(1);
const DRAINS: usize = 6;

const MEBI: f64 = (1 << 20) as f64;

/// Takes the figure.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let dir = places::public_dir();
    let executable = dir.path().join("large");
    let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler
        .args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-I"])
        .args([concat!(env!("CARGO_MANIFEST_DIR"), "/workloads"), "-o"])
        .arg(&executable)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/bench/large.c"));
    let compiled = compiler.status();
    assert!(
        compiled.is_ok_and(|status| status.success()),
        "cannot run {compiler:?}"
    );

    let mut target = Target::start_command(Command::new(&executable), executable);
    cpus.set_aside(target.pid());
    let profiler = Profiler::on(target.pid(), RATE).attach();
    target.go(DRAIN * 60);
    let counters = counters_of(profiler.pid());
    // Each interval holds one drain, and ten glances at what the target is.
    let drains = (0..DRAINS).map(|_| {
        let before = cpu_ns(profiler.pid());
        thread::sleep(DRAIN);
        (cpu_ns(profiler.pid()) - before) as f64
    });
    let each_mebi = MEBI / counters as f64;
    let drains = Sample::of(drains.map(|ns| ns * each_mebi));
    let floor = floor(counters).median() * each_mebi;
    report.figure(Figure {
        what: "own CPU time per Mi counters and drain",
        measured: drains.show(time),
        beside: format!("reading as much memory: {}", time(floor)),
        ratio: Some(drains.median() / floor),
        target: "≤ 5 ms",
    });
    report.note(format!(
        "read: {counters} counters ({}), all of them read in each of {DRAINS} drains",
        mebibytes(buffer_bytes(counters))
    ));
}

/// Nanoseconds to look at so many numbers in memory of our own.
fn floor(counters: u64) -> Sample {
    let numbers = vec![1_u64; usize::try_from(counters).expect("they fit into memory")];
    Sample::of((0..DRAINS).map(|_| {
        let start = Instant::now();
        black_box(
            black_box(&numbers)
                .iter()
                .fold(0, |any, number| any | number),
        );
        start.elapsed().as_nanos() as f64
    }))
}
