//! The processes whose end is the end of the session.

use std::{future::pending, io};

use tokio::io::{Interest, unix::AsyncFd};

use crate::target::Process;

/// Processes that were asked for by number, and the CPU time that each had used when it was last
/// looked at. None where the session goes on whoever ends.
#[derive(Default)]
pub(super) struct Watched {
    processes: Vec<(Process, u64)>,
}

impl Watched {
    pub(super) fn new(processes: Vec<Process>) -> Self {
        Self {
            processes: processes.into_iter().map(|process| (process, 0)).collect(),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Their numbers.
    pub(super) fn tgids(&self) -> Vec<u32> {
        let processes = self.processes.iter();
        processes.map(|(process, _)| process.tgid().get()).collect()
    }

    /// The only one, where there is one.
    pub(super) fn only(&self) -> Option<u32> {
        match &self.processes[..] {
            [(process, _)] => Some(process.tgid().get()),
            _ => None,
        }
    }

    /// CPU time that they have used, in nanoseconds. Of one that has gone, what it had used at the
    /// last look.
    pub(super) fn cpu_time_ns(&mut self) -> u64 {
        let mut total = 0;
        for (process, used) in &mut self.processes {
            *used = process.cpu_time_ns().unwrap_or(*used);
            total += *used;
        }
        total
    }

    /// Completes when all have ended; never, if there are none.
    pub(super) fn ended(&self) -> io::Result<impl Future<Output = io::Result<()>> + use<>> {
        let mut watches = Vec::new();
        for (process, _) in &self.processes {
            let pidfd = rustix::io::dup(process)?;
            // SAFETY: an `OwnedFd` is the same open descriptor for as long as it lives.
            watches.push(unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }?);
        }
        Ok(async move {
            if watches.is_empty() {
                pending::<()>().await;
            }
            for watch in &watches {
                // Ready once is ready for ever: the process has ended.
                let _ = watch.readable().await?;
            }
            Ok(())
        })
    }
}
