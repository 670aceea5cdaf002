//! What the kernel tells about the BPF programs and maps that a process holds.

use std::{fs, os::fd::OwnedFd, path::PathBuf};

use aya::sys::{Stats, enable_stats};

/// The kernel takes the time of BPF programs as long as this lives.
#[derive(Debug)]
pub(crate) struct Statistics {
    _held: OwnedFd,
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

/// The ids of the maps that a process holds.
pub(crate) fn map_ids_of(pid: u32) -> impl Iterator<Item = u32> {
    descriptors_of(pid, "anon_inode:bpf-map")
        .filter_map(|path| fs::read_to_string(path).ok())
        .filter_map(|info| u32::try_from(field(&info, "map_id")?).ok())
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

/// A number of a line `name: number`.
fn field(info: &str, name: &str) -> Option<u64> {
    let value = |line: &str| {
        line.strip_prefix(name)?
            .strip_prefix(':')?
            .trim()
            .parse()
            .ok()
    };
    info.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_name_is_a_whole_name() {
        let info = "map_type:\t2\nrun_cnt_x: 1\nrun_cnt:\t7\n";
        assert_eq!(field(info, "map_type"), Some(2));
        assert_eq!(field(info, "run_cnt"), Some(7));
        assert_eq!(field(info, "memlock"), None);
    }
}
