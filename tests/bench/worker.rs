//! A busy process that does nothing but look at the clock, and so sees what is taken from it.
//!
//! Where two looks are further apart than looks are, something else ran on the CPU: an interrupt
//! with a tick, for example. The sum of these gaps is its slow-down. That is finer than to time a
//! fixed amount of work: a processor changes its speed by about as much as a tick costs, and gaps
//! do not care. It does not see what a tick costs afterwards, in cold caches.
//!
//! The worker is this same program, started again. One process serves a whole measurement, so
//! that its addresses are the same whatever is attached to it.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{cpus::Cpus, sample::Sample};

/// The argument that makes this program a worker.
pub(crate) const ARGUMENT: &str = "--work";

/// How long a unit of work takes: some ticks at the default rate, and short enough to fit
/// between other processes' turns.
const UNIT: Duration = Duration::from_millis(20);

/// How many times as far apart as usual two looks must be to be a gap.
const GAP: u32 = 8;

/// Marks a unit during which something else ran on the CPU.
const DISTURBED: char = '!';

/// How often a stretch is done again because too much else ran.
const TRIES: usize = 4;

/// A running worker. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Stretches of which most units were disturbed even in the last try.
    disturbed: usize,
}

impl Worker {
    /// Starts a worker on the CPU that is set aside.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub(crate) fn start(cpus: &Cpus) -> Self {
        let program = env::current_exe().unwrap_or_else(|error| panic!("who am I? {error}"));
        let mut child = Command::new(program)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start a worker: {error}"));
        cpus.set_aside(child.id());
        let mut worker = Self {
            input: child.stdin.take().expect("a pipe was asked for"),
            output: BufReader::new(child.stdout.take().expect("a pipe was asked for")),
            child,
            disturbed: 0,
        };
        // It answers once it has found out how far apart looks are.
        worker.units(1);
        worker
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it work for about `time`. Returns by what factor that took longer than undisturbed:
    /// the median of those units during which no other process ran on its CPU.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub(crate) fn stretch(&mut self, time: Duration) -> f64 {
        let count = time.div_duration_f64(UNIT).ceil() as usize;
        for _ in 0..TRIES {
            let units = self.units(count);
            let alone: Vec<_> = units
                .iter()
                .filter_map(|&(factor, alone)| alone.then_some(factor))
                .collect();
            if alone.len() > count / 2 {
                return Sample::of(alone).median();
            }
        }
        self.disturbed += 1;
        Sample::of(self.units(count).into_iter().map(|(factor, _)| factor)).median()
    }

    /// By what factor work takes longer while that is attached which `attach` attaches to the
    /// worker: beside the worker alone, before and after.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub(crate) fn slowed<T>(
        &mut self,
        stretch: Duration,
        attach: impl FnOnce(u32) -> T,
        detach: impl FnOnce(T),
    ) -> f64 {
        let before = self.stretch(stretch);
        let attached = attach(self.pid());
        let slowed = self.stretch(stretch);
        detach(attached);
        let after = self.stretch(stretch);
        slowed / f64::midpoint(before, after)
    }

    /// What a reader of `measurement` must know of how quiet it was.
    pub(crate) fn remark(&self, measurement: &str) -> Option<String> {
        (self.disturbed > 0).then(|| {
            format!(
                "{measurement}: other processes wanted the busy process's CPU, and {} stretches of \
                 work are inexact",
                self.disturbed
            )
        })
    }

    /// By what factor units took longer, and whether no other process ran.
    fn units(&mut self, count: usize) -> Vec<(f64, bool)> {
        let mut line = String::new();
        writeln!(self.input, "{count}")
            .and_then(|()| self.output.read_line(&mut line))
            .unwrap_or_else(|error| panic!("the worker is gone: {error}"));
        let units: Vec<_> = line.split_whitespace().filter_map(parse).collect();
        assert_eq!(units.len(), count, "the worker says {line:?}");
        units
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only if it is gone, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(unit: &str) -> Option<(f64, bool)> {
    let factor = unit.trim_end_matches(DISTURBED);
    Some((factor.parse().ok()?, factor.len() == unit.len()))
}

/// The worker's own side: for every line with a number, that many units. Ends with its input.
pub(crate) fn work() {
    let step = usual_step();
    for line in io::stdin().lines().map_while(Result::ok) {
        let count: usize = line.trim().parse().unwrap_or(0);
        let mut answer = String::new();
        for _ in 0..count {
            let switches = involuntary_switches();
            answer += &unit(step).to_string();
            if involuntary_switches() != switches {
                answer.push(DISTURBED);
            }
            answer.push(' ');
        }
        println!("{answer}");
    }
}

/// How far apart two looks at the clock are.
fn usual_step() -> Duration {
    let mut last = Instant::now();
    let steps = (0..10_000).map(|_| {
        let now = Instant::now();
        let step = now - last;
        last = now;
        step.as_nanos() as f64
    });
    Duration::from_nanos(Sample::of(steps).median() as u64).max(Duration::from_nanos(1))
}

/// Looks at the clock for a while. Returns how much longer that was than the time without gaps.
fn unit(step: Duration) -> f64 {
    let gap = step * GAP;
    let start = Instant::now();
    let (mut last, mut lost) = (start, Duration::ZERO);
    while last - start < UNIT {
        let now = Instant::now();
        let since = now - last;
        if since > gap {
            lost += since - step;
        }
        last = now;
    }
    let all = last - start;
    all.div_duration_f64(all - lost)
}

/// How often the scheduler took the CPU away from this thread.
fn involuntary_switches() -> i64 {
    // SAFETY: plain numbers, of which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives for the call.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0;
    assert!(!failed, "getrusage: {}", io::Error::last_os_error());
    usage.ru_nivcsw
}
