//! CPU time and memory of another process, from `/proc`.

use std::fs;

/// CPU time of all threads of a process, in nanoseconds.
///
/// # Panics
///
/// If it is gone.
pub(crate) fn cpu_ns(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap_or_else(|error| panic!("process {pid}: {error}"));
    threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// Resident memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    pub(crate) all: u64,
    pub(crate) anonymous: u64,
    pub(crate) of_files: u64,
}

impl Resident {
    /// What a process has now.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub(crate) fn of(pid: u32) -> Self {
        let path = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kibibytes: Option<u64> = line
                .and_then(|rest| rest.trim_start_matches(':').trim().strip_suffix(" kB"))
                .and_then(|number| number.parse().ok());
            kibibytes.unwrap_or_else(|| panic!("{path} has no {name}")) * 1024
        };
        Self {
            all: bytes("VmRSS"),
            anonymous: bytes("RssAnon"),
            of_files: bytes("RssFile"),
        }
    }
}
