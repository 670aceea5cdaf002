//! What a real Prometheus makes of the metrics, and of the queries that are shipped.

use std::{fs, thread, time::Duration};

use profil_tests::{
    Daemon, Workload, claim_machine,
    prometheus::{PROGRAM, Prometheus, Sample, Scrape},
    queries, require_programs,
    statistics::assert_ratio,
};

use super::{Burner, comm_of, wait_for_series};

/// CPU seconds that a process has used (proc_pid_stat(5), fields 14 and 15, in ticks of the kernel).
fn used(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let fields: Vec<f64> = rest
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // The first of these is field 4: field 3 is a letter.
    (fields[10] + fields[11]) / rustix::param::clock_ticks_per_second() as f64
}

/// By what part of itself a rate over some seconds may be off: what is scraped is up to a turn old.
const TOLERANCE: f64 = 0.15;

/// The hottest function over some seconds, and what the process says that it used. Measured again while the daemon
/// was late with a turn, on a machine that does other things.
fn measured(prometheus: &mut Prometheus, pid: u32) -> (Sample, f64) {
    const TRIES: usize = 4;
    const TIME: Duration = Duration::from_secs(5);
    let mut measure = || {
        let before = used(pid);
        thread::sleep(TIME);
        let expected = (used(pid) - before) / TIME.as_secs_f64();
        let query = "topk(5, rate(profil_cpu_seconds_total{function!=\"other\"}[5s]))";
        let top = prometheus.query(query).into_iter();
        let hottest = top.max_by(|left, right| left.value.total_cmp(&right.value));
        (hottest.expect("five of them"), expected)
    };
    let mut last = measure();
    for _ in 1..TRIES {
        if (last.0.value / last.1 - 1.0).abs() < TOLERANCE {
            break;
        }
        last = measure();
    }
    last
}

#[test]
fn prometheus_names_the_hot_function_and_every_shipped_query_has_data() {
    require_programs!(PROGRAM);
    let _machine = claim_machine!();
    // Nobody takes what is pushed: its figures are there, and the daemon goes on.
    let url = "push.url=http://127.0.0.1:9/";
    let daemon = Daemon::start(["--set", url, "--set", "push.interval=1s"]);
    let busy = Burner::start(Workload::Busy, &[]);
    wait_for_series(&daemon, &comm_of(busy.pid()));
    let mut prometheus = Prometheus::start(&Scrape {
        targets: &[daemon.address()],
        interval: Duration::from_millis(500),
        token_file: None,
        rules: true,
    });
    let path = format!("/debug/pprof/profile?seconds=1&pid={}", busy.pid());
    daemon.get(&path).ok();
    let (hottest, expected) = measured(&mut prometheus, busy.pid());
    assert_eq!(hottest.labels["function"], "spin", "{hottest:?}");
    assert_eq!(hottest.labels["object"], "busy", "{hottest:?}");
    assert_eq!(hottest.labels["mode"], "user", "{hottest:?}");
    assert_ratio("CPU seconds a second", hottest.value, expected, TOLERANCE);

    let metrics = daemon.get("/metrics").ok().text();
    for name in queries::METRICS {
        let has = |line: &str| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        };
        assert!(
            metrics.lines().any(has),
            "{name} is promised, and is not there"
        );
    }
    let rules = queries::rules().into_iter().map(|rule| rule.query);
    for query in queries::of_dashboard().into_iter().chain(rules) {
        // What compares returns nothing where it is false: asked as a question it says so. Nothing is a day old.
        let comparisons = [" >= ", " <= ", " == ", " != ", " > ", " < "].into_iter();
        let expr = comparisons.fold(query.expr.replace(" offset 1d", ""), |expr, comparison| {
            expr.replace(comparison, &format!("{comparison}bool "))
        });
        let found = prometheus.query_until(&expr, Duration::from_secs(10));
        assert!(!found.is_empty(), "{}: no data for {expr}", query.place);
    }
    daemon.end();
}
