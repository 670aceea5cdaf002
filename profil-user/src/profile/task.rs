//! Whose ticks they are, where that is kept apart.

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
#[derive(Clone, Debug, Eq, PartialEq)]
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
