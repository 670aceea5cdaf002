//! The process itself: is it there, may it be profiled, what is it called, has it ended?

use std::{
    fs, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::options::Tgid;

/// A process that was found fit to be profiled.
pub(crate) struct Process {
    tgid: Tgid,
    name: String,
    /// Becomes readable when the process ends.
    pidfd: OwnedFd,
}

/// Why a process cannot be profiled.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is no such process.
    #[error("there is no process {0}")]
    NoSuchProcess(Tgid),
    /// It ended and waits for its parent.
    #[error("process {0} has already ended (it is a zombie)")]
    Zombie(Tgid),
    /// The number is that of a thread.
    #[error("{thread} is a thread of process {process}")]
    IsThread {
        /// The number that was given.
        thread: Tgid,
        /// The process it belongs to.
        process: u32,
    },
    /// It has no user program counter to count.
    #[error("{0} is a kernel thread: it has no user text to profile")]
    KernelThread(Tgid),
    /// The kernel would not say.
    #[error("cannot look at process {tgid}")]
    Unreadable {
        /// The process.
        tgid: Tgid,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Whether somebody has this number. Asked without `/proc`, which may be hidden; no signal is sent.
#[cfg(feature = "serve")]
pub(crate) fn is_there(tgid: u32) -> bool {
    let pid = i32::try_from(tgid).ok().and_then(Pid::from_raw);
    let asked = pid.map(rustix::process::test_kill_process);
    asked != Some(Err(rustix::io::Errno::SRCH))
}

impl Process {
    /// Finds the process and checks that it can be profiled.
    ///
    /// # Errors
    ///
    /// If there is no such process, or it is a zombie, a kernel thread or a mere thread.
    pub(crate) fn find(tgid: Tgid) -> Result<Self, TargetError> {
        let process = Self::find_or_kernel_thread(tgid)?;
        let stat =
            fs::read(format!("/proc/{tgid}/stat")).map_err(|source| unreadable(tgid, source))?;
        if is_kernel_thread(&stat) {
            return Err(TargetError::KernelThread(tgid));
        }
        Ok(process)
    }

    /// As [`Process::find`], where the kernel's own time is wanted.
    ///
    /// # Errors
    ///
    /// As there, but for kernel threads.
    pub(crate) fn find_or_kernel_thread(tgid: Tgid) -> Result<Self, TargetError> {
        let unreadable = |source| unreadable(tgid, source);
        // The descriptor first: what is read afterwards is of this process, or it has ended.
        let pid = i32::try_from(tgid.get()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(TargetError::NoSuchProcess(tgid))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty());
        let status = fs::read(format!("/proc/{tgid}/status")).map_err(unreadable)?;
        let status = String::from_utf8_lossy(&status);
        let status = Status::parse(&status);
        if status.tgid != tgid.get() {
            return Err(TargetError::IsThread {
                thread: tgid,
                process: status.tgid,
            });
        }
        if status.is_zombie() {
            return Err(TargetError::Zombie(tgid));
        }
        Ok(Self {
            tgid,
            name: status.name.to_owned(),
            // Opening it fails for a mere thread, which has a better answer above.
            pidfd: pidfd.map_err(|errno| unreadable(errno.into()))?,
        })
    }

    /// Finds the process of a thread.
    ///
    /// # Errors
    ///
    /// As [`Process::find`], if there is no such thread.
    pub(crate) fn of_thread(tid: Tgid) -> Result<Self, TargetError> {
        match Self::find(tid) {
            Err(TargetError::IsThread { process, .. }) => {
                let process = Tgid::new(process).ok_or(TargetError::NoSuchProcess(tid))?;
                Self::find(process)
            }
            found => found,
        }
    }

    /// CPU time that the process has used, ended threads included, in nanoseconds; in steps of a
    /// clock tick, usually 10 ms. `None` once its parent has been told that it ended.
    pub(crate) fn cpu_time_ns(&self) -> Option<u64> {
        const NANOS: u64 = 1_000_000_000;
        let stat = fs::read(format!("/proc/{}/stat", self.tgid)).ok()?;
        let [user, system] = stat_fields(&stat, [14, 15])?;
        Some((user + system) * (NANOS / rustix::param::clock_ticks_per_second()))
    }

    /// Whether it has ended, waited for or not.
    pub(crate) fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let mut ended = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let at_once = Timespec::default();
        poll(&mut ended, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    pub(crate) const fn tgid(&self) -> Tgid {
        self.tgid
    }

    /// The kernel's 15-byte name of the process. Anybody can choose it: escape before display.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

fn unreadable(tgid: Tgid, source: io::Error) -> TargetError {
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => TargetError::NoSuchProcess(tgid),
        _ => TargetError::Unreadable { tgid, source },
    }
}

/// What `/proc/PID/status` says (proc_pid_status(5)).
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Status<'text> {
    pub(super) name: &'text str,
    pub(super) state: &'text str,
    pub(super) tgid: u32,
    pub(super) threads: u32,
}

impl<'text> Status<'text> {
    pub(super) fn parse(text: &'text str) -> Self {
        let mut status = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim_start_matches(['\t', ' ']);
            match key {
                "Name" => status.name = value,
                "State" => status.state = value,
                "Tgid" => status.tgid = value.parse().unwrap_or(0),
                "Threads" => status.threads = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        status
    }

    pub(super) fn is_zombie(&self) -> bool {
        // A process whose first thread has ended while others run is shown as a zombie too; its
        // other threads can still be profiled.
        self.state.starts_with(['Z', 'X']) && self.threads <= 1
    }
}

/// Whether `/proc/PID/stat` has `PF_KTHREAD` (`include/linux/sched.h`) among its flags.
fn is_kernel_thread(stat: &[u8]) -> bool {
    const PF_KTHREAD: u64 = 0x0020_0000;
    stat_fields(stat, [9]).is_some_and(|[flags]| flags & PF_KTHREAD != 0)
}

/// The fields of `/proc/PID/stat` with these numbers, in ascending order (proc_pid_stat(5)).
pub(super) fn stat_fields<const N: usize>(stat: &[u8], numbers: [usize; N]) -> Option<[u64; N]> {
    /// The first field after the name.
    const FIRST: usize = 3;

    // The second field is the name in parentheses, which may hold anything, a `)` included.
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields: Vec<_> = std::str::from_utf8(&stat[end + 1..])
        .ok()?
        .split_ascii_whitespace()
        .collect();
    let mut values = [0; N];
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = fields.get(number - FIRST)?.parse().ok()?;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::{Status, stat_fields};

    #[cfg(feature = "serve")]
    #[test]
    fn we_are_there_and_not_everybody_is() {
        assert!(super::is_there(std::process::id()));
        // Of another user.
        assert!(super::is_there(1));
        assert!(!super::is_there(u32::MAX >> 2));
    }

    #[test]
    fn fields_are_counted_from_the_end_of_the_name() {
        let mut stat = b"42 (a) b) S".to_vec();
        for field in 4..=52 {
            stat.extend(format!(" {field}00").bytes());
        }
        assert_eq!(stat_fields(&stat, [4, 26, 28]), Some([400, 2600, 2800]));
        assert_eq!(stat_fields(&stat, [99]), None);
        assert_eq!(stat_fields(b"42 (a", [4]), None);
    }

    #[test]
    fn a_status_is_read_by_its_keys() {
        let text = "Name:\tsh\nState:\tS (sleeping)\nTgid:\t42\nPid:\t42\n\
                    Threads:\t3\n";
        let expected = Status {
            name: "sh",
            state: "S (sleeping)",
            tgid: 42,
            threads: 3,
        };
        assert_eq!(Status::parse(text), expected);
        assert!(!Status::parse(text).is_zombie());
    }

    #[test]
    fn a_zombie_is_known_by_its_state() {
        let text = "Name:\tsh\nState:\tZ (zombie)\nTgid:\t42\nThreads:\t1\n";
        assert!(Status::parse(text).is_zombie());
        let leader_gone = "Name:\tsh\nState:\tZ (zombie)\nTgid:\t42\nThreads:\t2\n";
        assert!(!Status::parse(leader_gone).is_zombie());
    }

    #[test]
    fn a_name_may_hold_anything_but_a_line_end() {
        assert_eq!(
            Status::parse("Name:\t: \u{1b}[31m\nTgid:\t1\n").name,
            ": \u{1b}[31m"
        );
    }

    #[test]
    fn what_is_missing_is_empty() {
        assert_eq!(Status::parse("no colon here"), Status::default());
    }
}
