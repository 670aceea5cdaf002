//! Running the binary under test.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    places,
    process::{Finished, Process, wait_until},
};

/// How long the profiler may take to start, and to end once it should.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long the number of its clocks must not change to count as attached.
const STABLE: Duration = Duration::from_millis(50);

/// A grace after that: the clocks are opened before they are started.
const GRACE: Duration = Duration::from_millis(100);

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
    let mut clocks = 0;
    let mut since = Instant::now();
    let attached = wait_until(PATIENCE, || {
        if let Some(status) = process.ended() {
            panic!(
                "profil-bpf ended with {status} and did not attach:\n{}",
                process.stderr()
            );
        }
        let now = clocks_of(process.pid());
        if now != clocks {
            clocks = now;
            since = Instant::now();
        }
        clocks > 0 && since.elapsed() >= STABLE
    });
    assert!(
        attached,
        "profil-bpf did not attach within {PATIENCE:?}:\n{}",
        process.stderr()
    );
    thread::sleep(GRACE);
}

/// How many perf events a process holds.
fn clocks_of(pid: u32) -> usize {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return 0;
    };
    descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|link| link.as_os_str() == "anon_inode:[perf_event]")
        .count()
}
