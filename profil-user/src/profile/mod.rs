//! The profile: plain values. Everything before it produces one, everything after it reads one.
//!
//! Nothing here does I/O, and nothing here can fail: an address without a name is data.

mod balance;
mod buffer;
mod build_id;
mod chance;
mod object;
#[cfg(feature = "serve")]
mod since;
mod subject;
mod task;

use std::time::Duration;

use profil_common::Dialect;

pub use balance::Balance;
pub use buffer::Buffer;
pub use build_id::{BuildId, NoBuildId};
pub use chance::share_error;
pub use object::{ElfClass, Object, ObjectId, ObjectKind, Text, Unresolved};

pub use subject::Subject;
pub use task::{Task, TaskId};

use crate::options::Rate;

/// Ticks of a process, or of several, by object and link-time address.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Whom it is of.
    pub subject: Subject,
    /// The clock; of a jittered one, what it was on average.
    pub rate: Rate,
    /// Wall-clock time that the clock was on.
    pub elapsed: Duration,
    /// Everything that ticks fell in. [`Count::object`] is an index into it.
    pub objects: Vec<Object>,
    /// The ticks: sorted by object and address, each address once.
    pub counts: Vec<Count>,
    /// Those whose ticks are kept apart. Empty where none are.
    pub tasks: Vec<Task>,
    /// The same ticks once more, as far as it is known whose they are: sorted by task, object and
    /// address, each once. [`TaskId::index`] is an index into [`Profile::tasks`].
    pub by_task: Vec<(TaskId, Count)>,
    /// Where every run of the kernel program went.
    pub balance: Balance,
    /// The buffers of the regions that were asked for, in the order in which the dialect tries
    /// them. Empty where regions followed the mappings.
    pub buffers: Vec<Buffer>,
    /// What the reader of the numbers should know.
    pub notes: Vec<Note>,
}

/// Ticks at one address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Count {
    /// What the address lies in.
    pub object: ObjectId,
    /// Link-time address (ELF `p_vaddr`) of the lowest byte of the bin. In an object without a
    /// file, the address in the process.
    pub address: u64,
    /// Ticks while the process ran its own code here.
    pub user: u64,
    /// Ticks while the kernel worked for the process, which then went on here.
    pub system: u64,
}

impl Count {
    /// User and system ticks together: what `profil` counts.
    pub const fn ticks(&self) -> u64 {
        self.user + self.system
    }
}

/// Something the reader of the numbers should know.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Note {
    /// The memory budget made bins wider than two bytes of text.
    Coarsened {
        /// The object.
        object: ObjectId,
        /// Text bytes per bin.
        width: u64,
    },
    /// The process started another program while it was profiled.
    Exec {
        /// How long it can have taken to notice: ticks of the new program within that time may
        /// be charged to the old one.
        uncertain: Duration,
    },
    /// The process started another program, where the dialect ends.
    EndedByExec {
        /// The dialect.
        dialect: Dialect,
    },
    /// An object, or a part of it, was unmapped while it was profiled.
    Unmapped {
        /// The object.
        object: ObjectId,
        /// How long it can have taken to notice: ticks of what was mapped in its place within
        /// that time may be charged to it.
        uncertain: Duration,
    },
    /// Ticks of processes that the target started, which are in the profile too.
    Children {
        /// How many ticks.
        ticks: u64,
        /// Of how many processes.
        processes: usize,
    },
    /// Executable mappings that found no place in the table of regions: their ticks are strays.
    RegionsFull {
        /// How many mappings.
        left_out: usize,
    },
    /// What the profiler itself used, of the ticks of the machine.
    OwnCost {
        /// How many ticks.
        ticks: u64,
    },
    /// The kernel wrote down more about processes than we could read in time: what started or was
    /// mapped then may be unknown.
    SideBandLost {
        /// How many records.
        records: u64,
    },
    /// What processes map and start is only looked at now and then.
    NoSideBand {
        /// What was tried and what the kernel said.
        reason: String,
    },
    /// The addresses of the kernel's functions cannot be read.
    NoKernelSymbols {
        /// Why, and what to do.
        reason: String,
    },
    /// The process used CPU time while the clock was not on it: the kernel takes the clock away
    /// when a process starts a program with other privileges (set-user-ID).
    Unseen {
        /// How much, in nanoseconds.
        used_ns: u64,
    },
    /// Ticks of processes in another PID namespace than ours, which the kernel will not number
    /// for us.
    OtherNamespace {
        /// How many ticks.
        ticks: u64,
    },
    /// A clock that follows threads saw far fewer ticks than were due.
    ShortOfTaskTicks,
    /// A clock that follows CPUs saw far fewer or more ticks than were due.
    OffCpuTicks,
    /// The clock was jittered. [`Profile::rate`] is what that gave on average.
    Jittered {
        /// The rate that was asked for.
        asked: Rate,
    },
    /// The clock followed CPUs, because the threads could not each have one.
    CpuClock,
    /// The mappings of the target could not be read, so that nothing has a name.
    NoMappings {
        /// What the kernel said.
        reason: String,
    },
    /// Further objects whose files could not be read.
    MoreUnreadable {
        /// How many.
        objects: usize,
    },
    /// An object's file could not be read.
    Unreadable {
        /// The object.
        object: ObjectId,
        /// What was tried and what the kernel said.
        reason: String,
    },
}

impl Profile {
    /// All ticks in the profile.
    pub fn ticks(&self) -> u64 {
        self.counts.iter().map(Count::ticks).sum()
    }

    /// The ticks of a task that are kept apart; of [`TaskId::ALL`], those of which it is not known
    /// whose they are.
    pub fn ticks_of(&self, task: TaskId) -> u64 {
        let of_task = self.by_task.iter().filter(|(one, _)| *one == task);
        of_task.map(|(_, count)| count.ticks()).sum()
    }

    /// The object with this number.
    ///
    /// # Panics
    ///
    /// If the number is not from this profile.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    /// The counts of one object, by address.
    pub fn counts_in(&self, id: ObjectId) -> &[Count] {
        counts_in(&self.counts, id)
    }

    /// The executable that the process was started from, if it was found.
    pub fn main_object(&self) -> Option<ObjectId> {
        self.objects
            .iter()
            .position(|object| object.is_main)
            .map(ObjectId::new)
    }
}

/// Those of some counts, sorted by object, that are in one object.
pub(crate) fn counts_in(counts: &[Count], id: ObjectId) -> &[Count] {
    let start = counts.partition_point(|count| count.object < id);
    let end = counts.partition_point(|count| count.object <= id);
    &counts[start..end]
}
