//! The peer: `perf record` at the same clock and rate.

use std::process::Command;

use profil_tests::{Process, places, profiler::wait_until_attached, session::RATE};

/// What the table says without it.
pub(crate) const MISSING: &str = "perf is not installed";

/// Whether there is a peer.
pub(crate) fn is_installed() -> bool {
    places::on_path("perf").is_some()
}

/// Starts it on a process and waits until it is attached. It writes nothing, which is in its
/// favour.
///
/// # Panics
///
/// If it does not attach.
pub(crate) fn record(pid: u32) -> Process {
    let mut command = Command::new("perf");
    command
        .args(["record", "-e", "cpu-clock", "-F", &RATE.to_string()])
        .args(["-p", &pid.to_string(), "-o", "/dev/null"]);
    let mut perf = Process::start(&mut command);
    wait_until_attached(&mut perf);
    perf
}
