//! The counters in the words of OpenMetrics
//! ([its specification](https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md)).

use std::{fmt, sync::Arc};

use profil_common::Outcome;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::{Registry, Unit},
};

use super::{
    book::{Book, OTHER, Spent},
    figures::Figures,
};

/// The media type of what is written.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const NANOS: f64 = 1e9;

/// What is measured, with a sample for each set of labels.
#[derive(Debug)]
pub(crate) struct Family {
    /// Without the unit and without `_total`.
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    is_counter: bool,
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct Sample {
    labels: Vec<(&'static str, Arc<str>)>,
    value: f64,
}

impl Family {
    /// Something that only grows.
    pub(crate) const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, true)
    }

    /// Something that comes and goes.
    pub(crate) const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, false)
    }

    const fn new(name: &'static str, help: &'static str, is_counter: bool) -> Self {
        Self {
            name,
            help,
            unit: None,
            is_counter,
            samples: Vec::new(),
        }
    }

    fn seconds(mut self) -> Self {
        self.unit = Some(Unit::Seconds);
        self
    }

    fn bytes(mut self) -> Self {
        self.unit = Some(Unit::Bytes);
        self
    }

    /// The same with a sample without labels.
    pub(crate) fn of(self, value: f64) -> Self {
        self.with(&[], value)
    }

    /// The same with one more sample.
    pub(crate) fn with(mut self, labels: &[(&'static str, &str)], value: f64) -> Self {
        self.add(
            labels.iter().map(|&(name, text)| (name, text.into())),
            value,
        );
        self
    }

    fn add(&mut self, labels: impl IntoIterator<Item = (&'static str, Arc<str>)>, value: f64) {
        let labels = labels.into_iter().collect();
        self.samples.push(Sample { labels, value });
    }

    /// CPU time of somebody, in both modes.
    fn spend<const N: usize>(&mut self, labels: [(&'static str, &Arc<str>); N], spent: Spent) {
        for (mode, ns) in [("user", spent.user), ("system", spent.system)] {
            let labels = labels.iter().map(|&(name, text)| (name, Arc::clone(text)));
            let labels = labels.chain([("mode", mode.into())]);
            self.add(labels, ns as f64 / NANOS);
        }
    }
}

/// Families, handed to the crate that knows how they are written.
#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let kind = if family.is_counter {
                MetricType::Counter
            } else {
                MetricType::Gauge
            };
            let unit = family.unit.as_ref();
            let mut encoder = encoder.encode_descriptor(family.name, family.help, unit, kind)?;
            for sample in &family.samples {
                let labels = sample.labels.iter().map(|(name, text)| (*name, &**text));
                let labels: Vec<(&str, &str)> = labels.collect();
                let mut encoder = encoder.encode_family(&labels)?;
                if family.is_counter {
                    encoder.encode_counter::<NoLabelSet, _, f64>(&sample.value, None)?;
                } else {
                    encoder.encode_gauge(&sample.value)?;
                }
            }
        }
        Ok(())
    }
}

/// Families as text, to its end mark.
pub(crate) fn text_of(families: Vec<Family>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut written = String::new();
    text::encode(&mut written, &registry)?;
    Ok(written)
}

