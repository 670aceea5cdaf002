//! A running `profil-bpf serve`, and what it says over HTTP.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use rustix::process::Signal;

use crate::{
    http::{self, Answer},
    process::{Finished, Process, wait_until},
    profiler::{PATIENCE, Profiler},
};

/// How often the daemons of tests read their counters: sooner than usual, so that tests need not wait.
pub const DRAIN: Duration = Duration::from_millis(400);

/// Turns after which whoever burns CPU time has series of its own, and one more.
pub const SEATED: Duration = Duration::from_millis(400 * 5);

/// A daemon that answers.
pub struct Daemon {
    process: Process,
    address: SocketAddr,
}

impl Daemon {
    /// Starts one on a free port, with further arguments, and waits until it answers.
    ///
    /// # Panics
    ///
    /// If it does not, with what it said instead.
    #[track_caller]
    pub fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Self::profiler().args(arguments))
    }

    /// What it is started by.
    pub fn profiler() -> Profiler {
        let drain = format!("drain={}ms", DRAIN.as_millis());
        // No configuration of this machine's.
        Profiler::new()
            .args(["serve", "--config", "/dev/null", "--listen", "127.0.0.1:0"])
            .args(["--set", &drain])
    }

    /// Waits until a daemon answers that is started by this.
    ///
    /// # Panics
    ///
    /// If it does not.
    #[track_caller]
    pub fn of(profiler: Profiler) -> Self {
        let mut process = profiler.start();
        let mut address = None;
        wait_until(PATIENCE, || {
            if let Some(status) = process.ended() {
                panic!("the daemon ended with {status}:\n{}", process.stderr());
            }
            address = address_in(&process.stderr());
            address.is_some_and(|address| http::try_get(address, "/healthz").is_some())
        });
        match address {
            Some(address) => Self { process, address },
            None => panic!("the daemon does not answer:\n{}", process.stderr()),
        }
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it has said so far.
    pub fn said(&mut self) -> String {
        self.process.stderr()
    }

    /// Asks for a path.
    ///
    /// # Panics
    ///
    /// If it does not answer.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        http::get(self.address, path)
    }

    /// Its metrics.
    ///
    /// # Panics
    ///
    /// If it does not answer with metrics.
    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        Metrics::parse(&self.get("/metrics").ok().text())
    }

    /// Its metrics, with everything that has ticked until now.
    ///
    /// # Panics
    ///
    /// If it does not read its counters any more.
    #[track_caller]
    pub fn settled(&self) -> Metrics {
        let turns = |metrics: &Metrics| metrics.sum("profil_drains_total", &[]);
        let begun = turns(&self.metrics());
        let mut metrics = None;
        // One may have been under way; and on a machine that does other things many ticks come in while one is.
        const ENOUGH: f64 = 12.0;
        let settled = wait_until(PATIENCE, || {
            let now = self.metrics();
            let done = turns(&now) - begun;
            let is_late = now.under_way() >= most_under_way() && done < ENOUGH;
            metrics = Some(now);
            done >= 2.0 && !is_late
        });
        assert!(settled, "the counters are not read");
        metrics.expect("they were read")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Ends it.
    ///
    /// # Panics
    ///
    /// If it does not end well.
    #[track_caller]
    pub fn end(self) -> Finished {
        self.process.signal(Signal::TERM);
        let finished = self.process.finish(PATIENCE);
        finished.assert_code(0).assert_no_panic();
        finished
    }

    /// Ends it at once, without a chance to do anything.
    pub fn kill(self) {
        self.process.signal(Signal::KILL);
        self.process.finish(PATIENCE);
    }
}

/// Ticks that may come in while the counters are read: so many a CPU.
fn most_under_way() -> f64 {
    const EACH: usize = 8;
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (EACH * cpus) as f64
}

/// The address in its greeting.
fn address_in(said: &str) -> Option<SocketAddr> {
    let line = said.lines().find(|line| line.contains("serving http://"))?;
    let (_, rest) = line.split_once("://")?;
    rest.trim_end_matches('/').parse().ok()
}

/// Samples by name, with their labels.
#[derive(Clone, Debug)]
pub struct Metrics {
    samples: Vec<Sample>,
}

