//! Whom a profile is of.

use std::{fmt, path::PathBuf};

use crate::options::{Selector, Tgid};

/// Whom a profile is of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Subject {
    /// Processes, each with the kernel's 15-byte name of it.
    Processes(Vec<(Tgid, String)>),
    /// A thread, and its name.
    Thread(Tgid, String),
    /// A process that was started to be profiled.
    Command(Tgid, String),
    /// The processes of a cgroup, by its path.
    Cgroup(PathBuf),
    /// Processes by name or program.
    Matching(Selector),
    /// The whole machine.
    Everything,
}

impl Subject {
    /// Whether it began as one program, whose executable is known.
    pub const fn is_of_one_program(&self) -> bool {
        matches!(
            self,
            Self::Processes(_) | Self::Thread(..) | Self::Command(..)
        )
    }
}

/// Names are untrusted: escape the text before display.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes(processes) => match &processes[..] {
                [(tgid, name)] => write!(f, "pid {tgid} ({name})"),
                several => {
                    f.write_str("pids")?;
                    let mut comma = "";
                    several.iter().try_for_each(|(tgid, name)| {
                        write!(f, "{comma} {tgid} ({name})")?;
                        comma = ",";
                        Ok(())
                    })
                }
            },
            Self::Thread(tid, name) => write!(f, "tid {tid} ({name})"),
            Self::Command(tgid, name) => write!(f, "command {name} (pid {tgid})"),
            Self::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Self::Matching(selector) => {
                f.write_str("processes")?;
                if let Some(comm) = &selector.comm {
                    write!(f, " called {comm}")?;
                }
                if let Some(exe) = &selector.exe {
                    write!(f, " of {}", exe.display())?;
                }
                Ok(())
            }
            Self::Everything => f.write_str("all processes"),
        }
    }
}
