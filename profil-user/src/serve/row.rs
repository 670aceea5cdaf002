//! What ticked, a row for each place: what the parts of the daemon hand to each other.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::profile::BuildId;

/// What ticked in a span of time.
#[derive(Clone, Debug)]
pub struct Window {
    /// When it began.
    pub began: SystemTime,
    /// How long it was.
    pub elapsed: Duration,
    /// CPU time that a tick is worth, in nanoseconds.
    pub period_ns: u64,
    /// What ticked: each process and address once, in no order.
    pub rows: Vec<Row>,
}

/// Ticks of one process at one address.
#[derive(Clone, Debug)]
pub struct Row {
    /// Whose.
    pub process: Arc<ProcessLabel>,
    /// In which function.
    pub spot: Arc<Spot>,
    /// Link-time address of the bin.
    pub address: u64,
    /// Ticks in user mode.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
}

impl Row {
    /// Ticks in either mode.
    pub const fn ticks(&self) -> u64 {
        self.user + self.system
    }
}

/// Whose ticks they are. All texts are others' and untrusted: escape them before display.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ProcessLabel {
    /// The process.
    pub tgid: u32,
    /// The kernel's 15-byte name of it.
    pub name: Arc<str>,
    /// Its cgroup, from the root of the hierarchy: `/system.slice/nginx.service`. Empty where that is not
    /// known.
    pub cgroup: Arc<str>,
    /// The container that the cgroup is of, if its name says so.
    pub container: Option<Arc<str>>,
}

/// What an address lies in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Spot {
    /// The object.
    pub object: Arc<ObjectLabel>,
    /// The function, demangled; or, in brackets, why there is no name. Untrusted.
    pub function: Arc<str>,
    /// Link-time address of the function's first byte; `None` where there is no name.
    pub start: Option<u64>,
}

/// An object.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ObjectLabel {
    /// The last part of its path, or a word in brackets (`[kernel]`, `[vdso]`). Untrusted.
    pub name: Arc<str>,
    /// Its path as the process sees it; empty for what has no file. Untrusted.
    pub path: Arc<str>,
    /// Which build it is.
    pub build_id: Option<BuildId>,
}

/// Adds up rows of one address and process, so that a long profile takes no more memory than its places.
pub(super) fn merge(rows: &mut Vec<Row>) {
    let key = |row: &Row| {
        let spot = &row.spot;
        (row.process.tgid, Arc::as_ptr(spot).addr(), row.address)
    };
    rows.sort_by_key(key);
    rows.dedup_by(|later, first| {
        let same = key(later) == key(first) && later.process == first.process;
        if same {
            first.user += later.user;
            first.system += later.system;
        }
        same
    });
}
