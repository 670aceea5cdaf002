//! How long it takes to the first tick, and from Ctrl-C to the end.

use std::{
    thread,
    time::{Duration, Instant},
};

use profil_tests::{
    Machine, Process, Profiler, Target, Workload, profiler::PATIENCE, session::RATE,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open},
};

use crate::{
    account::cpu_ns,
    cpus::Cpus,
    fdinfo::{Program, Statistics},
    figure::{Figure, Report, time},
    sample::Sample,
};

const ROUNDS: usize = 12;

/// How long a session is left alone before it is asked how far it is.
const SESSION: Duration = Duration::from_millis(150);

/// How long nobody must have used a perf event on a task for the kernel to forget that somebody
/// did; the next one has to wait for the kernel's scheduler again, as a person's first one does.
const FORGET: Duration = Duration::from_millis(1500);

/// Takes both figures.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let _statistics = Statistics::switch_on();
    let mut target = Target::start(Workload::One);
    cpus.set_aside(target.pid());
    target.go(PATIENCE * 10);

    // The first brings the files into memory.
    end(first_tick(&target).0);
    let (mut starts, mut used, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        thread::sleep(FORGET);
        let (profiler, start) = first_tick(&target);
        starts.push(start);
        used.push(cpu_ns(profiler.pid()) as f64);
        ends.push(end(profiler).as_nanos() as f64);
    }
    report.figure(Figure {
        what: "from exec to the first tick",
        measured: Sample::of(starts).show(time),
        beside: format!("its own CPU time: {}", Sample::of(used).show(time)),
        ratio: None,
        target: "≤ 30 ms",
    });
    report.figure(Figure {
        what: "from SIGINT to the end, report written",
        measured: Sample::of(ends).show(time),
        beside: "-".to_owned(),
        ratio: None,
        target: "-",
    });
}

/// Starts a profiler. Returns when the first tick was, in nanoseconds from exec.
///
/// Nobody looks while it starts, because looking takes CPU time from it. The target runs all the
/// time, so the ticks tell by their number when they began, to half a period on either side.
fn first_tick(target: &Target) -> (Process, f64) {
    let start = Instant::now();
    let mut profiler = Profiler::on(target.pid(), RATE).start();
    while start.elapsed() < PATIENCE {
        thread::sleep(SESSION);
        let runs = Program::of(profiler.pid()).and_then(|program| program.runs());
        let now = start.elapsed();
        if let Some(runs) = runs.filter(|runs| runs.count > 0) {
            let since = (runs.count as f64 - 0.5) * 1e9 / f64::from(RATE);
            return (profiler, now.as_nanos() as f64 - since);
        }
    }
    panic!("no tick in {PATIENCE:?}: {}", profiler.stderr());
}

/// Interrupts a profiler and waits until it is gone.
fn end(profiler: Process) -> Duration {
    let pid = i32::try_from(profiler.pid()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a child has a positive pid");
    let handle = pidfd_open(pid, PidfdFlags::empty())
        .unwrap_or_else(|error| panic!("cannot wait for {pid:?}: {error}"));
    let start = Instant::now();
    profiler.signal(Signal::INT);
    let limit = Timespec::try_from(PATIENCE).expect("some seconds");
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit));
    let took = start.elapsed();
    assert_eq!(ended, Ok(1), "it does not end");
    profiler.finish(PATIENCE).assert_code(0);
    took
}
