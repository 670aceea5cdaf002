//! The kernel's cost of a counted tick, beside an empty program on the same event.
//!
//! Twice, because each way is blind to something. The kernel's BPF statistics time the program
//! alone, and their own two clock readings with it, on both sides. The slow-down of a busy
//! process is the whole tick with its interrupt, as the target pays for it.

use std::time::Duration;

use profil_tests::Machine;

use crate::{
    cpus::Cpus,
    empty::EmptyProgram,
    fdinfo::{Program, Statistics},
    figure::{Figure, Report, time},
    profilers,
    sample::Sample,
    worker::Worker,
};

/// Ticks a second: many, so that the slow-down is far above the noise.
const RATE: u32 = 20_000;
const PERIOD_NS: u32 = 1_000_000_000 / RATE;

const ROUNDS: usize = 10;
const STRETCH: Duration = Duration::from_millis(400);

/// Takes both figures.
pub(crate) fn measure(machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let _raised = machine.raise("kernel.perf_event_max_sample_rate", i64::from(RATE));
    let mut worker = Worker::start(cpus);
    program(&mut worker, report);
    whole_tick(&mut worker, report);
    report.notes(worker.remark("tick"));
}

/// The time of a run, by the kernel's statistics.
fn program(worker: &mut Worker, report: &mut Report) {
    let _statistics = Statistics::switch_on();
    let (mut empty, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let program = empty_on(worker.pid());
        empty.push(time_a_run(worker, &Program::own(program.descriptor())));
        drop(program);
        let profiler = profilers::ours(worker.pid(), RATE);
        let program = Program::of(profiler.pid()).expect("an attached profiler holds a program");
        ours.push(time_a_run(worker, &program));
        profilers::end(profiler).assert_code(0);
    }
    let (empty, ours) = (Sample::of(empty), Sample::of(ours));
    report.figure(Figure {
        what: "run of the program, by BPF statistics",
        measured: ours.show(time),
        beside: format!("empty program: {}", empty.show(time)),
        ratio: Some(ours.median() / empty.median()),
        target: "-",
    });
    report.note(format!(
        "tick: a run takes {} more than an empty one; the statistics' own time is in both",
        time(ours.median() - empty.median())
    ));
}

/// Nanoseconds per run of a program while the worker works.
fn time_a_run(worker: &mut Worker, program: &Program) -> f64 {
    let runs = || program.runs().expect("the program is held");
    let before = runs();
    worker.stretch(STRETCH);
    runs().ns_each_since(before)
}

/// The slow-down of the worker, per tick.
fn whole_tick(worker: &mut Worker, report: &mut Report) {
    // The clock goes on during a tick, so the ticks are those of the slowed time.
    let cost = |slowed: f64| (1.0 - 1.0 / slowed) * f64::from(PERIOD_NS);
    let (mut empty, mut ours, mut jittered) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        empty.push(cost(worker.slowed(STRETCH, empty_on, drop)));
        let attach = |pid| profilers::ours(pid, RATE);
        ours.push(cost(worker.slowed(STRETCH, attach, |ours| {
            profilers::end(ours).assert_code(0);
        })));
        let attach = |pid| profilers::ours_with_jitter(pid, RATE);
        jittered.push(cost(worker.slowed(STRETCH, attach, |ours| {
            profilers::end(ours).assert_code(0);
        })));
    }
    let (empty, ours, jittered) = (Sample::of(empty), Sample::of(ours), Sample::of(jittered));
    report.figure(Figure {
        what: "whole counted tick, by slow-down at 20 kHz",
        measured: ours.show(time),
        beside: format!("empty program: {}", empty.show(time)),
        ratio: Some(ours.median() / empty.median()),
        target: "ratio ≤ 1.5",
    });
    report.figure(Figure {
        what: "the same with --jitter",
        measured: jittered.show(time),
        beside: format!("without: {}", ours.show(time)),
        ratio: Some(jittered.median() / ours.median()),
        target: "-",
    });
}

fn empty_on(pid: u32) -> EmptyProgram {
    EmptyProgram::on(pid, u64::from(PERIOD_NS))
}
