//! Whom to profile, as typed and as meant.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use profil_user::{Selector, Split, Target, Tgid};

/// Exactly one of these says whom.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhomFlags {
    /// Process to profile, repeatable: until Ctrl-C, the end of all, or --duration
    #[arg(short, long, value_name = "PID", value_parser = parse_pid,
          allow_negative_numbers = true)]
    pid: Vec<Tgid>,

    /// Thread to profile, and nothing that it starts
    #[arg(long, value_name = "TID", value_parser = parse_pid, allow_negative_numbers = true)]
    tid: Option<Tgid>,

    /// All processes with such a name, running or yet to start: a pattern with *, ? and [a-z]
    #[arg(long, value_name = "GLOB")]
    comm: Option<String>,

    /// All processes of this program, running or yet to start
    #[arg(long, value_name = "PATH")]
    exe: Option<PathBuf>,

    /// All processes of a cgroup and those below it: its path, or the beginning of a container's id
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// The whole machine: all processes, and the kernel's own text for system time
    #[arg(short, long)]
    all: bool,

    /// Tell processes apart
    #[arg(long, conflicts_with = "per_thread")]
    per_process: bool,

    /// Tell threads apart
    #[arg(long)]
    per_thread: bool,

    /// Command to run and to profile from its first instruction to its end, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Whom to profile.
#[derive(Debug)]
pub(crate) enum Whom {
    /// Somebody who runs.
    Target(Target),
    /// A command that is yet to be started: the program, and what it is given.
    Command(OsString, Vec<OsString>),
}

impl WhomFlags {
    /// Whether nobody is named.
    pub(super) fn is_empty(&self) -> bool {
        !self.ways().contains(&true)
    }

    /// In which ways somebody is named.
    fn ways(&self) -> [bool; 6] {
        [
            !self.pid.is_empty(),
            self.tid.is_some(),
            self.comm.is_some() || self.exe.is_some(),
            self.cgroup.is_some(),
            self.all,
            !self.command.is_empty(),
        ]
    }

    /// Turns what was typed into what is meant.
    pub(super) fn whom(&mut self) -> Result<Whom, String> {
        let by_name = self.comm.is_some() || self.exe.is_some();
        match self.ways().iter().filter(|&&way| way).count() {
            0 => {
                return Err(
                    "nobody is named: --pid PID, or --all, or a command after --".to_owned(),
                );
            }
            1 => {}
            _ => return Err(
                "only one of --pid, --tid, --comm with --exe, --cgroup, --all and a command can \
                 be given"
                    .to_owned(),
            ),
        }
        if !self.command.is_empty() {
            let program = self.command.remove(0);
            return Ok(Whom::Command(program, std::mem::take(&mut self.command)));
        }
        let target = if let Some(tid) = self.tid {
            Target::Thread(tid)
        } else if let Some(cgroup) = self.cgroup.take() {
            Target::Cgroup(cgroup)
        } else if by_name {
            Target::Matching(Selector {
                comm: self.comm.take(),
                exe: self.exe.take(),
            })
        } else if self.all {
            Target::Everything
        } else {
            // Twice the same is once.
            self.pid.sort_unstable();
            self.pid.dedup();
            Target::Processes(std::mem::take(&mut self.pid))
        };
        Ok(Whom::Target(target))
    }

    /// By what ticks are kept apart.
    pub(super) const fn split(&self) -> Split {
        if self.per_thread {
            Split::ByThread
        } else if self.per_process {
            Split::ByProcess
        } else {
            Split::Summed
        }
    }

    /// Whether the whole machine was asked for.
    pub(super) const fn is_all(&self) -> bool {
        self.all
    }
}

pub(super) fn parse_pid(text: &str) -> Result<Tgid, String> {
    let number = text
        .parse()
        .map_err(|_| "a process is named by its number".to_owned())?;
    Tgid::new(number).ok_or_else(|| format!("no process is numbered {number}"))
}
