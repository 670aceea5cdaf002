//! What can stop a session, and what to do about it.

use std::io;

use crate::{
    kernel::{ClockError, CountersError, Feature, LoadError, Missing, paranoid},
    options::{Rate, Tgid},
    target::{LayoutError, TargetError},
};

/// Why a session cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// We lack capabilities.
    #[error("cannot profile: {} {} missing", list(.0), if .0.len() == 1 { "is" } else { "are" })]
    Privileges(Vec<Missing>),
    /// The administrator allows less.
    #[error("{rate} Hz is above this machine's limit of {limit} Hz")]
    RateAboveLimit {
        /// What was asked for.
        rate: Rate,
        /// `kernel.perf_event_max_sample_rate`
        limit: u32,
    },
    /// The target cannot be profiled.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// It ended while we attached.
    #[error("process {0} ended before the clock could be attached")]
    Ended(Tgid),
    /// Several processes were asked for, and all of them ended while we attached.
    #[error("all processes ended before the clock could be attached")]
    AllEnded,
    /// Regions belong to one process that runs.
    #[error("regions are of one process that runs already")]
    RegionsOfMany,
    /// There is no such cgroup.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Cgroup(#[from] crate::target::CgroupError),
    /// What was to outlive us cannot.
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Pins(#[from] crate::kernel::PinError),
    /// What outlived somebody counts something else than is asked for.
    #[cfg(feature = "serve")]
    #[error(
        "the clock in {} counts {there}, and {asked} is asked for; ask for the same, or remove it and what \
         it counted: profil-bpf serve --unpin", .dir.display()
    )]
    OtherClock {
        /// Where it is.
        dir: std::path::PathBuf,
        /// What it counts.
        there: String,
        /// What it should.
        asked: String,
    },
    /// The pattern for names of processes is none.
    #[cfg(feature = "session")]
    #[error("not a pattern for names of processes")]
    Pattern(#[from] crate::target::GlobError),
    /// Its threads cannot be listed.
    #[error("cannot list the threads of process {tgid}")]
    Threads {
        /// The process.
        tgid: Tgid,
        /// What the kernel said.
        source: io::Error,
    },
    /// It has no such thread.
    #[error("process {tgid} has no thread {thread}")]
    NoSuchThread {
        /// The process.
        tgid: Tgid,
        /// What was asked for.
        thread: u32,
    },
    /// Its mappings cannot be read, and regions were asked for that depend on them.
    #[error("cannot read the mappings of process {tgid}")]
    Mappings {
        /// The process.
        tgid: Tgid,
        /// What the kernel said.
        source: io::Error,
    },
    /// Our own PID namespace cannot be told.
    #[error("cannot tell the process numbers of this PID namespace")]
    PidNamespace(#[source] io::Error),
    /// The memory budget is too small.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The kernel half.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The clock.
    #[error(transparent)]
    Clock(#[from] ClockError),
}

/// Why a session that had started ended without a profile.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target cannot be waited for.
    #[error("cannot wait for the target")]
    Wait(#[source] io::Error),
    /// The clock.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The counters.
    #[error(transparent)]
    Counters(#[from] CountersError),
    /// The kernel half.
    #[error(transparent)]
    Kernel(#[from] LoadError),
    /// What outlives us.
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Pins(#[from] crate::kernel::PinError),
}

impl StartError {
    /// What to do next, in one line, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        self.hint_for(&own_path())
    }

    /// The same, where the program's own file is called `program`.
    pub fn hint_for(&self, program: &str) -> Option<String> {
        match self {
            Self::Privileges(missing) => Some(get_privileges(missing, program)),
            Self::RateAboveLimit { rate, limit } => Some(format!(
                "ask for at most {limit}, or: sudo sysctl kernel.perf_event_max_sample_rate={rate}"
            )),
            Self::Target(TargetError::IsThread { process, .. }) => {
                Some(format!("profile all its threads with --pid {process}"))
            }
            Self::Layout(LayoutError::BudgetTooSmall { .. } | LayoutError::TooManyBins { .. }) => {
                Some("give it more with --memory".to_owned())
            }
            Self::Layout(LayoutError::TooManyRegions { .. }) => Some(
                "the dialects with many regions are modern, xnu, xnu32, sprofil and sprofil32"
                    .to_owned(),
            ),
            Self::Load(LoadError::Lacks(feature)) => Some(came_with(*feature)),
            Self::Load(LoadError::Memlock { wanted, .. }) => Some(format!(
                "run it with sudo or after `ulimit -l {}`, or ask for less with --memory and \
                 --strays",
                wanted.div_ceil(1024)
            )),
            Self::Load(LoadError::Refused { .. }) => Some(
                "`profil-bpf doctor` shows the verifier's log; please report it with the output"
                    .to_owned(),
            ),
            Self::Clock(ClockError::Open { source, .. }) => match source.raw_os_error() {
                Some(libc::ENOSYS) => Some(came_with(Feature::PerfEvents)),
                Some(libc::EACCES | libc::EPERM) => Some(who_may(paranoid())),
                // Of a cgroup in a hierarchy that perf's controller is not in.
                Some(libc::ENOENT) => Some(
                    "perf knows the cgroups of another hierarchy: name the one below the place that \
                     `grep perf_event /proc/mounts` shows"
                        .to_owned(),
                ),
                _ => None,
            },
            Self::Clock(ClockError::Attach(_)) => Some(came_with(Feature::PerfEventPrograms)),
            Self::Load(error) if is_permission(error) => {
                Some("a container, kernel lockdown or security policy may forbid bpf(2)".to_owned())
            }
            _ => None,
        }
    }
}

fn list(missing: &[Missing]) -> String {
    missing
        .iter()
        .map(Missing::to_string)
        .collect::<Vec<_>>()
        .join(" and ")
}

/// How to get what is missing. All three at once: whoever sets the first two will want names in
/// others' processes.
pub(crate) fn get_privileges(missing: &[Missing], program: &str) -> String {
    let capabilities = if missing.contains(&Missing::SysAdmin) {
        "cap_sys_admin"
    } else {
        "cap_bpf,cap_perfmon"
    };
    format!("run it with sudo, or once: sudo setcap {capabilities},cap_sys_ptrace+ep {program}")
}

fn own_path() -> String {
    std::env::current_exe().map_or_else(
        |_| "profil-bpf".to_owned(),
        |path| path.display().to_string(),
    )
}

/// Who may open perf events, if we may not although we have `CAP_PERFMON`.
fn who_may(paranoid: Option<i32>) -> String {
    match paranoid {
        Some(level @ 3..) => format!(
            "kernel.perf_event_paranoid is {level}: kernels of some distributions then want \
             CAP_SYS_ADMIN; run it with sudo, or: sudo sysctl kernel.perf_event_paranoid=2"
        ),
        _ => "a container or security policy may forbid perf_event_open".to_owned(),
    }
}

fn came_with(feature: Feature) -> String {
    format!(
        "{} came with Linux {}; `profil-bpf doctor` lists what this kernel can do",
        feature.name(),
        feature.since()
    )
}

fn is_permission(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>()
            && io.kind() == io::ErrorKind::PermissionDenied
        {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{StartError, who_may};
    use crate::kernel::{ClockError, Feature, LoadError, Missing};

    fn hint(error: impl Into<StartError>) -> String {
        error.into().hint().expect("there is something to do")
    }

    fn open(number: i32) -> ClockError {
        ClockError::Open {
            what: "thread 1".to_owned(),
            source: io::Error::from_raw_os_error(number),
        }
    }

    /// No distribution builds such kernels, so no test can boot one.
    #[test]
    fn a_kernel_that_was_built_without_says_what_it_lacks() {
        for (feature, option) in [
            (Feature::Bpf, "CONFIG_BPF_SYSCALL"),
            (Feature::PerfEventPrograms, "CONFIG_BPF_EVENTS"),
        ] {
            let error = LoadError::Lacks(feature);
            assert!(error.to_string().contains(feature.name()), "{error}");
            assert!(hint(error).contains(option));
        }
        assert!(hint(open(libc::ENOSYS)).contains("CONFIG_PERF_EVENTS"));
    }

    #[test]
    fn a_prohibition_is_no_lack() {
        assert!(hint(open(libc::EACCES)).contains("perf_event_"));
        assert!(hint(open(libc::ENOENT)).contains("/proc/mounts"));
        assert!(who_may(Some(2)).contains("container"));
        assert!(who_may(None).contains("container"));
        assert!(who_may(Some(4)).contains("perf_event_paranoid=2"));
    }

    #[test]
    fn the_limit_to_ask_for_is_large_enough() {
        let error = LoadError::Memlock {
            wanted: 2049,
            limit: 65536,
        };
        assert!(hint(error).contains("ulimit -l 3"));
    }

    #[test]
    fn the_capabilities_to_set_are_those_that_the_kernel_knows() {
        let old = StartError::Privileges(vec![Missing::SysAdmin]);
        assert!(hint(old).contains("cap_sys_admin,cap_sys_ptrace+ep"));
        let new = StartError::Privileges(vec![Missing::Bpf]);
        assert!(hint(new).contains("cap_bpf,cap_perfmon,cap_sys_ptrace+ep"));
    }
}