/// CPU time, by everything that it is kept apart by.
pub(crate) fn of_book(book: &Book, limit: usize) -> Vec<Family> {
    let other: Arc<str> = OTHER.into();
    let mut functions = Family::counter("profil_cpu", "CPU time by function").seconds();
    for (key, spent) in book.functions() {
        let labels = [
            ("process", &key.process),
            ("object", &key.object),
            ("function", &key.function),
        ];
        functions.spend(labels, spent);
    }
    let others = book.others().chain([(&other, book.other())]);
    for (process, spent) in others {
        let labels = [
            ("process", process),
            ("object", &other),
            ("function", &other),
        ];
        functions.spend(labels, spent);
    }
    let mut processes = Family::counter("profil_process_cpu", "CPU time by process name").seconds();
    for (process, spent) in book.processes().chain([(&other, book.other())]) {
        processes.spend([("process", process)], spent);
    }
    let mut cgroups = Family::counter("profil_cgroup_cpu", "CPU time by control group").seconds();
    for (key, spent) in book.cgroups() {
        let labels = [("cgroup", &key.cgroup), ("container", &key.container)];
        cgroups.spend(labels, spent);
    }
    let none: Arc<str> = "".into();
    let labels = [("cgroup", &other), ("container", &none)];
    cgroups.spend(labels, book.other_cgroups());
    let mut retired = Family::counter(
        "profil_retired_cpu",
        "CPU time of series that are not shown any more, because they were cold for long",
    )
    .seconds();
    for (kind, spent) in book.retired() {
        retired.spend([("kind", &kind.into())], spent);
    }
    let mut machine = Family::counter("profil_machine_cpu", "CPU time of all processes").seconds();
    machine.spend([], book.machine());
    let series = Family::gauge("profil_series", "Series of CPU time that are shown");
    let most = Family::gauge(
        "profil_series_limit",
        "Series of CPU time that can be shown",
    );
    vec![
        functions,
        processes,
        cgroups,
        retired,
        machine,
        series.of(book.series() as f64),
        most.of(limit as f64),
    ]
}

/// What became of the ticks, and what it costs to count them.
pub(crate) fn of_figures(figures: &Figures) -> Vec<Family> {
    let mut runs = Family::counter(
        "profil_runs",
        "Runs of the kernel half by what became of them",
    );
    for &outcome in Outcome::ALL {
        let label = [("outcome", outcome_label(outcome))];
        runs = runs.with(&label, figures.of(outcome) as f64);
    }
    let seen = Family::counter("profil_ticks_seen", "Ticks of somebody, not of an idle CPU");
    let due = Family::counter(
        "profil_ticks_due",
        "Ticks that the machine's CPU time was worth",
    );
    let turns = Family::counter("profil_drains", "Times that the counters were read");
    let turning =
        Family::counter("profil_drain", "Time that it took to read and keep them").seconds();
    let age = Family::gauge("profil_last_drain_age", "Time since they were last read").seconds();
    let entries = Family::gauge("profil_stray_entries", "Addresses that the last drain read");
    let most = Family::gauge(
        "profil_stray_entries_max",
        "Most addresses that the kernel's table ever had",
    );
    let capacity = Family::gauge("profil_stray_capacity", "Addresses that it can hold");
    let lost = Family::counter(
        "profil_sideband_lost",
        "Records of what processes do that the kernel had no room for",
    );
    let symbols = Family::gauge("profil_symbols", "Addresses whose names are kept");
    let unwritten = Family::counter(
        "profil_state_failed",
        "Times that the state could not be written",
    );
    let profiles = Family::counter("profil_profiles", "Profiles that were taken on demand");
    let memory = Family::gauge("profil_memory", "Memory").bytes();
    let memory = memory.with(&[("what", "kernel_maps")], figures.kernel_bytes as f64);
    let memory = match memory_bytes() {
        Some((resident, private)) => memory
            .with(&[("what", "resident")], resident as f64)
            .with(&[("what", "private")], private as f64),
        None => memory,
    };
    let rate = Family::gauge(
        "profil_stathz",
        "Ticks per second of each CPU, all the time",
    );
    let age_of = |since: std::time::Instant| since.elapsed().as_secs_f64();
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = used.tv_sec as f64 + used.tv_nsec as f64 / NANOS;
    let used_family = Family::counter("profil_cpu_used", "CPU time of the daemon itself").seconds();
    let build = Family::gauge("profil_build_info", "Which program this is");
    vec![
        runs,
        seen.of(figures.seen() as f64),
        due.of(figures.due()),
        turns.of(figures.turns as f64),
        turning.of(figures.turning.as_secs_f64()),
        age.of(figures.last_turn.map_or(0.0, age_of)),
        entries.of(figures.entries as f64),
        most.of(figures.fill.0.into()),
        capacity.of(figures.fill.1.into()),
        lost.of(figures.side_band_lost as f64),
        symbols.of(figures.symbols as f64),
        unwritten.of(figures.unwritten as f64),
        profiles.of(figures.profiles as f64),
        memory,
        rate.of(NANOS / figures.period_ns as f64),
        used_family.of(used),
        build.with(&[("version", env!("CARGO_PKG_VERSION"))], 1.0),
    ]
}

