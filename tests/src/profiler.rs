//! Running the binary under test.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    places,
    process::{Finished, Process, wait_until},
};

/// How long the profiler may take to start, and to end once it should.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The system calls that wait for epoll's events.
#[cfg(target_arch = "x86_64")]
const EPOLL_WAITS: &[libc::c_long] = &[libc::SYS_epoll_wait, libc::SYS_epoll_pwait];
#[cfg(not(target_arch = "x86_64"))]
const EPOLL_WAITS: &[libc::c_long] = &[libc::SYS_epoll_pwait];

/// A profiler about to be started.
pub struct Profiler {
    command: Command,
}

impl Profiler {
    /// `profil-bpf`, without arguments.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[expect(clippy::new_without_default, reason = "finding the binary may fail")]
    pub fn new() -> Self {
        Self::by(Command::new(places::profil_bpf()))
    }

    /// `profil-bpf --pid PID -F HZ`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn on(pid: u32, hz: u32) -> Self {
        Self::new().on_pid(pid, hz)
    }

    /// A command of the caller's that becomes `profil-bpf`, as another user for example.
    pub fn by(command: Command) -> Self {
        Self { command }
    }

    /// Adds `--pid PID -F HZ`.
    pub fn on_pid(self, pid: u32, hz: u32) -> Self {
        self.args(["--pid", &pid.to_string(), "-F", &hz.to_string()])
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Adds `-o FILE`.
    pub fn output(self, file: impl AsRef<OsStr>) -> Self {
        self.arg("-o").arg(file)
    }

    /// Sets the directory it starts in.
    pub fn in_dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(mut self) -> Process {
        Process::start(&mut self.command)
    }

    /// Starts it with a standard output of the caller's.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start_writing_to(mut self, stdout: impl Into<Stdio>) -> Process {
        Process::start_writing_to(&mut self.command, stdout)
    }

    /// Starts it and waits until it has attached to its target.
    ///
    /// # Panics
    ///
    /// If it does not attach, with what it said instead.
    pub fn attach(self) -> Process {
        let mut process = self.start();
        wait_until_attached(&mut process);
        process
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn run(self) -> Finished {
        self.start().finish(PATIENCE)
    }
}

/// Waits until a started profiler has attached to its target.
///
/// # Panics
///
/// If it ends instead, or takes too long.
pub fn wait_until_attached(process: &mut Process) {
    let attached = wait_until(PATIENCE, || {
        if let Some(status) = process.ended() {
            panic!(
                "profil-bpf ended with {status} and did not attach:\n{}",
                process.stderr()
            );
        }
        holds_program(process.pid()) && waits_for_events(process.pid())
    });
    assert!(
        attached,
        "profil-bpf did not attach within {PATIENCE:?}:\n{}",
        process.stderr()
    );
}

/// Whether a process holds a BPF program. The profiler loads it before it opens its clocks.
fn holds_program(pid: u32) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .any(|link| link.as_os_str() == "anon_inode:bpf-prog")
}

/// Whether the main thread of a process sleeps until something happens (epoll(7)). The profiler
/// does so once its clocks are on, and not between loading and that.
fn waits_for_events(pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/syscall")) else {
        return false;
    };
    let call = text
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    call.is_some_and(|number: libc::c_long| EPOLL_WAITS.contains(&number))
}
