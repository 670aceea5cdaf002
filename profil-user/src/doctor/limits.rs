//! Limits that an administrator sets, or that a process inherits.

use std::fmt::Display;

use super::{
    Finding, Limit, Machine, Verdict,
    privileges::{IPC_LOCK, SYS_ADMIN, SYS_RESOURCE},
};
use crate::{kernel::Presence, options::Rate};

pub(super) fn limits(machine: &Machine, works: bool, free_maps: Presence) -> Vec<Finding> {
    vec![
        paranoid(machine, works),
        max_rate(machine),
        rings(machine),
        locked_memory(machine, free_maps),
        descriptors(machine),
        unprivileged_bpf(machine),
        jit(machine),
    ]
}

const LIMITS: &str = "limits";

/// A value that a kernel may lack, or not show.
fn or_not_told(what: &str, value: Option<impl Display>) -> Finding {
    match value {
        Some(value) => Finding::good(LIMITS, what, value),
        None => Finding::good(LIMITS, what, "not told").judged(Verdict::Unknown),
    }
}

fn paranoid(machine: &Machine, works: bool) -> Finding {
    let found = or_not_told("kernel.perf_event_paranoid", machine.paranoid);
    match machine.paranoid {
        Some(3..) if !works && !machine.has(SYS_ADMIN) => found
            .but(
                // Else it is not known whether the kernel would want more.
                if machine.missing().is_empty() {
                    Verdict::Missing
                } else {
                    Verdict::Unknown
                },
                "kernels of some distributions then want CAP_SYS_ADMIN",
            )
            .mend("sudo sysctl kernel.perf_event_paranoid=2"),
        _ => found,
    }
}

fn max_rate(machine: &Machine) -> Finding {
    let value = machine.max_rate.map(|hertz| format!("{hertz} Hz"));
    let found = or_not_told("kernel.perf_event_max_sample_rate", value);
    match machine.max_rate {
        Some(limit) if limit < Rate::DEFAULT.asked() => found
            .but(
                Verdict::Otherwise,
                format!("--rate {limit} at most, which is below our default"),
            )
            .mend("sudo sysctl kernel.perf_event_max_sample_rate=100000"),
        _ => found,
    }
}

/// KiB that the rings of the side-band take on each CPU: 64 pages of records and one more.
const RING_KB: i64 = 260;

fn rings(machine: &Machine) -> Finding {
    let value = machine.mlock_kb.map(|kb| format!("{kb} KiB a CPU"));
    let found = or_not_told("kernel.perf_event_mlock_kb", value);
    match machine.mlock_kb {
        Some(kb) if kb < RING_KB && !machine.has(IPC_LOCK) => found
            .but(
                Verdict::Otherwise,
                "smaller rings for what processes map and start",
            )
            .mend("sudo sysctl kernel.perf_event_mlock_kb=516"),
        _ => found,
    }
}

/// A limit, and how far we may raise it.
fn range(limit: Limit) -> String {
    let shown =
        |value: Option<u64>| value.map_or("unlimited".to_owned(), |value| value.to_string());
    if limit.soft == limit.hard {
        shown(limit.soft)
    } else {
        format!("{}, up to {}", shown(limit.soft), shown(limit.hard))
    }
}

fn locked_memory(machine: &Machine, free_maps: Presence) -> Finding {
    /// What counters and strays take by default, and some more.
    const WANTED: u64 = 128 << 20;
    let found = Finding::good(LIMITS, "RLIMIT_MEMLOCK", range(machine.memlock));
    let may_raise = machine.has(SYS_RESOURCE);
    match free_maps {
        Presence::Present => found.remark("BPF maps do not count against it here"),
        Presence::Unknown => found.remark("BPF maps count against it before Linux 5.11"),
        Presence::Absent if may_raise => found.remark("we raise it"),
        Presence::Absent if machine.memlock.hard.is_none_or(|hard| hard >= WANTED) => {
            found.remark("BPF maps count against it here")
        }
        Presence::Absent => found
            .but(
                Verdict::Otherwise,
                "BPF maps count against it: less with --memory and --strays",
            )
            .mend("run it with sudo, or as root once: ulimit -l unlimited"),
    }
}

fn descriptors(machine: &Machine) -> Finding {
    const MANY: u64 = 4096;
    let found = Finding::good(LIMITS, "RLIMIT_NOFILE", range(machine.files));
    match machine.files.hard {
        Some(hard) if hard < MANY => found
            .but(
                Verdict::Otherwise,
                "targets with more threads than that are followed by a clock on each CPU",
            )
            .mend("sudo prlimit --pid $$ --nofile=65536"),
        _ => found.remark("a descriptor for each thread, four with --jitter"),
    }
}

fn unprivileged_bpf(machine: &Machine) -> Finding {
    or_not_told(
        "kernel.unprivileged_bpf_disabled",
        machine.unprivileged_bpf_disabled,
    )
    .remark("we need CAP_BPF in any case")
}

fn jit(machine: &Machine) -> Finding {
    let found = or_not_told("net.core.bpf_jit_enable", machine.bpf_jit);
    match machine.bpf_jit {
        None => found.remark("only root may read it"),
        Some(0) => found
            .but(
                Verdict::Otherwise,
                "the kernel interprets the BPF program, and ticks cost more",
            )
            .mend("sudo sysctl net.core.bpf_jit_enable=1"),
        Some(_) => found,
    }
}
