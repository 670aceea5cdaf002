//! Who renames itself without end, or maps thousands of objects, has its own `other`, and nobody else pays.

use std::{thread, time::Duration};

use profil_tests::{Daemon, Workload, claim_machine};

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
    thread::sleep(Duration::from_secs(10));
    let metrics = daemon.settled();
    metrics.assert_exact();
    let shown = metrics.count("profil_cpu_seconds_total")
        + metrics.count("profil_process_cpu_seconds_total")
        + metrics.count("profil_cgroup_cpu_seconds_total");
    assert!(shown <= SERIES, "{shown} series");
    let gained =
        |metrics: &profil_tests::Metrics, name: &str| metrics.process(name) - before.process(name);
    // It shares two CPUs with two others.
    let good = gained(&metrics, &good_name);
    assert!(good > 1.0, "{good} s of the other process");
    let names = metrics.sum("profil_process_cpu_seconds_total", &[("process", "other")]);
    assert!(names > 0.5, "{names} s of who has a thousand names");
    let others = [("process", "restless"), ("function", "other")];
    let objects = metrics.sum("profil_cpu_seconds_total", &others);
    assert!(objects > 0.5, "{objects} s of who has ten thousand objects");
    const MIB: f64 = 1048576.0;
    let grown = (private(&daemon) - memory) / MIB;
    assert!(grown < 64.0, "{grown} MiB more");
    daemon.end();
}
