//! The profiler and its peer, each attached to a process.

use std::process::Command;

use profil_tests::{
    Finished, Process, Profiler, places,
    profiler::{PATIENCE, wait_until_attached},
    session::RATE,
};
use rustix::process::Signal;

/// What the table says where there is no peer.
pub(crate) const NO_PEER: &str = "perf is not installed";

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
    wait_until_attached(&mut perf);
    perf
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
