//! What can stop a session, and what to do about it.

use std::io;

use crate::{
    kernel::{ClockError, CountersError, LoadError, Missing},
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
    /// Its threads cannot be listed.
    #[error("cannot list the threads of process {tgid}")]
    Threads {
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
}

impl StartError {
    /// What to do next, in one line, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            // All three at once: whoever sets the first two will want names in others' processes.
            Self::Privileges(_) => Some(format!(
                "run it with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep {}",
                own_path()
            )),
            Self::RateAboveLimit { rate, limit } => Some(format!(
                "ask for at most {limit}, or: sudo sysctl kernel.perf_event_max_sample_rate={rate}"
            )),
            Self::Target(TargetError::IsThread { process, .. }) => {
                Some(format!("profile all its threads with --pid {process}"))
            }
            Self::Layout(_) => Some("give it more with --memory".to_owned()),
            Self::Load(LoadError::Program(_)) => Some(
                "profil-bpf needs Linux 5.10 or newer; run again with RUST_BACKTRACE=1 for the \
                 verifier's log"
                    .to_owned(),
            ),
            Self::Clock(error) if is_refusal(error) => Some(
                "a container or security policy may forbid perf_event_open; see \
                 kernel.perf_event_paranoid"
                    .to_owned(),
            ),
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

fn own_path() -> String {
    std::env::current_exe().map_or_else(
        |_| "profil-bpf".to_owned(),
        |path| path.display().to_string(),
    )
}

fn is_refusal(error: &ClockError) -> bool {
    let ClockError::Open { source, .. } = error else {
        return false;
    };
    source.kind() == io::ErrorKind::PermissionDenied
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
