//! Whom to profile, as typed and as meant.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use profil_user::{Selector, Split, Target, Tgid};

/// Whom to profile, of those who run.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetFlags {
    /// Process to profile, or several with commas between them; repeatable. Until Ctrl-C, the end of
    /// all, or --duration
    #[arg(short, long, value_name = "PID", value_parser = parse_pid, value_delimiter = ',',
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
}

/// Exactly one of these says whom.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhomFlags {
    #[command(flatten)]
    target: TargetFlags,

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

impl TargetFlags {
    /// In how many ways somebody is named.
    fn ways(&self) -> usize {
        let ways = [
            !self.pid.is_empty(),
            self.tid.is_some(),
            self.comm.is_some() || self.exe.is_some(),
            self.cgroup.is_some(),
            self.all,
        ];
        ways.iter().filter(|&&way| way).count()
    }

    /// Turns what was typed into what is meant; everybody, if nobody is named.
    pub(super) fn target(&mut self) -> Result<Target, String> {
        if self.ways() > 1 {
            return Err(
                "only one of --pid, --tid, --comm with --exe, --cgroup and --all can be given"
                    .to_owned(),
            );
        }
        Ok(self.only())
    }

    /// The one that is named.
    fn only(&mut self) -> Target {
        if let Some(tid) = self.tid {
            Target::Thread(tid)
        } else if let Some(cgroup) = self.cgroup.take() {
            Target::Cgroup(cgroup)
        } else if self.comm.is_some() || self.exe.is_some() {
            Target::Matching(Selector {
                comm: self.comm.take(),
                exe: self.exe.take(),
            })
        } else if self.pid.is_empty() {
            Target::Everything
        } else {
            // Twice the same is once.
            self.pid.sort_unstable();
            self.pid.dedup();
            Target::Processes(std::mem::take(&mut self.pid))
        }
    }
}

impl WhomFlags {
    /// In how many ways somebody is named.
    fn ways(&self) -> usize {
        self.target.ways() + usize::from(!self.command.is_empty())
    }

    /// Whether nobody is named.
    pub(super) fn is_empty(&self) -> bool {
        self.ways() == 0
    }

    /// Turns what was typed into what is meant.
    pub(super) fn whom(&mut self) -> Result<Whom, String> {
        match self.ways() {
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
        Ok(Whom::Target(self.target.only()))
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
        self.target.all
    }
}

pub(super) fn parse_pid(text: &str) -> Result<Tgid, String> {
    let number = text
        .parse()
        .map_err(|_| "a process is named by its number".to_owned())?;
    Tgid::new(number).ok_or_else(|| format!("no process is numbered {number}"))
}