/// Memory of ours that is there, and the part of it that is no file's: symbol tables are read through mappings of the
/// files that they are in, which the kernel takes back when it likes (proc_pid_statm(5), the second and third number, in
/// pages).
pub(super) fn memory_bytes() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    let bytes = rustix::param::page_size() as u64;
    Some((resident * bytes, resident.saturating_sub(shared) * bytes))
}

/// What an outcome is called as a label value: a word.
pub(crate) fn outcome_label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Binned => "binned",
        Outcome::Stray => "stray",
        Outcome::StraysFull => "strays_full",
        Outcome::StraysBusy => "strays_busy",
        Outcome::NoUserPc => "no_user_address",
        Outcome::NoBin => "no_bin",
        Outcome::OutOfRange => "out_of_range",
        Outcome::Stopped => "stopped",
        Outcome::OtherMode => "other_mode",
        Outcome::NoTgid => "other_namespace",
        Outcome::Other => "other",
        Outcome::Idle => "idle",
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Family, of_book, of_figures, text_of};
    use crate::serve::{
        Window,
        book::{Book, Room},
        figures::Figures,
    };

    #[test]
    fn samples_are_written_with_their_labels_and_units() {
        let families = vec![
            Family::counter("a_cpu", "Of A")
                .seconds()
                .with(&[("x", "q\"\\\n")], 1.5),
            Family::gauge("b", "Of B").of(2.0),
        ];
        let expected = "# HELP a_cpu_seconds Of A\n# TYPE a_cpu_seconds counter\n\
                        # UNIT a_cpu_seconds seconds\n\
                        a_cpu_seconds_total{x=\"q\\\"\\\\\\n\"} 1.5\n\
                        # HELP b Of B\n# TYPE b gauge\nb 2.0\n# EOF\n";
        assert_eq!(text_of(families).unwrap(), expected);
    }

    /// Its readers have dashboards: names and labels are theirs, too.
    #[test]
    fn names_and_labels_stay_what_they_are() {
        let mut book = Book::new(Room::of(100), Duration::from_secs(3600));
        let window = Window {
            began: SystemTime::UNIX_EPOCH,
            elapsed: Duration::from_secs(1),
            period_ns: 10,
            rows: Vec::new(),
        };
        book.enter(&window, Duration::ZERO);
        let mut families = of_book(&book, 100);
        families.extend(of_figures(&Figures::new(10_000_000, 4096)));
        let text = text_of(families).unwrap();
        for line in [
            "profil_cpu_seconds_total{process=\"other\",object=\"other\",function=\"other\",mode=\"user\"} 0.0",
            "profil_process_cpu_seconds_total{process=\"other\",mode=\"system\"} 0.0",
            "profil_cgroup_cpu_seconds_total{cgroup=\"other\",container=\"\",mode=\"user\"} 0.0",
            "profil_retired_cpu_seconds_total{kind=\"function\",mode=\"user\"} 0.0",
            "profil_machine_cpu_seconds_total{mode=\"user\"} 0.0",
            "profil_runs_total{outcome=\"stray\"} 0.0",
            "profil_ticks_due_total 0.0",
            "profil_memory_bytes{what=\"kernel_maps\"} 4096.0",
            "profil_stathz 100.0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
    }
}
