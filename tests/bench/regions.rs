//! What a tick costs with more and more regions: the search is by halving, so each doubling may
//! add one comparison and not more.

use std::{
    process::{Child, Command},
    thread::sleep,
    time::Duration,
};

use profil_tests::{Machine, Workload};

use crate::{
    cpus::Cpus,
    fdinfo::{Program, Statistics},
    figure::{Figure, Report, time},
    profilers,
    sample::Sample,
};

const RATE: u32 = 10_000;
const ROUNDS: usize = 5;
const STRETCH: Duration = Duration::from_millis(400);

/// Mappings of text beside the few that every process has. The last number fills the table.
const COUNTS: [u32; 4] = [1, 16, 256, 4096];

/// The time of a run by the kernel's statistics, for each number of regions.
pub(crate) fn measure(machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let _raised = machine.raise("kernel.perf_event_max_sample_rate", i64::from(RATE));
    let _statistics = Statistics::switch_on();
    let samples = COUNTS.map(|count| Sample::of(runs(count, cpus)));
    let floor = samples[0].median();
    for (count, sample) in COUNTS.iter().zip(&samples) {
        report.figure(Figure {
            what: match count {
                1 => "run of the program with 1 region more than usual",
                16 => "… with 16",
                256 => "… with 256",
                _ => "… with 4,096",
            },
            measured: sample.show(time),
            beside: format!("1 region: {}", time(floor)),
            ratio: Some(sample.median() / floor),
            target: "a constant for each doubling",
        });
    }
}

/// A busy target with `count` mappings more than usual. Killed when dropped.
struct Many(Child);

impl Many {
    fn start(count: u32, cpus: &Cpus) -> Self {
        let mut command = Command::new(Workload::Many.executable());
        let child = command.arg(count.to_string()).spawn();
        let target = Self(child.expect("the target starts"));
        cpus.set_aside(target.0.id());
        // By then it has mapped them all.
        sleep(Duration::from_millis(300));
        target
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nanoseconds of a run, several times.
fn runs(count: u32, cpus: &Cpus) -> Vec<f64> {
    let target = Many::start(count, cpus);
    let one = |_| {
        let profiler = profilers::ours(target.0.id(), RATE);
        let program = Program::of(profiler.pid()).expect("an attached profiler holds a program");
        let before = program.runs().expect("the program is held");
        sleep(STRETCH);
        let after = program.runs().expect("the program is held");
        profilers::end(profiler).assert_code(0);
        after.ns_each_since(before)
    };
    (0..ROUNDS).map(one).collect()
}
