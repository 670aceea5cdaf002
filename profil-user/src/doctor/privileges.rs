//! What we may, and how to be allowed more.

use super::{Finding, Machine, PROGRAM, Verdict};
use crate::{
    error::get_privileges,
    kernel::{Missing, missing_from},
};

/// Capabilities that are not in [`Missing`], by their numbers (capabilities(7)).
pub(super) const IPC_LOCK: u32 = 14;
pub(super) const SYS_PTRACE: u32 = 19;
pub(super) const SYS_ADMIN: u32 = 21;
pub(super) const SYS_RESOURCE: u32 = 24;
pub(super) const SYSLOG: u32 = 34;

impl Machine {
    pub(super) fn has(&self, capability: u32) -> bool {
        self.effective.unwrap_or(0) >> capability & 1 == 1
    }

    /// What we lack of what a profile takes; nothing, if the kernel does not tell.
    pub fn missing(&self) -> Vec<Missing> {
        match (self.effective, self.last_capability) {
            (Some(effective), Some(last)) => missing_from(effective, last),
            _ => Vec::new(),
        }
    }
}

pub(super) fn privileges(machine: &Machine) -> Vec<Finding> {
    const SECTION: &str = "privileges";
    let missing = machine.missing();
    let set_also =
        |more: &str| format!("sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace{more}+ep {PROGRAM}");
    let needed = Finding::good(SECTION, "to load and attach", "enough");
    let needed = if machine.effective.is_none() {
        needed.but(Verdict::Unknown, "the kernel does not say what we have")
    } else if missing.is_empty() {
        needed.remark(if machine.has(SYS_ADMIN) {
            "CAP_SYS_ADMIN"
        } else {
            "CAP_BPF and CAP_PERFMON"
        })
    } else {
        let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
        Finding {
            value: format!("{} missing", names.join(" and ")),
            verdict: Verdict::Missing,
            mend: Some(get_privileges(&missing, PROGRAM)),
            ..needed
        }
    };
    let names = if machine.has(SYS_PTRACE) {
        Finding::good(SECTION, "CAP_SYS_PTRACE", "yes")
    } else {
        let found = Finding::good(SECTION, "CAP_SYS_PTRACE", "no").but(
            Verdict::Otherwise,
            "other users' processes are counted, and their code has no names",
        );
        // Who lacks more has been told all at once.
        if missing.is_empty() {
            found.mend(set_also(""))
        } else {
            found
        }
    };
    const WHAT: &str = "addresses of the kernel";
    let restrict = machine.kptr_restrict.unwrap_or(0);
    let shown = match machine.kernel_addresses {
        Some(true) => Finding::good(SECTION, WHAT, "shown"),
        None => Finding::good(SECTION, WHAT, "not told").but(
            Verdict::Unknown,
            "there is no /proc/kallsyms, so the kernel's functions have no names",
        ),
        Some(false) => {
            let value = format!("hidden (kernel.kptr_restrict is {restrict})");
            let mut mend = Vec::new();
            if restrict > 1 {
                mend.push("sudo sysctl kernel.kptr_restrict=1".to_owned());
            }
            if !machine.has(SYSLOG) {
                mend.push(set_also(",cap_syslog"));
            }
            Finding::good(SECTION, WHAT, value)
                .but(
                    Verdict::Otherwise,
                    "--mode kernel and split have no names for the kernel's functions",
                )
                .mend(mend.join(" && "))
        }
    };
    let user = Finding::good(SECTION, "user id", machine.user);
    vec![user, needed, names, shown]
}
