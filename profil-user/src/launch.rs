//! A command that is started, and waits before its first instruction until everything else is ready.

use std::{
    ffi::{OsStr, OsString},
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread::{self, JoinHandle},
};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
};

use crate::options::Tgid;

/// A command that was started.
///
/// Dropped before [`Launched::release`], it ends and has run nothing; so it does if this process
/// dies. Dropped later it goes on by itself, as a [`Child`] does.
#[derive(Debug)]
pub struct Launched {
    pid: Tgid,
    program: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    Held(Hold),
    Running(Child),
    /// It could not be run, which was said.
    Failed,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("there is no program {}", program.display())]
    NotFound {
        /// As it was given.
        program: PathBuf,
    },
    /// The file is there, but not what it asks to be run by: a script's `#!` line, or the dynamic
    /// loader of an ELF file.
    #[error("cannot run {}: the interpreter that it names is not there", program.display())]
    NoInterpreter {
        /// As it was given.
        program: PathBuf,
    },
    /// The program cannot be run (execve(2)).
    #[error("cannot run {}", program.display())]
    Exec {
        /// As it was given.
        program: PathBuf,
        /// What the kernel said: `EACCES` if it is not executable or may not be reached.
        source: io::Error,
    },
    /// There is no process for it (fork(2)).
    #[error("cannot start a process for {}", program.display())]
    Start {
        /// As it was given.
        program: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl LaunchError {
    /// The status to exit with, by the custom of env(1), nohup(1) and others: 127 if there is no such
    /// program, 126 if it cannot be run, 125 if it is not the program's fault.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NoInterpreter { .. } | Self::Exec { .. } => 126,
            Self::Start { .. } => 125,
        }
    }

    /// Of what exec(3) said.
    fn of_exec(program: PathBuf, source: io::Error) -> Self {
        if source.kind() != io::ErrorKind::NotFound {
            return Self::Exec { program, source };
        }
        // Only what has a slash is not looked for on the PATH.
        let is_path = program.as_os_str().as_encoded_bytes().contains(&b'/');
        if is_path && program.exists() {
            Self::NoInterpreter { program }
        } else {
            Self::NotFound { program }
        }
    }
}

impl Launched {
    /// Forks a child that will run `program`, looked for on the `PATH` if it has no slash, and that
    /// waits until it is released. It has its final number, and what is attached to it now misses
    /// nothing.
    ///
    /// It starts with no signal blocked and none ignored, but for those that whoever started us may
    /// have had ignored on purpose: hang-up (nohup(1)), and interrupt and quit (jobs in the
    /// background). It has our standard streams and environment, and none of the descriptors that
    /// are opened by Rust's library or with `O_CLOEXEC`.
    ///
    /// # Errors
    ///
    /// If there can be no process. Whether there is such a program turns out when it is released.
    pub fn prepare(program: &OsStr, args: &[OsString]) -> Result<Self, LaunchError> {
        let program = PathBuf::from(program);
        match Hold::fork(&program, args) {
            Ok((pid, hold)) => Ok(Self {
                pid,
                program,
                state: State::Held(hold),
            }),
            Err(source) => Err(LaunchError::Start { program, source }),
        }
    }

    /// The number of its process. It belongs to it until it has been waited for.
    pub const fn pid(&self) -> Tgid {
        self.pid
    }

    /// Lets it run the program, and returns when it does. Does nothing if it already does.
    ///
    /// # Errors
    ///
    /// If the program cannot be run; there is no child any more then.
    pub fn release(&mut self) -> Result<(), LaunchError> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Held(mut hold) => {
                self.state = State::Running(
                    hold.end(Word::Go)
                        .map_err(|source| LaunchError::of_exec(self.program.clone(), source))?,
                );
                Ok(())
            }
            State::Running(child) => {
                self.state = State::Running(child);
                Ok(())
            }
            State::Failed => Err(LaunchError::Start {
                program: self.program.clone(),
                source: not_released(),
            }),
        }
    }

    /// Waits until it has ended. It may have been waited for before.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it was not released: it would never end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child()?.wait()
    }

    /// How it ended, or `None` if it goes on.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it was not released.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child()?.try_wait()
    }

    fn child(&mut self) -> io::Result<&mut Child> {
        match &mut self.state {
            State::Running(child) => Ok(child),
            State::Held(_) | State::Failed => Err(not_released()),
        }
    }
}

fn not_released() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the command does not run")
}

