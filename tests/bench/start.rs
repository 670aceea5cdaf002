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

const ROUNDS: usize = 15;

/// How often the program's runs are looked at: the looking takes a few microseconds.
const LOOK: Duration = Duration::from_micros(200);

/// How long a session goes on after its first tick.
const SESSION: Duration = Duration::from_millis(100);

/// Takes both figures.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let _statistics = Statistics::switch_on();
    let mut target = Target::start(Workload::One);
    cpus.set_aside(target.pid());
    target.go(PATIENCE * 10);

    // The first brings the files into memory.
    first_tick(&target);
    let (mut starts, mut used, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (profiler, start) = first_tick(&target);
        starts.push(start.as_nanos() as f64);
        used.push(cpu_ns(profiler.pid()) as f64);
        thread::sleep(SESSION);
        ends.push(end(profiler).as_nanos() as f64);
    }
    report.figure(Figure {
        what: "from exec to the first tick",
        measured: Sample::of(starts).show(time),
        beside: format!("own CPU time until then: {}", Sample::of(used).show(time)),
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

/// Starts a profiler and waits for its first tick.
fn first_tick(target: &Target) -> (Process, Duration) {
    let start = Instant::now();
    let mut profiler = Profiler::on(target.pid(), RATE).start();
    let mut program = None;
    while start.elapsed() < PATIENCE {
        program = program.or_else(|| Program::of(profiler.pid()));
        match program.as_ref().and_then(Program::runs) {
            Some(runs) if runs.count > 0 => return (profiler, start.elapsed()),
            Some(_) => {}
            // It was one that finds out what the kernel can do, and is closed again.
            None => program = None,
        }
        thread::sleep(LOOK);
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
