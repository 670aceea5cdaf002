//! How long the clock was on: by the wall's time, and by the target's.

use std::time::{Duration, Instant};

/// Two stop-watches that run while the clock is on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    wall: Duration,
    cpu_ns: u64,
    running: Option<Running>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    since: Instant,
    /// CPU time of the target then and when it was last read.
    cpu_ns: (u64, u64),
}

impl Meter {
    /// The clock is on, and the target has used `cpu_ns` so far.
    pub(super) fn start(&mut self, now: Instant, cpu_ns: u64) {
        self.running = Some(Running {
            since: now,
            cpu_ns: (cpu_ns, cpu_ns),
        });
    }

    /// The target has used `cpu_ns` so far. `None` if it has gone: then the last reading counts.
    pub(super) fn read(&mut self, cpu_ns: Option<u64>) {
        if let (Some(running), Some(cpu_ns)) = (&mut self.running, cpu_ns) {
            running.cpu_ns.1 = cpu_ns;
        }
    }

    /// The clock is off.
    pub(super) fn stop(&mut self, now: Instant, cpu_ns: Option<u64>) {
        self.read(cpu_ns);
        self.wall = self.elapsed(now);
        self.cpu_ns = self.used_ns();
        self.running = None;
    }

    /// Whether the clock is on.
    pub(super) const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Wall-clock time that the clock was on.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        let running = self.running.map(|running| now - running.since);
        self.wall + running.unwrap_or_default()
    }

    /// CPU time that the target used while the clock was on, as far as it was read, in
    /// nanoseconds.
    pub(super) fn used_ns(&self) -> u64 {
        let running = self
            .running
            .map(|running| running.cpu_ns.1.saturating_sub(running.cpu_ns.0));
        self.cpu_ns + running.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_while_the_clock_is_off_does_not_count() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut meter = Meter::default();
        assert!(!meter.is_running());
        assert_eq!(meter.elapsed(at(5)), Duration::ZERO);
        meter.start(at(10), 1000);
        meter.read(Some(1500));
        assert_eq!(meter.elapsed(at(12)), Duration::from_secs(2));
        assert_eq!(meter.used_ns(), 500);
        meter.stop(at(13), Some(1700));
        assert!(!meter.is_running());
        meter.start(at(20), 5000);
        assert_eq!(meter.elapsed(at(21)), Duration::from_secs(4));
        // It has gone, and cannot be read any more.
        meter.read(Some(5200));
        meter.stop(at(22), None);
        assert_eq!(meter.elapsed(at(99)), Duration::from_secs(5));
        assert_eq!(meter.used_ns(), 900);
    }
}
