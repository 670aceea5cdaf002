//! Who renames itself without end, or maps thousands of objects, has its own `other`, and nobody else pays.

use std::{thread, time::Duration};

use profil_tests::{
    Daemon, Metrics, Workload, claim_machine, process::wait_until, profiler::PATIENCE,
};

use super::Burner;

#[test]
fn names_and_objects_without_end_cost_neither_memory_nor_others() {
    const SERIES: usize = 600;
    let _machine = claim_machine!();
    let series = format!("metrics.series={SERIES}");
    let daemon = Daemon::start(["--set", &series]);
    let good = Burner::start(Workload::Busy, &[]);
    let good_name = super::comm_of(good.pid());
    super::wait_for_series(&daemon, &good_name);
    let private = |daemon: &Daemon| {
        daemon
            .metrics()
            .sum("profil_memory_bytes", &[("what", "private")])
    };
    let (memory, before) = (private(&daemon), daemon.metrics());
    // One changes its name a thousand times a second, the other has ten thousand objects, and ticks in all.
    let _renames = Burner::start(Workload::Restless, &["names"]);
    let _maps = Burner::start(Workload::Restless, &["objects", "10000"]);
    thread::sleep(Duration::from_secs(7));
    let names = |metrics: &Metrics| {
        metrics.sum("profil_process_cpu_seconds_total", &[("process", "other")])
    };
    let objects = |metrics: &Metrics| {
        let others = [("process", "restless"), ("function", "other")];
        metrics.sum("profil_cpu_seconds_total", &others)
    };
    let gained = |metrics: &Metrics| metrics.process(&good_name) - before.process(&good_name);
    // They share two CPUs with each other, and with whatever else there is.
    let all_ticked = wait_until(PATIENCE, || {
        let metrics = daemon.metrics();
        gained(&metrics) > 1.0 && names(&metrics) > 0.5 && objects(&metrics) > 0.5
    });
    let metrics = daemon.settled();
    metrics.assert_exact();
    assert!(
        all_ticked,
        "{} s of the other process, {} s of who has a thousand names, {} s of who has ten thousand objects",
        gained(&metrics),
        names(&metrics),
        objects(&metrics)
    );
    let shown = metrics.count("profil_cpu_seconds_total")
        + metrics.count("profil_process_cpu_seconds_total")
        + metrics.count("profil_cgroup_cpu_seconds_total");
    assert!(shown <= SERIES, "{shown} series");
    const MIB: f64 = 1048576.0;
    let grown = (private(&daemon) - memory) / MIB;
    assert!(grown < 64.0, "{grown} MiB more");
    daemon.end();
}
