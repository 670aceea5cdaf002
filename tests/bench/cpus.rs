//! The busy process gets a CPU of its own; the profilers and this program get the others.

use std::fmt;

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Which CPUs are for whom. Undivided if there is only one.
#[derive(Debug)]
pub(crate) struct Cpus {
    busy: Option<usize>,
}

impl Cpus {
    /// Sets the last CPU aside, and moves this thread and all that it starts to the others.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub(crate) fn divide() -> Self {
        let mut allowed =
            sched_getaffinity(None).unwrap_or_else(|error| panic!("no CPUs: {error}"));
        let last = (0..CpuSet::MAX_CPU)
            .rev()
            .find(|&cpu| allowed.is_set(cpu))
            .expect("this runs on some CPU");
        if allowed.count() < 2 {
            return Self { busy: None };
        }
        allowed.unset(last);
        pin(None, &allowed);
        Self { busy: Some(last) }
    }

    /// Moves a process of one thread to the CPU that is set aside.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub(crate) fn set_aside(&self, pid: u32) {
        let Some(busy) = self.busy else {
            return;
        };
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let mut set = CpuSet::new();
        set.set(busy);
        pin(Some(pid.expect("a child has a positive pid")), &set);
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.busy {
            Some(busy) => write!(
                f,
                "the busy process was alone on CPU {busy}, as far as this program decides it; the \
                 profilers ran on the others"
            ),
            None => f.write_str("one CPU: the profilers shared it with the busy process"),
        }
    }
}

fn pin(pid: Option<Pid>, cpus: &CpuSet) {
    sched_setaffinity(pid, cpus).unwrap_or_else(|error| panic!("cannot choose the CPU: {error}"));
}
