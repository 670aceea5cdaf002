//! Giving up what is not needed any more (capabilities(7)): a thread's sets are its own, and what it starts
//! begins with them.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use crate::kernel::paranoid;

/// What reading counters, looking at processes and reading names takes, and what each is for.
const NEEDED: [CapabilitySet; 6] = [
    // Maps, programs and links.
    CapabilitySet::BPF,
    // Perf events.
    CapabilitySet::PERFMON,
    // /proc/PID/exe, map_files and root of other users' processes.
    CapabilitySet::SYS_PTRACE,
    // Files of other users.
    CapabilitySet::DAC_READ_SEARCH,
    // The kernel's own symbols.
    CapabilitySet::SYSLOG,
    // /proc/PID/map_files.
    CapabilitySet::CHECKPOINT_RESTORE,
];

/// Keeps what the daemon needs, in this thread and those that it starts from now on, and nothing else.
///
/// # Errors
///
/// If the kernel refuses; then everything is as it was.
pub(crate) fn keep_needed() -> std::io::Result<()> {
    let mut needed = NEEDED
        .into_iter()
        .fold(CapabilitySet::empty(), |set, one| set | one);
    // Before Linux 5.8 the small ones are all in the great one; and kernels of Debian and its relatives want that
    // for perf events, whatever else one has, where the administrator has set more than there is to set elsewhere.
    const USUAL: i32 = 2;
    let is_new = capabilities(None)?.permitted.contains(CapabilitySet::BPF);
    let wants_more = paranoid().is_some_and(|paranoid| paranoid > USUAL);
    if !is_new || wants_more {
        needed |= CapabilitySet::SYS_ADMIN;
    }
    set_no_new_privs(true)?;
    keep(needed)
}

/// Keeps nothing, in this thread and those that it starts from now on.
///
/// # Errors
///
/// If the kernel refuses; then everything is as it was.
pub(crate) fn keep_none() -> std::io::Result<()> {
    keep(CapabilitySet::empty())
}

fn keep(wanted: CapabilitySet) -> std::io::Result<()> {
    let now = capabilities(None)?;
    // Only who may change the bounding set can; who may not has no way to gain anything either.
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for one in CapabilitySet::all()
            .iter()
            .filter(|&one| !wanted.contains(one))
        {
            // A kernel does not know those that are younger.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    let sets = CapabilitySets {
        effective: now.effective & wanted,
        permitted: now.permitted & wanted,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CapabilitySet, capabilities};

    use super::{keep_needed, keep_none};

    #[test]
    fn what_is_given_up_is_gone_for_this_thread_alone() {
        let before = capabilities(None).unwrap();
        std::thread::spawn(move || {
            keep_needed().unwrap();
            let kept = capabilities(None).unwrap();
            assert!(!kept.permitted.contains(CapabilitySet::SYS_MODULE));
            let needed = CapabilitySet::BPF & before.permitted;
            assert!(kept.effective.contains(needed));
            keep_none().unwrap();
            assert!(capabilities(None).unwrap().permitted.is_empty());
        })
        .join()
        .unwrap();
        assert_eq!(capabilities(None).unwrap(), before);
    }
}
