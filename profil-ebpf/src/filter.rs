//! Whose tick is it, and do we want it?

use aya_ebpf::{
    bindings::bpf_pidns_info,
    helpers::{bpf_get_current_pid_tgid, generated::bpf_get_ns_current_pid_tgid},
};
use profil_common::{Outcome, Settings};

use crate::settings;

/// Whose tick it is.
#[derive(Clone, Copy)]
pub struct Owner {
    /// The process.
    pub tgid: u32,
    /// What its strays are told apart by: the process again, or its thread.
    pub task: u32,
}

impl Owner {
    /// Both numbers as one.
    #[inline(always)]
    pub fn to_number(self) -> u64 {
        u64::from(self.tgid) << 32 | u64::from(self.task)
    }

    /// The inverse of [`Owner::to_number`].
    #[inline(always)]
    pub fn from_number(number: u64) -> Self {
        Self {
            tgid: (number >> 32) as u32,
            task: number as u32,
        }
    }
}

/// Returns whom the clock interrupted, or why its tick is not ours.
#[inline(always)]
pub fn wanted() -> Result<Owner, Outcome> {
    let global = bpf_get_current_pid_tgid();
    // The idle task of every CPU has number 0 in every namespace. Only a clock that follows CPUs
    // meets it.
    if global == 0 {
        return Err(Outcome::Idle);
    }
    let owner = owner(global)?;
    match settings::only_tgid() {
        // The clock follows the target's tasks, or everybody's ticks are wanted.
        0 => Ok(owner),
        only if only == owner.tgid => Ok(owner),
        _ => Err(Outcome::Other),
    }
}

/// The current task by its numbers here; `global` are those of the initial namespace.
#[inline(always)]
fn owner(global: u64) -> Result<Owner, Outcome> {
    if settings::pid_namespace_inode() == 0 {
        return Ok(Owner {
            tgid: (global >> 32) as u32,
            task: (global >> settings::task_shift()) as u32,
        });
    }
    let mut info = bpf_pidns_info { pid: 0, tgid: 0 };
    // SAFETY: the helper writes exactly the size that it is given.
    let status = unsafe {
        bpf_get_ns_current_pid_tgid(
            settings::pid_namespace_device(),
            settings::pid_namespace_inode(),
            &raw mut info,
            size_of::<bpf_pidns_info>() as u32,
        )
    };
    match status {
        0 if settings::task_shift() == Settings::BY_THREAD => Ok(Owner {
            tgid: info.tgid,
            task: info.pid,
        }),
        0 => Ok(Owner {
            tgid: info.tgid,
            task: info.tgid,
        }),
        // A clock that follows a CPU meets every namespace; one that follows the target meets
        // another one only where a child made its own.
        _ if settings::only_tgid() != 0 => Err(Outcome::Other),
        _ => Err(Outcome::NoTgid),
    }
}
