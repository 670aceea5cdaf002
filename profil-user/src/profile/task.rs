//! Whose ticks they are, where that is kept apart.

use std::fmt;

/// The number of a task in its profile, or all of them together.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TaskId(usize);

impl TaskId {
    /// All tasks together: where ticks are not kept apart.
    pub const ALL: Self = Self(0);

    /// The task that is the `number`th, from 1.
    pub(crate) const fn new(number: usize) -> Self {
        Self(number)
    }

    /// Its index in [`Profile::tasks`](super::Profile::tasks), if it is one of them.
    pub const fn index(self) -> Option<usize> {
        self.0.checked_sub(1)
    }
}

/// A process, or a thread of one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Task {
    /// The process.
    pub tgid: u32,
    /// The thread, where threads are kept apart.
    pub tid: Option<u32>,
    /// What it was called last: the kernel's 15-byte name. Untrusted: escape it before display.
    pub name: String,
    /// Its number in its own PID namespace, if that is another than ours.
    pub inner: Option<u32>,
}

/// The name is untrusted: escape the text before display.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}", self.tgid)?;
        if let Some(tid) = self.tid {
            write!(f, ", tid {tid}")?;
        }
        write!(f, " ({})", self.name)?;
        match self.inner {
            Some(inner) => write!(f, ", {inner} in its own PID namespace"),
            None => Ok(()),
        }
    }
}
