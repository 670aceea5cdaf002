//! How much slower a busy thread is while it is profiled, beside `perf record`.

use std::time::Duration;

use profil_tests::{Machine, session::RATE};

use crate::{
    cpus::Cpus,
    figure::{Figure, Report, percent},
    profilers,
    sample::Sample,
    worker::Worker,
};

const ROUNDS: usize = 15;
const STRETCH: Duration = Duration::from_millis(400);

/// Takes the figure.
pub(crate) fn measure(_machine: &Machine, cpus: &Cpus, report: &mut Report) {
    let mut worker = Worker::start(cpus);
    let with_peer = profilers::has_peer();
    let (mut ours, mut peers) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let attach = |pid| profilers::ours(pid, RATE);
        let slower = worker.slowed(STRETCH, attach, |ours| {
            profilers::end(ours).assert_code(0);
        });
        ours.push(slower - 1.0);
        if with_peer {
            // How perf ends when it is interrupted depends on its version.
            let slower = worker.slowed(STRETCH, profilers::peer, |peer| {
                profilers::end(peer);
            });
            peers.push(slower - 1.0);
        }
    }
    let ours = Sample::of(ours);
    let peers = with_peer.then(|| Sample::of(peers));
    report.figure(Figure {
        what: "slow-down of a busy thread at 997 Hz",
        measured: ours.show(percent),
        beside: match &peers {
            Some(peers) => format!("perf record: {}", peers.show(percent)),
            None => profilers::NO_PEER.to_owned(),
        },
        ratio: peers.map(|peers| ours.median() / peers.median()),
        target: "ratio ≤ 1",
    });
    report.notes(worker.remark("slowdown"));
}