#[derive(Clone, Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Metrics {
    /// Reads the text of OpenMetrics, as far as it is used here.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        assert!(text.ends_with("# EOF\n"), "no end: {text}");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples = lines.map(|line| sample(line).unwrap_or_else(|| panic!("no sample: {line}")));
        Self {
            samples: samples.collect(),
        }
    }

    /// The sum of all samples of a name with these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            sample.name == name
                && labels
                    .iter()
                    .all(|&(label, value)| sample.labels.get(label).is_some_and(|v| v == value))
        };
        self.samples
            .iter()
            .filter(has)
            .map(|sample| sample.value)
            .sum()
    }

    /// How many samples of a name there are.
    pub fn count(&self, name: &str) -> usize {
        self.samples
            .iter()
            .filter(|sample| sample.name == name)
            .count()
    }

    /// CPU seconds of a function of a process name.
    pub fn function(&self, process: &str, function: &str) -> f64 {
        let labels = [("process", process), ("function", function)];
        self.sum("profil_cpu_seconds_total", &labels)
    }

    /// CPU seconds of a process name.
    pub fn process(&self, process: &str) -> f64 {
        self.sum("profil_process_cpu_seconds_total", &[("process", process)])
    }

    /// Ticks that came in while the counters were read: they are in the next turn.
    fn under_way(&self) -> f64 {
        let strays = self.sum("profil_runs_total", &[("outcome", "stray")]);
        let machine = self.sum("profil_machine_cpu_seconds_total", &[]);
        (strays - machine * self.sum("profil_stathz", &[])).round()
    }

    /// Checks that every tick is in exactly one series of each kind, and none is lost.
    ///
    /// # Panics
    ///
    /// If not.
    #[track_caller]
    pub fn assert_exact(&self) -> &Self {
        let machine = self.sum("profil_machine_cpu_seconds_total", &[]);
        for (name, kind) in [
            ("profil_cpu_seconds_total", "function"),
            ("profil_process_cpu_seconds_total", "process"),
            ("profil_cgroup_cpu_seconds_total", "cgroup"),
        ] {
            let retired = self.sum("profil_retired_cpu_seconds_total", &[("kind", kind)]);
            let sum = self.sum(name, &[]) + retired;
            // Whole nanoseconds, added up as floating point numbers.
            assert!((sum - machine).abs() < 1e-6, "{name}: {sum}, of {machine}");
        }
        let missing = self.under_way();
        assert!(
            (0.0..most_under_way()).contains(&missing),
            "of the ticks that were kept, {missing} are not in the counters"
        );
        for outcome in ["strays_full", "strays_busy", "no_bin"] {
            let lost = self.sum("profil_runs_total", &[("outcome", outcome)]);
            assert!(lost < 0.5, "{lost} ticks are lost: {outcome}");
        }
        self
    }
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        None => (series, ""),
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
    };
    Some(Sample {
        name: name.to_owned(),
        labels: labels_in(labels)?,
        value: value.parse().ok()?,
    })
}

fn labels_in(mut text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = rest.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, character) => value.push(character),
            }
        };
        labels.insert(name.to_owned(), value);
        text = &rest[end + 1..];
        text = text.strip_prefix(',').unwrap_or(text);
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::{Metrics, address_in};

    #[test]
    fn samples_are_read_with_their_labels() {
        let text = "# TYPE a counter\na_total{x=\"1,\\\"\\\\\\n}\",y=\"z\"} 1.5\na_total{x=\"2\",y=\"z\"} 2\nb 3\n# EOF\n";
        let metrics = Metrics::parse(text);
        assert_eq!(metrics.sum("a_total", &[("y", "z")]), 3.5);
        assert_eq!(metrics.sum("a_total", &[("x", "1,\"\\\n}")]), 1.5);
        assert_eq!(metrics.sum("b", &[]), 3.0);
        assert_eq!(metrics.count("a_total"), 2);
    }

    #[test]
    fn the_address_is_in_the_greeting() {
        let said = "profil-bpf: counting\nprofil-bpf: serving http://127.0.0.1:4711/\n";
        assert_eq!(address_in(said), "127.0.0.1:4711".parse().ok());
        assert_eq!(address_in("profil-bpf: counting\n"), None);
    }
}
