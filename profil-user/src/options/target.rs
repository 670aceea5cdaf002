//! Whom to profile.

use std::path::PathBuf;

use super::Tgid;

/// Whom to profile.
#[derive(Clone, Debug)]
pub enum Target {
    /// Processes that run, at least one, and what they start.
    Processes(Vec<Tgid>),
    /// A thread alone, by its number.
    Thread(Tgid),
    /// A process that waits to become a command, from the command's first instruction to its end,
    /// and what it starts.
    Command(Tgid),
    /// The processes of a cgroup and of those below it, whenever they start: its directory, its path
    /// in the hierarchy, or the beginning of a container's id.
    Cgroup(PathBuf),
    /// All processes that are chosen by their name or program, whenever they start.
    Matching(Selector),
    /// All processes of the machine, and the kernel's own.
    Everything,
}

/// Which processes are wanted: those that meet every condition that is given.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Selector {
    /// Pattern of the shell's for the kernel's 15-byte name of a process (`*`, `?`, `[a-z]`).
    pub comm: Option<String>,
    /// The program that it runs.
    pub exe: Option<PathBuf>,
}

/// By what the ticks of several processes are kept apart.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Split {
    /// Nothing: they are added up, by object.
    #[default]
    Summed,
    /// By process.
    ByProcess,
    /// By thread.
    ByThread,
}

impl Target {
    /// Whether the clock has to tick for everybody, because who is wanted is known only afterwards.
    pub(crate) const fn is_whole_machine(&self) -> bool {
        matches!(self, Self::Matching(_) | Self::Everything)
    }
}

impl From<Tgid> for Target {
    fn from(tgid: Tgid) -> Self {
        Self::Processes(vec![tgid])
    }
}
