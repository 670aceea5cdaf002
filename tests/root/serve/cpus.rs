//! CPUs that go and come again while nobody looks: as when a machine sleeps.

use std::thread;

use profil_tests::{
    Daemon, Workload, claim_machine, daemon::DRAIN, process::wait_until, profiler::PATIENCE, skip,
    statistics::assert_ratio,
};
use rustix::process::Signal;

use super::{Burner, restarts::Home};
use crate::cpus::{Offline, can_be_switched};

/// Switches a CPU off and on while the daemon stands still, and waits until its clock ticks again.
#[track_caller]
fn assert_it_ticks_again(mut daemon: Daemon) {
    daemon.settled();
    daemon.signal(Signal::STOP);
    drop(Offline::new());
    daemon.signal(Signal::CONT);
    wait_until_renewed(&mut daemon);
    let before = daemon.settled();
    // Long beside a turn.
    thread::sleep(DRAIN * 10);
    let after = daemon.settled();
    after.assert_exact();
    let gained = |name: &str| after.sum(name, &[]) - before.sum(name, &[]);
    // A CPU without a clock would be a part of these as large as any.
    let cpus = thread::available_parallelism().expect("known").get() as f64;
    let (seen, due) = ("profil_ticks_seen_total", "profil_ticks_due_total");
    assert_ratio("seen by due", gained(seen), gained(due), 0.4 / cpus);
    daemon.end();
}

#[track_caller]
fn wait_until_renewed(daemon: &mut Daemon) {
    let heard = wait_until(PATIENCE, || {
        daemon.said().contains("the clock of CPU 1 stood still")
    });
    assert!(heard, "{}", daemon.said());
}

#[test]
fn a_cpu_that_was_away_while_nobody_looked_ticks_again() {
    let _machine = claim_machine!();
    if !can_be_switched() {
        skip!("needs a second CPU that can be switched off");
    }
    let cpus = thread::available_parallelism().expect("known").get();
    let _busy: Vec<_> = (0..cpus)
        .map(|_| Burner::start(Workload::Busy, &[]))
        .collect();
    assert_it_ticks_again(Daemon::start([]));
    let home = Home::new();
    assert_it_ticks_again(Daemon::of(home.profiler()));
    // Nor does the next one take a clock that stands still for one that ticks.
    drop(Offline::new());
    let mut next = Daemon::of(home.profiler());
    wait_until_renewed(&mut next);
    next.end();
    home.unpin();
}
