//! What it costs to read a million counters, from the profiler's own CPU time.

use std::{
    env,
    hint::black_box,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use profil_tests::{Machine, Target, places, profiler::Profiler};

use crate::{
    account::cpu_ns,
    cpus::Cpus,
    figure::{Figure, Report, mebibytes, time},
    maps::Counters,
    profilers,
    sample::Sample,
};

/// Ticks a second: many, so that soon there are some in all pages of counters.
const RATE: u32 = 20_000;

/// How long that takes.
const SPREAD: Duration = Duration::from_secs(5);

/// The profiler reads everything once a second.
const DRAIN: Duration = Duration::from_secs(1);
const DRAINS: usize = 8;

const MEBI: f64 = (1 << 20) as f64;

/// Takes the figure.
pub(crate) fn measure(machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let _raised = machine.raise("kernel.perf_event_max_sample_rate", i64::from(RATE));
    let dir = places::public_dir();
    let executable = dir.path().join("large");
    build(&executable);
    let mut target = Target::start_command(Command::new(&executable), executable);
    cpus.set_aside(target.pid());
    let profiler = Profiler::on(target.pid(), RATE)
        .args(["--memory", "256"])
        .attach();
    target.go(DRAIN * 60);
    thread::sleep(SPREAD);

    // Each interval holds one drain, and ten looks at whether the target is still the same.
    let intervals: Vec<_> = (0..DRAINS)
        .map(|_| {
            let before = cpu_ns(profiler.pid());
            thread::sleep(DRAIN);
            (cpu_ns(profiler.pid()) - before) as f64
        })
        .collect();
    let counters = Counters::of(profiler.pid());
    profilers::end(profiler).assert_code(0);

    let each_mebi = MEBI / counters.in_use as f64;
    let drains = Sample::of(intervals.iter().map(|ns| ns * each_mebi));
    let floor = floor(counters.in_use).median() * each_mebi;
    report.figure(Figure {
        what: "own CPU time per Mi counters read",
        measured: drains.show(time),
        beside: format!("reading as much memory: {}", time(floor)),
        ratio: Some(drains.median() / floor),
        target: "≤ 5 ms",
    });
    report.note(format!(
        "read: {} counters ({}), {:.2} Mi of them in pages that were used and so are read; {} a \
         second in all, drain and everything else",
        counters.count,
        mebibytes(counters.bytes()),
        counters.in_use as f64 / MEBI,
        Sample::of(intervals).show(time),
    ));
}

/// Builds the target with the large text.
fn build(executable: &Path) {
    let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler
        .args(["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-I"])
        .args([concat!(env!("CARGO_MANIFEST_DIR"), "/workloads"), "-o"])
        .arg(executable)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/bench/large.c"));
    let status = compiler.status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "cannot run {compiler:?}"
    );
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
