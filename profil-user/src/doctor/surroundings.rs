//! What surrounds a process, and may stand between it and the kernel.

use super::{Finding, Machine, Verdict};

/// What may stand between us and the kernel.
pub(super) fn surroundings(machine: &Machine, works: bool) -> Vec<Finding> {
    const SECTION: &str = "surroundings";
    // Whatever is there, it is not in the way.
    let in_the_way = |found: Finding| {
        if works {
            return found;
        }
        found
            .but(
                Verdict::Unknown,
                "it may forbid bpf(2) and perf_event_open(2)",
            )
            .mend(
                "start the container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE \
                 --security-opt seccomp=unconfined",
            )
    };
    let container = match &machine.container {
        None => Finding::good(SECTION, "container", "none seen"),
        Some(kind) => in_the_way(Finding::good(SECTION, "container", kind)),
    };
    let seccomp = match machine.seccomp {
        Some(0) => Finding::good(SECTION, "seccomp", "no filter"),
        Some(_) => in_the_way(Finding::good(SECTION, "seccomp", "a filter")),
        None => Finding::good(SECTION, "seccomp", "not told"),
    };
    let lockdown = match machine.lockdown.as_deref() {
        None => Finding::good(SECTION, "lockdown", "none, or not told"),
        Some("confidentiality") if !works => Finding::good(SECTION, "lockdown", "confidentiality")
            .but(
                Verdict::Unknown,
                "it forbids BPF to read the kernel's memory",
            )
            .mend("boot without lockdown=confidentiality"),
        Some(level) => Finding::good(SECTION, "lockdown", level),
    };
    let numbers = match machine.initial_pid_namespace {
        Some(true) => Finding::good(SECTION, "process numbers", "those of the kernel"),
        Some(false) => Finding::good(SECTION, "process numbers", "those of a PID namespace")
            .but(Verdict::Otherwise, "translated at every tick"),
        None => Finding::good(SECTION, "process numbers", "unknown")
            .but(Verdict::Missing, "/proc is not that of this PID namespace")
            .mend("mount -t proc proc /proc"),
    };
    let value = match (machine.cgroup2, machine.cgroup1_perf_event) {
        (true, true) => "version 2, and perf_event of version 1",
        (true, false) => "version 2",
        (false, true) => "perf_event of version 1",
        (false, false) => "none",
    };
    let groups = Finding::good(SECTION, "control groups", value);
    let groups = if machine.cgroup2 || machine.cgroup1_perf_event {
        groups
    } else {
        groups
            .but(
                Verdict::Otherwise,
                "--cgroup finds none; --pid and --comm do",
            )
            .mend("sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup")
    };
    let spared = Finding::good(
        SECTION,
        "not needed",
        "tracefs, debugfs, bpffs, ptrace, kernel headers",
    );
    vec![container, seccomp, lockdown, numbers, groups, spared]
}
