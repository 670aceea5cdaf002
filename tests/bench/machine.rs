//! The whole machine: what a tick costs beside bpftrace's, and how own CPU time and memory grow with
//! the number of processes and of addresses.

use std::{
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use profil_tests::{
    Machine, Process, Profiler, Workload, places, process::wait_until, profiler::PATIENCE,
};

use crate::{
    account::{Resident, cpu_ns},
    cpus::Cpus,
    fdinfo::{Program, Statistics},
    figure::{Figure, Report, mebibytes, percent, time},
    profilers,
    sample::Sample,
};

/// `stathz`: what a profiler that is always on ticks at.
const RATE: u32 = 97;
const ROUNDS: usize = 5;
const WINDOW: Duration = Duration::from_secs(4);
/// How long own CPU time is measured.
const LONG: Duration = Duration::from_secs(20);

/// The peer: the same key, without time. Its `pid` is the kernel's tgid.
const SCRIPT: &str = "profile:hz:97 { @[pid, reg(\"ip\")] = count(); }";

/// Takes all figures.
pub(crate) fn measure(_machine: &Machine, _cpus: &Cpus, report: &mut Report) {
    cost_of_a_tick(report);
    growth(report);
}

/// Processes that end with the measurement.
struct Crowd(Vec<Child>);

impl Crowd {
    fn of(count: usize, command: impl Fn() -> Command) -> Self {
        let start = |_| {
            let mut command = command();
            command.stdout(Stdio::null());
            command.spawn().expect("a process starts")
        };
        Self((0..count).map(start).collect())
    }

    fn idle(count: usize) -> Self {
        Self::of(count, || {
            let mut command = Command::new("sleep");
            command.arg("600");
            command
        })
    }

    fn busy(count: usize) -> Self {
        Self::of(count, || Command::new(Workload::Busy.executable()))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn ours() -> Process {
    Profiler::new()
        .args(["--all", "-F", &RATE.to_string()])
        .attach()
}

/// The peer, once it has loaded its program. `None` if it is not installed.
fn peer() -> Option<Process> {
    places::on_path("bpftrace")?;
    let mut command = Command::new("bpftrace");
    command.args(["-e", SCRIPT]);
    let bpftrace = Process::start_writing_to(&mut command, Stdio::null());
    let loaded = wait_until(PATIENCE, || Program::of(bpftrace.pid()).is_some());
    assert!(loaded, "bpftrace does not load its program");
    Some(bpftrace)
}

/// The time of a run of the program while two processes are busy, by the kernel's statistics.
fn cost_of_a_tick(report: &mut Report) {
    let _statistics = Statistics::switch_on();
    let _busy = Crowd::busy(2);
    let a_run = |process: &Process| {
        let program = Program::of(process.pid()).expect("it holds a program");
        let runs = || program.runs().expect("the program is held");
        let before = runs();
        sleep(WINDOW);
        runs().ns_each_since(before)
    };
    let (mut our_runs, mut their_runs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let profiler = ours();
        our_runs.push(a_run(&profiler));
        profilers::end(profiler).assert_code(0);
        if let Some(peer) = peer() {
            their_runs.push(a_run(&peer));
            profilers::end(peer);
        }
    }
    let ours = Sample::of(our_runs);
    let theirs = (!their_runs.is_empty()).then(|| Sample::of(their_runs));
    report.figure(Figure {
        what: "run of the program with --all, by BPF statistics",
        measured: ours.show(time),
        beside: match &theirs {
            Some(theirs) => format!("bpftrace: {}", theirs.show(time)),
            None => "bpftrace is not installed".to_owned(),
        },
        ratio: theirs.map(|theirs| ours.median() / theirs.median()),
        target: "-",
    });
}

/// Own CPU time and memory, with few processes and with many.
fn growth(report: &mut Report) {
    let few = own_use();
    let crowd = (Crowd::idle(1000), Crowd::busy(50));
    sleep(Duration::from_secs(1));
    let many = own_use();
    drop(crowd);
    report.figure(Figure {
        what: "own CPU time with --all at 97 Hz, 1,000 idle and 50 busy processes, part of a core",
        measured: percent(many.0),
        beside: format!("without them: {}", percent(few.0)),
        ratio: Some(many.0 / few.0),
        target: "≤ 0.5 %",
    });
    report.figure(Figure {
        what: "resident memory with --all and these processes",
        measured: mebibytes(many.1.anonymous),
        beside: format!("without them: {}", mebibytes(few.1.anonymous)),
        ratio: Some(many.1.anonymous as f64 / few.1.anonymous as f64),
        target: "-",
    });
    report.note(format!(
        "machine: the start, which reads the mappings of all processes, took {} of CPU time with \
         them and {} without, and is in the former figures",
        time(many.2 as f64),
        time(few.2 as f64)
    ));
}

/// CPU time, start included, as a part of a core; memory at the end; and the start's CPU time.
fn own_use() -> (f64, Resident, u64) {
    let start = Instant::now();
    let profiler = ours();
    let at_start = cpu_ns(profiler.pid());
    sleep(LONG);
    let used = cpu_ns(profiler.pid()) as f64 / start.elapsed().as_nanos() as f64;
    let resident = Resident::of(profiler.pid());
    profilers::end(profiler).assert_code(0);
    (used, resident, at_start)
}
