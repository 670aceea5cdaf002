//! What each clock says of a target that is in step with a timer of 10 ms, beside what is true.
//!
//! Nothing here is a cost. The share of the first function is two thirds, and the ratio is that
//! of the ticks seen to the ticks due.

use std::{fs, process::Command, thread::sleep, time::Duration};

use profil_tests::{
    Machine, Process, Profiler, Report as Profile, Split, Target, Workload, places,
    process::wait_until, profiler::PATIENCE,
};
use rustix::process::Signal;

use crate::{
    cpus::Cpus,
    figure::{Figure, Report},
    profilers,
};

/// CPU time of the target; it takes three times as long for it.
const WINDOW: Duration = Duration::from_secs(3);

/// What perf gets to open its events.
const SETTLE: Duration = Duration::from_millis(500);

/// What a clock saw: ticks in either function, and all ticks of the target.
struct Seen {
    a: u64,
    b: u64,
    all: u64,
}

/// Adds a line for each clock.
pub(crate) fn measure(_machine: &Machine, _cpus: &Cpus, report: &mut Report) {
    for (what, rate, options) in [
        ("in step: per CPU, 100 Hz", 100, &["--clock", "cpu"][..]),
        (
            "the same with --jitter",
            100,
            &["--clock", "cpu", "--jitter"],
        ),
        ("in step: per task, 100 Hz", 100, &[]),
        ("the same with --jitter", 100, &["--jitter"]),
        ("in step: per CPU, 1000 Hz", 1000, &["--clock", "cpu"]),
        (
            "the same with --jitter",
            1000,
            &["--clock", "cpu", "--jitter"],
        ),
        ("in step: per task, 1000 Hz", 1000, &[]),
        ("the same with --jitter", 1000, &["--jitter"]),
    ] {
        let (seen, split) = ours(rate, options);
        report.figure(figure(what, rate, &seen, &split));
    }
    if profilers::has_peer() {
        for (what, on_cpus) in [
            ("in step: perf record -a -F 100", true),
            ("in step: perf record -p PID -F 100", false),
        ] {
            let (seen, split) = peer(on_cpus);
            report.figure(figure(what, 100, &seen, &split));
        }
    }
}

fn figure(what: &'static str, rate: u32, seen: &Seen, split: &Split) -> Figure {
    let ns = |name: &str| split.functions[name].as_secs_f64();
    let (a, b) = (ns("spin_alpha"), ns("spin_beta"));
    let due = split.total.as_secs_f64() * f64::from(rate);
    Figure {
        what,
        measured: match seen.a + seen.b {
            0 => "share of A: nothing seen".to_owned(),
            ticks => format!("share of A: {:.3}", seen.a as f64 / ticks as f64),
        },
        beside: format!("true: {:.3}; {} ticks, {due:.0} due", a / (a + b), seen.all),
        ratio: Some(seen.all as f64 / due),
        target: "-",
    }
}

fn ours(rate: u32, options: &[&str]) -> (Seen, Split) {
    let mut target = Target::start(Workload::Lockstep);
    let profiler = Profiler::on(target.pid(), rate).args(options).attach();
    target.go_and_hold(WINDOW);
    let split = target.split();
    let profile = Profile::of(&profilers::end(profiler).stdout);
    let seen = Seen {
        a: profile.ticks_of("spin_alpha"),
        b: profile.ticks_of("spin_beta"),
        all: profile.balance.seen,
    };
    (seen, split)
}

/// The same clock under `perf record`.
fn peer(on_cpus: bool) -> (Seen, Split) {
    let mut target = Target::start(Workload::Lockstep);
    let pid = target.pid().to_string();
    let dir = places::public_dir();
    let data = dir.path().join("perf.data");
    let mut command = Command::new("perf");
    command.args(["record", "-e", "cpu-clock", "-F", "100", "-o"]);
    command.arg(&data);
    if on_cpus {
        command.arg("-a");
    } else {
        command.args(["-p", &pid]);
    }
    let perf = Process::start(&mut command);
    // It makes its file before it opens its events, and says nothing when it is ready.
    let begun = || fs::metadata(&data).is_ok_and(|file| file.len() > 0);
    assert!(wait_until(PATIENCE, begun), "perf does not begin");
    sleep(SETTLE);
    target.go_and_hold(WINDOW);
    let split = target.split();
    perf.signal(Signal::INT);
    perf.finish(PATIENCE);
    let mut command = Command::new("perf");
    command.args(["script", "--pid", &pid, "-F", "ip,sym", "-i"]);
    let lines = Process::start(command.arg(&data)).finish(PATIENCE).stdout;
    let count = |name: &str| lines.lines().filter(|line| line.contains(name)).count() as u64;
    let seen = Seen {
        a: count("spin_alpha"),
        b: count("spin_beta"),
        all: lines.lines().filter(|line| !line.trim().is_empty()).count() as u64,
    };
    (seen, split)
}
