//! Whose tick is it, and do we want it?

use aya_ebpf::{
    bindings::bpf_pidns_info,
    helpers::{bpf_get_current_pid_tgid, generated::bpf_get_ns_current_pid_tgid},
};
use profil_common::Outcome;

use crate::settings;

/// Returns the process that the clock interrupted, or why its tick is not ours.
#[inline(always)]
pub fn wanted() -> Result<u32, Outcome> {
    let tgid = current_tgid()?;
    match settings::only_tgid() {
        // The clock follows the target's tasks: whatever ticks is wanted, children included.
        0 => Ok(tgid),
        only if only == tgid => Ok(tgid),
        _ if tgid == 0 => Err(Outcome::Idle),
        _ => Err(Outcome::Other),
    }
}

#[inline(always)]
fn current_tgid() -> Result<u32, Outcome> {
    if settings::pid_namespace_inode() == 0 {
        return Ok((bpf_get_current_pid_tgid() >> 32) as u32);
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
        0 => Ok(info.tgid),
        // A clock that follows a CPU meets every namespace; one that follows the target meets
        // another one only where a child made its own.
        _ if settings::only_tgid() != 0 => Err(Outcome::Other),
        _ => Err(Outcome::NoTgid),
    }
}
