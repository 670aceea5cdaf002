//! What the kernel tells about the BPF programs and maps that a process holds.

use std::{fs, path::PathBuf};

use aya::sys::{Stats, enable_stats};

/// Bytes of a counter.
const COUNTER_BYTES: u64 = 8;

/// The map flag by which a map can be read through a mapping (`BPF_F_MMAPABLE`).
const MAPPABLE: u64 = 1 << 10;

/// The kernel takes the time of BPF programs as long as this lives.
#[derive(Debug)]
pub(crate) struct Statistics {
    _held: std::os::fd::OwnedFd,
}

impl Statistics {
    /// Switches them on.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub(crate) fn switch_on() -> Self {
        let held = enable_stats(Stats::RunTime)
            .unwrap_or_else(|error| panic!("no BPF statistics (Linux 5.8): {error}"));
        Self { _held: held }
    }
}

/// A loaded program that some process holds.
#[derive(Debug)]
pub(crate) struct Program {
    info: PathBuf,
}

/// How often a program ran while statistics were on, and how long that took in all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Runs {
    pub(crate) count: u64,
    pub(crate) ns: u64,
}

impl Program {
    /// The one that this process holds as `descriptor`.
    pub(crate) fn own(descriptor: i32) -> Self {
        Self {
            info: format!("/proc/self/fdinfo/{descriptor}").into(),
        }
    }

    /// The first one that a process holds.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let info = descriptors_of(pid, "anon_inode:bpf-prog").next()?;
        Some(Self { info })
    }

    /// Its runs so far. `None` once it is gone.
    pub(crate) fn runs(&self) -> Option<Runs> {
        let info = fs::read_to_string(&self.info).ok()?;
        Some(Runs {
            count: field(&info, "run_cnt")?,
            ns: field(&info, "run_time_ns")?,
        })
    }
}

impl Runs {
    /// Nanoseconds per run since `earlier`.
    pub(crate) fn ns_each_since(self, earlier: Self) -> f64 {
        (self.ns - earlier.ns) as f64 / (self.count - earlier.count) as f64
    }
}

/// How many counters the profiler `pid` has: the greatest array of its kind that can be mapped.
///
/// # Panics
///
/// If it has none.
pub(crate) fn counters_of(pid: u32) -> u64 {
    let counters = descriptors_of(pid, "anon_inode:bpf-map")
        .filter_map(|path| fs::read_to_string(path).ok())
        .filter(|info| field(info, "map_flags").is_some_and(|flags| flags & MAPPABLE != 0))
        .filter(|info| field(info, "value_size") == Some(COUNTER_BYTES))
        .filter_map(|info| field(&info, "max_entries"))
        .max();
    counters.unwrap_or_else(|| panic!("process {pid} has no mappable array of counters"))
}

/// The bytes of so many counters.
pub(crate) const fn buffer_bytes(counters: u64) -> u64 {
    counters * COUNTER_BYTES
}

/// What the kernel says of each descriptor of that kind.
fn descriptors_of(pid: u32, kind: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok();
    entries
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(move |entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == kind))
        .map(move |entry| PathBuf::from(format!("/proc/{pid}/fdinfo")).join(entry.file_name()))
}

/// A number of a line `name: number`, decimal or 0x.
fn field(info: &str, name: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| line.strip_prefix(name))?;
    let value = line.strip_prefix(':')?.trim();
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn numbers_are_decimal_or_not() {
        let info = "map_type:\t2\nmap_flags:\t0x400\nrun_cnt_x: 1\nrun_cnt:\t7\n";
        assert_eq!(field(info, "map_type"), Some(2));
        assert_eq!(field(info, "map_flags"), Some(0x400));
        assert_eq!(field(info, "memlock"), None);
    }
}