/// The status of a command as a shell passes it on: its own, or 128 and the signal that killed it.
pub fn exit_code(status: ExitStatus) -> u8 {
    const KILLED: u8 = 128;
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code),
        (None, Some(signal)) => u8::try_from(signal).map(|signal| KILLED | signal),
        // Stopped or continued: nobody is told of that who does not ask.
        (None, None) => Ok(KILLED),
    };
    // The kernel has eight bits for the one and seven for the other.
    code.unwrap_or(u8::MAX)
}

/// A child between fork and exec.
///
/// [`Command::spawn`] returns only when the child runs the program, because that is how it knows
/// whether it does. So it is called on a thread of its own.
#[derive(Debug)]
struct Hold {
    /// Where the child listens, and where we tell it how it goes on. We keep both ends: a child that
    /// was killed meanwhile must not make that a `SIGPIPE` for us.
    pipe: (OwnedFd, OwnedFd),
    /// `None` once it was told.
    spawning: Option<JoinHandle<io::Result<Child>>>,
}

/// How it goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Word {
    Go = 1,
    GiveUp = 2,
}

impl Hold {
    fn fork(program: &Path, args: &[OsString]) -> io::Result<(Tgid, Self)> {
        let (listens, tells) = pipe_with(PipeFlags::CLOEXEC)?;
        let (hears, announces) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut command = Command::new(program);
        command.args(args);
        let (listens_raw, tells_raw) = (listens.as_raw_fd(), tells.as_raw_fd());
        // SAFETY: what it calls is async-signal-safe, and it allocates nothing. Both raw descriptors
        // are open at the fork, because this function holds them until the child has spoken or
        // there is none.
        unsafe {
            command.pre_exec(move || {
                reset_signals();
                await_word(&announces, listens_raw, tells_raw)
            });
        }
        // The thread has the command, and with it our end of the announcement: when it ends without
        // a child, we hear that.
        let spawning = thread::Builder::new()
            .name("launch".to_owned())
            .spawn(move || command.spawn())?;
        let mut hold = Self {
            pipe: (listens, tells),
            spawning: Some(spawning),
        };
        let mut pid = [0; size_of::<u32>()];
        let read = rustix::io::retry_on_intr(|| rustix::io::read(&hears, &mut pid))?;
        let pid = (read == pid.len()).then(|| Tgid::new(u32::from_ne_bytes(pid)));
        match pid.flatten() {
            Some(pid) => Ok((pid, hold)),
            None => {
                // There is no child, and the thread knows why; or it was killed.
                let mut child = hold.end(Word::GiveUp)?;
                child.wait()?;
                Err(Errno::CHILD.into())
            }
        }
    }

    /// Tells the child how to go on, and waits until it does.
    fn end(&mut self, word: Word) -> io::Result<Child> {
        let Some(spawning) = self.spawning.take() else {
            return Err(not_released());
        };
        // There is room for a byte, and always a reader.
        rustix::io::retry_on_intr(|| rustix::io::write(&self.pipe.1, &[word as u8]))?;
        spawning
            .join()
            .unwrap_or_else(|_panic| Err(io::ErrorKind::Other.into()))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.spawning.is_some()
            // An error is what is wanted: the child has given up, and is waited for.
            && let Ok(mut child) = self.end(Word::GiveUp)
        {
            // It was killed before it could.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// In the child: says who it is, and waits for how it goes on.
fn await_word(announces: &OwnedFd, listens: RawFd, tells: RawFd) -> io::Result<()> {
    // SAFETY: it is the child's copy, which nothing else in it uses. If it were kept, the child would
    // not hear that we died.
    unsafe { rustix::io::close(tells) };
    // SAFETY: it is open in the child until it runs the program.
    let listens = unsafe { BorrowedFd::borrow_raw(listens) };
    let pid = rustix::process::getpid().as_raw_pid();
    rustix::io::write(announces, &pid.to_ne_bytes())?;
    let mut word = [0];
    rustix::io::retry_on_intr(|| rustix::io::read(listens, &mut word))?;
    if word == [Word::Go as u8] {
        Ok(())
    } else {
        Err(Errno::CANCELED.into())
    }
}

/// In the child: signals that are ignored or blocked would be so in the program as well. (Handlers do
/// not survive exec, and of the rest Rust's library only sees to `SIGPIPE`.)
fn reset_signals() {
    const ON_PURPOSE: [libc::c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| !ON_PURPOSE.contains(signal)) {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: the action is written to, and read only then; those that the C library keeps for
        // itself are refused.
        unsafe {
            if libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init_ref().sa_sigaction == libc::SIG_IGN
            {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read. The child has this thread only.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests;
