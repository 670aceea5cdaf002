//! A running target: the handshake, the start signal, the account.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::{
    process::{only_child_of, send, wait_until},
    recipe::Workload,
    split::Split,
};

/// How long a target may take for what needs no CPU time to speak of.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running target. Killed when dropped, with its children.
pub struct Target {
    child: Child,
    executable: PathBuf,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    pid: u32,
    asked: Duration,
}

impl Target {
    /// Starts a target and waits until it is ready.
    ///
    /// # Panics
    ///
    /// If it cannot be built or started, or does not become ready.
    pub fn start(workload: Workload) -> Self {
        Self::start_with(workload, &[])
    }

    /// Starts a target with arguments and waits until it is ready.
    ///
    /// # Panics
    ///
    /// As [`Target::start`].
    pub fn start_with(workload: Workload, arguments: &[&str]) -> Self {
        let executable = workload.executable();
        let mut command = Command::new(&executable);
        command.args(arguments);
        Self::start_command(command, executable)
    }

    /// Starts `executable` by a command of the caller's, as another user for example.
    ///
    /// # Panics
    ///
    /// As [`Target::start`].
    pub fn start_command(mut command: Command, executable: PathBuf) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let output = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut target = Self {
            input: child.stdin.take(),
            child,
            executable,
            lines,
            pid: 0,
            asked: Duration::ZERO,
        };
        let line = target.line(PATIENCE);
        target.pid = match line.strip_prefix("ready ").and_then(|pid| pid.parse().ok()) {
            Some(pid) => pid,
            None => panic!("{} says {line:?} and not that it is ready", target.name()),
        };
        target
    }

    /// Starts a target by a command that runs it as its only child, in another PID namespace: there
    /// it goes by another number than here.
    ///
    /// # Panics
    ///
    /// As [`Target::start`].
    pub fn start_below(command: Command, executable: PathBuf) -> Self {
        let mut target = Self::start_command(command, executable);
        let parent = target.child.id();
        target.pid = only_child_of(parent)
            .unwrap_or_else(|| panic!("{} is no child of {parent}", target.name()));
        target
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file that it runs.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    fn name(&self) -> String {
        self.executable.display().to_string()
    }

    /// The next line that it prints.
    fn line(&self, limit: Duration) -> String {
        match self.lines.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("{} is silent for {limit:?}", self.name()),
            Err(RecvTimeoutError::Disconnected) => panic!("{} ended in silence", self.name()),
        }
    }

    /// Lets it burn about `time` of CPU; then it prints its account and exits.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn go(&mut self, time: Duration) {
        self.tell(time, "");
    }

    /// Lets it burn about `time` of CPU; then it prints its account and sleeps until killed.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn go_and_hold(&mut self, time: Duration) {
        self.tell(time, " hold");
    }

    fn tell(&mut self, time: Duration, hold: &str) {
        self.asked = time;
        let mut input = self.input.take().expect("a target goes once");
        let line = format!("go {}{hold}\n", time.as_secs_f64());
        input
            .write_all(line.as_bytes())
            .unwrap_or_else(|error| panic!("cannot tell {} to go: {error}", self.name()));
    }

    /// Waits for its account.
    ///
    /// # Panics
    ///
    /// If it does not give one that can be read.
    pub fn split(&mut self) -> Split {
        // A busy machine gives it less than a whole CPU.
        let end = Instant::now() + self.asked * 5 + PATIENCE;
        let mut account = Vec::new();
        loop {
            let line = self.line(end.saturating_duration_since(Instant::now()));
            let last = line.starts_with("rusage ");
            account.push(line);
            if last {
                break;
            }
        }
        Split::parse(account.iter().map(String::as_str))
            .unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// Waits until it exits by itself.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn exit(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until(PATIENCE, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        status.unwrap_or_else(|| panic!("{} does not exit", self.name()))
    }

    /// Kills it, and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        send(self.pid, Signal::KILL);
        self.exit();
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Both fail only if it is gone, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_builds_and_gives_an_account_that_adds_up() {
        let asked = Duration::from_millis(100);
        for &workload in Workload::ALL {
            if !workload.gives_account() {
                continue;
            }
            let mut target = Target::start(workload);
            target.go(asked);
            let split = target.split();
            assert!(target.exit().success(), "{workload:?}");

            let named: Duration = split.functions.values().sum();
            assert_eq!(named + split.other, split.total, "{workload:?}: {split:?}");
            if workload == Workload::Idle {
                assert!(split.total < asked / 10, "{workload:?}: {split:?}");
                continue;
            }
            assert!(
                split.total >= asked && split.total < asked * 2,
                "{workload:?}: {split:?}"
            );
            assert!(split.other < split.total / 20, "{workload:?}: {split:?}");
            assert!(
                split.functions.values().all(|time| !time.is_zero()),
                "{workload:?}: {split:?}"
            );
        }
    }

    #[test]
    fn a_target_that_does_not_wait_is_gone() {
        let mut target = Target::start_with(Workload::Brief, &["1000"]);
        assert!(target.exit().success());
    }

    #[test]
    fn many_threads_a_child_and_another_image_are_one_account() {
        let asked = Duration::from_millis(200);
        let other = Workload::SegmentsPie.executable();
        let other = other.to_str().expect("a plain path");
        for arguments in [
            &["--threads", "8"][..],
            &["--churn"],
            &["--fork"],
            &["--exec", other],
        ] {
            let mut target = Target::start_with(Workload::Pie, arguments);
            target.go(asked);
            let split = target.split();
            assert!(target.exit().success(), "{arguments:?}");
            let named: Duration = split.functions.values().sum();
            assert!(
                split.total >= asked && split.total < asked * 2,
                "{arguments:?}: {split:?}"
            );
            assert!(named > split.total * 9 / 10, "{arguments:?}: {split:?}");
        }
    }

    #[test]
    fn a_target_that_holds_can_be_killed() {
        let mut target = Target::start(Workload::Pie);
        target.go_and_hold(Duration::from_millis(10));
        target.split();
        target.kill();
    }
}
