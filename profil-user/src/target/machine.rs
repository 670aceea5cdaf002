//! The machine as a whole.

use std::fs;

/// CPU time that all processes and kernel threads have used since the machine started, in
/// nanoseconds; in steps of a clock tick, usually 10 ms (proc_stat(5)). Time in interrupts is in no
/// process's account, nor is it here.
pub(crate) fn busy_ns() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    Some(busy_ticks(&stat)? * tick_ns())
}

/// The same of each CPU that is online.
#[cfg(feature = "serve")]
pub(crate) fn busy_ns_by_cpu() -> Vec<(u32, u64)> {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let cpus = busy_ticks_by_cpu(&stat);
    cpus.map(|(cpu, ticks)| (cpu, ticks * tick_ns())).collect()
}

fn tick_ns() -> u64 {
    const NANOS: u64 = 1_000_000_000;
    NANOS / rustix::param::clock_ticks_per_second()
}

/// User, nice and system time of all CPUs together.
fn busy_ticks(stat: &str) -> Option<u64> {
    busy_in(stat.lines().next()?.strip_prefix("cpu ")?)
}

/// The same of each.
#[cfg(feature = "serve")]
fn busy_ticks_by_cpu(stat: &str) -> impl Iterator<Item = (u32, u64)> {
    stat.lines().filter_map(|line| {
        let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some((cpu.parse().ok()?, busy_in(fields)?))
    })
}

/// The sum of the first three of a CPU's fields.
fn busy_in(fields: &str) -> Option<u64> {
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

    #[cfg(feature = "serve")]
    #[test]
    fn each_further_line_is_of_one() {
        let stat = "cpu  10 2 300 4000 5 6 7 8 0 0\ncpu0 1 2 3 4 5\ncpu3 7 8 9 1 1\nintr 5 6 7\ncpu4 1 2\n";
        let cpus: Vec<_> = super::busy_ticks_by_cpu(stat).collect();
        assert_eq!(cpus, [(0, 6), (3, 24)]);
    }

    #[test]
    fn this_machine_has_done_something() {
        assert!(busy_ns().unwrap() > 0);
    }
}
