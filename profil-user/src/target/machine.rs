//! The machine as a whole.

use std::fs;

/// CPU time that all processes and kernel threads have used since the machine started, in
/// nanoseconds; in steps of a clock tick, usually 10 ms (proc_stat(5)). Time in interrupts is in no
/// process's account, nor is it here.
pub(crate) fn busy_ns() -> Option<u64> {
    const NANOS: u64 = 1_000_000_000;
    let stat = fs::read_to_string("/proc/stat").ok()?;
    Some(busy_ticks(&stat)? * (NANOS / rustix::param::clock_ticks_per_second()))
}

/// User, nice and system time of all CPUs together.
fn busy_ticks(stat: &str) -> Option<u64> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let mut fields = fields.split_ascii_whitespace().map(str::parse::<u64>);
    let mut busy: u64 = 0;
    for _ in 0..3 {
        busy = busy.saturating_add(fields.next()?.ok()?);
    }
    Some(busy)
}

#[cfg(test)]
mod tests {
    use super::{busy_ns, busy_ticks};

    #[test]
    fn the_first_line_is_of_all_cpus() {
        let stat = "cpu  10 2 300 4000 5 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(busy_ticks(stat), Some(312));
        assert_eq!(busy_ticks("cpu0 1 2 3"), None);
        assert_eq!(busy_ticks("cpu  1 2"), None);
        assert_eq!(busy_ticks(""), None);
    }

    #[test]
    fn this_machine_has_done_something() {
        assert!(busy_ns().unwrap() > 0);
    }
}
