//! A terminal of the test's own: what runs in it sees keys and a size, and the test sees the screen.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    num::NonZeroU16,
    os::{
        fd::AsFd as _,
        unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    },
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionbio,
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Termios, Winsize, tcgetattr, tcsetwinsize},
};

use crate::process::send;

/// Both ends of a terminal: that of whoever watches it, which never waits, and that of what runs in it.
///
/// # Panics
///
/// If there is none.
pub fn pair() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    ioctl_fionbio(&ours, true).expect("reading need not wait");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let theirs = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(name.to_str().expect("ASCII"))
        .expect("its other end");
    (File::from(ours), theirs)
}

/// A terminal, and what runs in it. That is killed when this is dropped.
///
/// Nothing is read of what it writes but in the methods that look at the screen.
pub struct Terminal {
    ours: File,
    theirs: File,
    child: Child,
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts a command in a terminal of so many rows and columns, which is its controlling one.
    ///
    /// # Panics
    ///
    /// If there is no terminal, or it cannot be started.
    pub fn start(mut command: Command, (rows, columns): (u16, u16)) -> Self {
        let (ours, theirs) = pair();
        tcsetwinsize(&theirs, size(rows, columns)).expect("a size");
        let end = || theirs.try_clone().expect("a descriptor");
        command.stdin(end()).stdout(end()).stderr(end());
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        // SAFETY: both are system calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self {
            ours,
            theirs,
            child,
            parser: vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0),
            bytes: Vec::new(),
        }
    }

    /// The process in it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its settings.
    ///
    /// # Panics
    ///
    /// If they cannot be read.
    pub fn settings(&self) -> Termios {
        tcgetattr(&self.theirs).expect("a terminal has settings")
    }

    /// Presses keys: what a terminal sends for them.
    ///
    /// # Panics
    ///
    /// If there is no terminal any more.
    pub fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).expect("it takes keys");
    }

    /// Gives it another size.
    ///
    /// # Panics
    ///
    /// If it does not take it.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.read_for(Duration::ZERO);
        let (height, width) = (at_least_one(rows), at_least_one(columns));
        self.parser.screen_mut().set_size(height, width);
        // The kernel tells its process by SIGWINCH.
        tcsetwinsize(&self.ours, size(rows, columns)).expect("a size");
    }

    /// Sends a signal to the process.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Reads what comes within this time.
    pub fn read_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            };
            let ours = self.ours.as_fd();
            let mut ready = [PollFd::new(&ours, PollFlags::IN)];
            if !matches!(poll(&mut ready, Some(&left)), Ok(1..)) {
                return;
            }
            let mut part = [0; 4096];
            match self.ours.read(&mut part) {
                Ok(length @ 1..) => {
                    self.parser.process(&part[..length]);
                    self.bytes.extend_from_slice(&part[..length]);
                }
                _ => return,
            }
        }
    }

    /// What is on the screen, as far as it was read.
    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Its lines.
    pub fn lines(&self) -> Vec<String> {
        let (_, columns) = self.screen().size();
        self.screen().rows(0, columns.get()).collect()
    }

    /// Everything that was written to it, as far as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Waits until the lines of the screen are as they should be.
    ///
    /// # Panics
    ///
    /// If they are not within `limit`, with what is there instead.
    #[track_caller]
    pub fn wait_for(
        &mut self,
        what: &str,
        limit: Duration,
        done: impl Fn(&[String]) -> bool,
    ) -> Vec<String> {
        let end = Instant::now() + limit;
        loop {
            let lines = self.lines();
            if done(&lines) {
                return lines;
            }
            let has_ended = self.child.try_wait().ok().flatten();
            assert!(
                Instant::now() < end && has_ended.is_none(),
                "{what} is not seen ({has_ended:?}):\n{}",
                lines.join("\n")
            );
            self.read_for(Duration::from_millis(20));
        }
    }

    /// Waits until a text is seen, in any line.
    ///
    /// # Panics
    ///
    /// If it is not within `limit`.
    #[track_caller]
    pub fn wait_for_text(&mut self, text: &str, limit: Duration) -> Vec<String> {
        self.wait_for(text, limit, |lines| {
            lines.iter().any(|line| line.contains(text))
        })
    }

    /// Waits for the end of the process, reading what it writes until then.
    ///
    /// # Panics
    ///
    /// If it does not end within `limit`.
    #[track_caller]
    pub fn finish(&mut self, limit: Duration) -> ExitStatus {
        let end = Instant::now() + limit;
        loop {
            self.read_for(Duration::from_millis(10));
            if let Some(status) = self.ended() {
                self.read_for(Duration::from_millis(10));
                return status;
            }
            assert!(
                Instant::now() < end,
                "it does not end:\n{}",
                self.lines().join("\n")
            );
        }
    }

    /// How the process ended, if it has; nothing is read.
    ///
    /// # Panics
    ///
    /// If that cannot be told.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is a child of ours")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Both fail only if the child is gone, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn at_least_one(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).unwrap_or(NonZeroU16::MIN)
}
