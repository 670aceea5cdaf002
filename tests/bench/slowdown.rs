//! How much slower a busy thread is while it is profiled, beside `perf record`.

use std::time::Duration;

use profil_tests::{Machine, Profiler, profiler::PATIENCE, session::RATE};
use rustix::process::Signal;

use crate::{
    cpus::Cpus,
    figure::{Figure, Report, percent},
    perf,
    sample::Sample,
    worker::Worker,
};

const ROUNDS: usize = 15;
const STRETCH: Duration = Duration::from_millis(300);

/// Takes the figure.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let mut worker = Worker::start(cpus);
    let with_peer = perf::is_installed();
    let (mut ours, mut peers) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let attach = |pid| Profiler::on(pid, RATE).attach();
        let (slower, profiler) = worker.slow_down(STRETCH, attach);
        profiler.finish(PATIENCE).assert_code(0);
        ours.push(slower);
        if with_peer {
            // How it ends when it is interrupted depends on its version.
            peers.push(worker.slow_down(STRETCH, perf::record).0);
        }
    }
    let ours = Sample::of(ours);
    let peers = with_peer.then(|| Sample::of(peers));
    let beside = |peers: &Sample| format!("perf record: {}", peers.show(percent));
    report.figure(Figure {
        what: "slow-down of a busy thread at 997 Hz",
        measured: ours.show(percent),
        beside: peers.as_ref().map_or(perf::MISSING.to_owned(), beside),
        ratio: peers.map(|peers| ours.median() / peers.median()),
        target: "ratio ≤ 1",
    });
    report.notes(worker.remark("slowdown"));
}
