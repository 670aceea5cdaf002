//! What this kernel and these privileges allow.

use std::{fmt, fs};

/// A capability that the session needs and the process lacks (capabilities(7)).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    /// To load BPF programs and maps.
    Bpf,
    /// To open perf events on other processes and attach BPF to them.
    Perfmon,
    /// For both, where the kernel does not know them apart (before Linux 5.8).
    SysAdmin,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
            Self::SysAdmin => "CAP_SYS_ADMIN",
        })
    }
}

/// `CAP_SYS_ADMIN`, which includes the others.
const SYS_ADMIN: u32 = 21;
/// `CAP_PERFMON` (Linux 5.8).
const PERFMON: u32 = 38;
/// `CAP_BPF` (Linux 5.8).
pub(super) const BPF: u32 = 39;

/// Lists what the process lacks. Empty if the kernel would not say: then the calls themselves
/// will tell.
pub fn missing_capabilities() -> Vec<Missing> {
    let Some(effective) = effective_capabilities() else {
        return Vec::new();
    };
    missing_from(effective, last_capability().unwrap_or(BPF))
}

/// Our own effective capabilities, a bit each (capabilities(7)). `None` if the kernel would not say.
pub(crate) fn effective_capabilities() -> Option<u64> {
    effective(&fs::read_to_string("/proc/thread-self/status").ok()?)
}

/// The highest capability that this kernel knows. `None` if it would not say.
pub(crate) fn last_capability() -> Option<u32> {
    let text = fs::read_to_string("/proc/sys/kernel/cap_last_cap").ok()?;
    text.trim().parse().ok()
}

/// The effective set in the text of `/proc/self/status`.
fn effective(status: &str) -> Option<u64> {
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// What who has only these lacks, on a kernel that knows no others than up to the last.
pub(crate) fn missing_from(effective: u64, last_capability: u32) -> Vec<Missing> {
    let has = |capability: u32| effective >> capability & 1 == 1;
    if has(SYS_ADMIN) {
        return Vec::new();
    }
    if last_capability < BPF {
        return vec![Missing::SysAdmin];
    }
    [(BPF, Missing::Bpf), (PERFMON, Missing::Perfmon)]
        .into_iter()
        .filter(|&(capability, _)| !has(capability))
        .map(|(_, missing)| missing)
        .collect()
}

/// What the unprivileged may do with perf events: `kernel.perf_event_paranoid`
/// (perf_event_open(2)). Debian and its relatives know values above 2 and then want
/// `CAP_SYS_ADMIN`, whatever else one has. `None` if it cannot be read.
pub(crate) fn paranoid() -> Option<i32> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// The highest rate that the administrator allows, in hertz: `kernel.perf_event_max_sample_rate`.
/// The kernel lowers it by itself when ticks take too much time. `None` if it cannot be read.
pub(crate) fn max_sample_rate() -> Option<u32> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Missing, effective, max_sample_rate, missing_from};

    #[test]
    fn the_effective_set_is_the_one_that_counts() {
        let status = "CapPrm:\t000001ffffffffff\nCapEff:\t000000c000000000\n";
        assert_eq!(effective(status), Some(0xc0_0000_0000));
        assert_eq!(effective("Name:\tx\n"), None);
    }

    #[test]
    fn two_small_capabilities_or_the_great_one() {
        let missing = |effective| missing_from(effective, 40);
        assert_eq!(missing(0), [Missing::Bpf, Missing::Perfmon]);
        assert_eq!(missing(1 << 39), [Missing::Perfmon]);
        assert_eq!(missing(1 << 38), [Missing::Bpf]);
        assert_eq!(missing(1 << 38 | 1 << 39), []);
        assert_eq!(missing(1 << 21), []);
        // A kernel without the small ones.
        assert_eq!(missing_from(0, 37), [Missing::SysAdmin]);
        assert_eq!(missing_from(1 << 21, 37), []);
    }

    #[test]
    fn this_kernel_has_a_limit() {
        assert!(max_sample_rate().is_some_and(|hertz| hertz > 0));
    }
}
