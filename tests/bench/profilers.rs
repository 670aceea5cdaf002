//! The profiler and its peer, each attached to a process.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use profil_tests::{
    Finished, Process, Profiler, places, process::wait_until, profiler::PATIENCE, session::RATE,
};
use rustix::process::Signal;

/// What the table says where there is no peer.
pub(crate) const NO_PEER: &str = "perf is not installed";

/// How long the number of the peer's events must not change for it to be attached.
const STABLE: Duration = Duration::from_millis(150);

/// Attaches the profiler.
///
/// # Panics
///
/// If it does not attach.
pub(crate) fn ours(pid: u32, rate: u32) -> Process {
    Profiler::on(pid, rate).attach()
}

/// Attaches the profiler with `--jitter`.
///
/// # Panics
///
/// If it does not attach.
pub(crate) fn ours_with_jitter(pid: u32, rate: u32) -> Process {
    Profiler::on(pid, rate).arg("--jitter").attach()
}

/// Whether there is a peer.
pub(crate) fn has_peer() -> bool {
    places::on_path("perf").is_some()
}

/// Attaches `perf record` with the same clock at the default rate. What it writes is thrown away,
/// which is in its favour.
///
/// # Panics
///
/// If it does not attach.
pub(crate) fn peer(pid: u32) -> Process {
    let mut command = Command::new("perf");
    command
        .args(["record", "-e", "cpu-clock", "-F", &RATE.to_string()])
        .args(["-p", &pid.to_string(), "-o", "/dev/null"]);
    let mut perf = Process::start(&mut command);
    // It holds as many events as it will, for as long as it takes to be sure.
    let mut events = 0;
    let mut since = Instant::now();
    let attached = wait_until(PATIENCE, || {
        let now = events_of(perf.pid());
        if now != events {
            events = now;
            since = Instant::now();
        }
        events > 0 && since.elapsed() >= STABLE
    });
    assert!(attached, "perf does not attach: {}", perf.stderr());
    perf
}

/// How many perf events a process holds.
fn events_of(pid: u32) -> usize {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return 0;
    };
    descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|link| link.as_os_str() == "anon_inode:[perf_event]")
        .count()
}

/// Interrupts either, and waits for its end.
///
/// # Panics
///
/// If it does not end.
pub(crate) fn end(profiler: Process) -> Finished {
    profiler.signal(Signal::INT);
    profiler.finish(PATIENCE)
}
