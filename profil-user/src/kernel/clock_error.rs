//! What can go wrong with a clock.

use std::io;

/// Why the clock cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// A perf event could not be opened.
    #[error("cannot open a cpu-clock event on {what}")]
    Open {
        /// The thread or CPU.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The BPF program could not be attached to it.
    #[error("cannot attach the BPF program to a cpu-clock event")]
    Attach(#[source] io::Error),
    /// It could not be switched.
    #[error("cannot switch the clock")]
    Switch(#[source] io::Error),
    /// Its time could not be read.
    #[error("cannot read the clock's own time")]
    Read(#[source] io::Error),
    /// The list of CPUs is not readable.
    #[error("cannot read which CPUs are online")]
    Cpus(#[source] io::Error),
}

impl ClockError {
    /// Whether there are more threads than we may have files open.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        let Self::Open { source, .. } = self else {
            return false;
        };
        matches!(source.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
    }
}
