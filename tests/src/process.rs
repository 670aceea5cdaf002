//! Child processes that can neither outlive nor hang their test.

use std::{
    fs,
    io::Read,
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal};

/// How often something that has no notification is looked at.
pub const POLL: Duration = Duration::from_millis(2);

/// Waits until `done` says so. Returns whether it did within `limit`.
pub fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(POLL);
    }
}

/// The child of a process that has just one.
pub fn only_child_of(parent: u32) -> Option<u32> {
    let mut children = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        (line.trim().parse() == Ok(parent)).then_some(pid)
    });
    let child = children.next()?;
    children.next().is_none().then_some(child)
}

/// What a child has written to one pipe.
#[derive(Clone, Default)]
struct Capture {
    bytes: Arc<Mutex<Vec<u8>>>,
    closed: Arc<AtomicBool>,
}

impl Capture {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let capture = Self::default();
        let Some(mut pipe) = pipe else {
            capture.closed.store(true, Ordering::Release);
            return capture;
        };
        let ours = capture.clone();
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut part) {
                let mut bytes = ours.bytes.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&part[..length]);
            }
            ours.closed.store(true, Ordering::Release);
        });
        capture
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The whole text, once the pipe is closed. A grandchild may keep it open: then what came.
    fn whole(&self) -> String {
        wait_until(Duration::from_secs(2), || {
            self.closed.load(Ordering::Acquire)
        });
        self.text()
    }
}

/// A running child whose output is collected. Killed when dropped.
pub struct Process {
    child: Child,
    name: String,
    stdout: Capture,
    stderr: Capture,
}

impl Process {
    /// Starts `command` without input and collects what it writes to both outputs.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        Self::start_writing_to(command, Stdio::piped())
    }

    /// Starts `command` with a standard output of the caller's.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start_writing_to(command: &mut Command, stdout: impl Into<Stdio>) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped());
        let name = format!("{command:?}");
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Self {
            stdout: Capture::of(child.stdout.take()),
            stderr: Capture::of(child.stderr.take()),
            child,
            name,
        }
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// How the child ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .unwrap_or_else(|error| panic!("cannot wait for {}: {error}", self.name))
    }

    /// What the child has written to standard error: so far, or all of it if it has ended.
    pub fn stderr(&mut self) -> String {
        match self.ended() {
            Some(_) => self.stderr.whole(),
            None => self.stderr.text(),
        }
    }

    /// What the child has written to standard output: so far, or all of it if it has ended.
    pub fn stdout(&mut self) -> String {
        match self.ended() {
            Some(_) => self.stdout.whole(),
            None => self.stdout.text(),
        }
    }

    /// Waits for the child to end.
    ///
    /// # Panics
    ///
    /// If it does not within `limit`.
    pub fn finish(mut self, limit: Duration) -> Finished {
        let mut status = None;
        wait_until(limit, || {
            status = self.ended();
            status.is_some()
        });
        let Some(status) = status else {
            panic!(
                "{} did not end within {limit:?}; its stdout:\n{}\nits stderr:\n{}",
                self.name,
                self.stdout.text(),
                self.stderr.text(),
            );
        };
        Finished {
            name: self.name.clone(),
            status,
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the child is gone, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process.
///
/// # Panics
///
/// If the kernel refuses.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a child has a positive pid");
    rustix::process::kill_process(pid, signal)
        .unwrap_or_else(|error| panic!("cannot send {signal:?} to {pid:?}: {error}"));
}

/// What a child left behind.
#[derive(Debug)]
pub struct Finished {
    name: String,
    /// How it ended.
    pub status: ExitStatus,
    /// All that it wrote to standard output.
    pub stdout: String,
    /// All that it wrote to standard error.
    pub stderr: String,
}

impl Finished {
    /// Checks the exit status.
    ///
    /// # Panics
    ///
    /// If it is another one, with all that the child said.
    #[track_caller]
    pub fn assert_code(&self, expected: i32) -> &Self {
        assert!(
            self.status.code() == Some(expected),
            "{} ended with {} (signal {:?}), expected status {expected}; its stdout:\n{}\nits stderr:\n{}",
            self.name,
            self.status,
            self.status.signal(),
            self.stdout,
            self.stderr,
        );
        self
    }

    /// Checks that standard error holds `text`, in upper or lower case.
    ///
    /// # Panics
    ///
    /// If it does not.
    #[track_caller]
    pub fn assert_says(&self, text: &str) -> &Self {
        assert!(
            self.stderr.to_lowercase().contains(&text.to_lowercase()),
            "{} does not say {text:?}; its stderr:\n{}",
            self.name,
            self.stderr,
        );
        self
    }

    /// Checks the form of an error: one to three lines that begin with who is speaking, nothing
    /// on standard output, and no panic.
    ///
    /// # Panics
    ///
    /// If it has another form.
    #[track_caller]
    pub fn assert_clear_error(&self) -> &Self {
        let lines = self
            .stderr
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count();
        assert!(
            (1..=4).contains(&lines),
            "{}: an error of {lines} lines:\n{}",
            self.name,
            self.stderr,
        );
        assert!(
            self.stderr.starts_with("profil-bpf: ") || self.stderr.starts_with("error: "),
            "{}: who is speaking?\n{}",
            self.name,
            self.stderr,
        );
        assert!(
            self.stdout.is_empty(),
            "{}: an error, and yet output:\n{}",
            self.name,
            self.stdout
        );
        self.assert_no_panic()
    }

    /// Checks that it did not panic.
    ///
    /// # Panics
    ///
    /// If it did.
    #[track_caller]
    pub fn assert_no_panic(&self) -> &Self {
        assert!(
            !self.stderr.contains("panicked"),
            "{} panicked:\n{}",
            self.name,
            self.stderr
        );
        self
    }
}
