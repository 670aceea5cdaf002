//! What a machine is, and what it allows: facts, read once and judged elsewhere. None of them names the
//! machine, its users or a place of theirs.

use std::{fs, path::Path};

use rustix::process::{Resource, getrlimit};

use crate::kernel::{
    PidNamespace, effective_capabilities, last_capability, max_sample_rate, paranoid,
};

/// A soft and a hard limit (getrlimit(2)); `None` is no limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limit {
    /// What holds now.
    pub soft: Option<u64>,
    /// How far we may raise it.
    pub hard: Option<u64>,
}

/// The facts. `None` is what the machine does not tell us.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Machine {
    /// The kernel's release, as uname(2) has it.
    pub release: String,
    /// The architecture, likewise.
    pub architecture: String,
    /// `PRETTY_NAME` of os-release(5).
    pub distribution: Option<String>,
    /// CPUs that we may run on.
    pub cpus: Option<usize>,
    /// Our effective user id.
    pub user: u32,
    /// Our effective capabilities, a bit each (capabilities(7)).
    pub effective: Option<u64>,
    /// The highest capability that the kernel knows.
    pub last_capability: Option<u32>,
    /// `kernel.perf_event_paranoid`
    pub paranoid: Option<i32>,
    /// `kernel.perf_event_max_sample_rate`, in hertz.
    pub max_rate: Option<u32>,
    /// `kernel.perf_event_mlock_kb`: for the rings of perf events, a CPU, in KiB.
    pub mlock_kb: Option<i64>,
    /// `kernel.kptr_restrict`
    pub kptr_restrict: Option<i64>,
    /// `kernel.unprivileged_bpf_disabled`
    pub unprivileged_bpf_disabled: Option<i64>,
    /// `net.core.bpf_jit_enable`; only root may read it.
    pub bpf_jit: Option<i64>,
    /// `RLIMIT_MEMLOCK`, in bytes.
    pub memlock: Limit,
    /// `RLIMIT_NOFILE`
    pub files: Limit,
    /// Whether `/proc/kallsyms` has addresses for us.
    pub kernel_addresses: Option<bool>,
    /// The level of kernel_lockdown(7).
    pub lockdown: Option<String>,
    /// Whether a filter looks at our system calls: `Seccomp:` in proc_pid_status(5).
    pub seccomp: Option<u32>,
    /// The kind of container that we seem to be in.
    pub container: Option<String>,
    /// Whether processes have the numbers here that the kernel knows them by.
    pub initial_pid_namespace: Option<bool>,
    /// Whether control groups of version 2 are mounted.
    pub cgroup2: bool,
    /// Whether those of version 1 are that have the controller `perf_event`.
    pub cgroup1_perf_event: bool,
}

impl Machine {
    /// Reads all facts. To be called before limits are raised.
    pub(super) fn read() -> Self {
        let kernel = rustix::system::uname();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self {
            release: kernel.release().to_string_lossy().into_owned(),
            architecture: kernel.machine().to_string_lossy().into_owned(),
            distribution: ["/etc/os-release", "/usr/lib/os-release"]
                .iter()
                .find_map(|path| pretty_name(&fs::read_to_string(path).ok()?)),
            cpus: std::thread::available_parallelism().ok().map(Into::into),
            user: rustix::process::geteuid().as_raw(),
            effective: effective_capabilities(),
            last_capability: last_capability(),
            paranoid: paranoid(),
            max_rate: max_sample_rate(),
            mlock_kb: sysctl("kernel/perf_event_mlock_kb"),
            kptr_restrict: sysctl("kernel/kptr_restrict"),
            unprivileged_bpf_disabled: sysctl("kernel/unprivileged_bpf_disabled"),
            bpf_jit: sysctl("net/core/bpf_jit_enable"),
            memlock: limit(Resource::Memlock),
            files: limit(Resource::Nofile),
            kernel_addresses: kernel_addresses(),
            lockdown: fs::read_to_string("/sys/kernel/security/lockdown")
                .ok()
                .and_then(|text| chosen(&text)),
            seccomp: field(&status, "Seccomp:"),
            container: container(),
            initial_pid_namespace: PidNamespace::own().ok().map(PidNamespace::is_initial),
            cgroup2: mounted(&mounts, "cgroup2", None),
            cgroup1_perf_event: mounted(&mounts, "cgroup", Some("perf_event")),
        }
    }
}

fn sysctl(name: &str) -> Option<i64> {
    let text = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    text.trim().parse().ok()
}

fn limit(resource: Resource) -> Limit {
    let limit = getrlimit(resource);
    Limit {
        soft: limit.current,
        hard: limit.maximum,
    }
}

/// Whoever may not see addresses sees zeros.
fn kernel_addresses() -> Option<bool> {
    use std::io::{BufRead as _, BufReader};

    let file = fs::File::open("/proc/kallsyms").ok()?;
    let mut first = String::new();
    BufReader::new(file).read_line(&mut first).ok()?;
    let (address, _) = first.split_once(' ')?;
    Some(address.bytes().any(|digit| digit != b'0'))
}

/// What container managers leave for those inside.
fn container() -> Option<String> {
    let kind = fs::read_to_string("/run/systemd/container").ok();
    let kind = kind.map(|kind| kind.trim().to_owned());
    kind.filter(|kind| !kind.is_empty()).or_else(|| {
        [
            ("/.dockerenv", "docker"),
            ("/run/.containerenv", "podman"),
            ("/var/run/secrets/kubernetes.io", "kubernetes"),
        ]
        .into_iter()
        .find(|(path, _)| Path::new(path).exists())
        .map(|(_, kind)| kind.to_owned())
    })
}

/// A value of os-release(5), which is shell: quoted or not.
fn pretty_name(os_release: &str) -> Option<String> {
    let mut lines = os_release.lines();
    let value = lines.find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let value = value.trim();
    let unquoted = ['"', '\'']
        .iter()
        .find_map(|&quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some(unquoted.unwrap_or(value).replace('\\', ""))
}

/// The word in brackets, of those that could be chosen.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

/// A number in proc_pid_status(5).
fn field(status: &str, name: &str) -> Option<u32> {
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix(name))?;
    value.trim().parse().ok()
}

/// Whether a file system of this kind, with this option, is in the text of proc_pid_mountinfo(5).
fn mounted(mountinfo: &str, kind: &str, option: Option<&str>) -> bool {
    mountinfo.lines().any(|line| {
        // A field of blanks alone would be escaped.
        let Some((_, rest)) = line.split_once(" - ") else {
            return false;
        };
        let mut fields = rest.split(' ');
        let is_kind = fields.next() == Some(kind);
        let options = fields.nth(1).unwrap_or_default();
        is_kind && option.is_none_or(|option| options.split(',').any(|found| found == option))
    })
}

#[cfg(test)]
mod tests {
    use super::{Machine, chosen, field, mounted, pretty_name};

    #[test]
    fn the_name_of_a_distribution_is_shell() {
        let text = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(
            pretty_name(text).as_deref(),
            Some("Debian GNU/Linux 12 (bookworm)")
        );
        assert_eq!(
            pretty_name("PRETTY_NAME='A \\$1'\n").as_deref(),
            Some("A $1")
        );
        assert_eq!(pretty_name("PRETTY_NAME=Void\n").as_deref(), Some("Void"));
        assert_eq!(pretty_name("NAME=x\n"), None);
    }

    #[test]
    fn what_is_chosen_is_in_brackets() {
        let text = "none [integrity] confidentiality\n";
        assert_eq!(chosen(text).as_deref(), Some("integrity"));
        assert_eq!(chosen("none"), None);
        assert_eq!(field("Name:\tx\nSeccomp:\t2\n", "Seccomp:"), Some(2));
        assert_eq!(field("Seccomp_filters:\t2\n", "Seccomp:"), None);
    }

    #[test]
    fn control_groups_are_where_they_are_mounted() {
        let both = "\
31 24 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
36 24 0:32 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event
";
        assert!(mounted(both, "cgroup2", None));
        assert!(mounted(both, "cgroup", Some("perf_event")));
        assert!(!mounted(both, "cgroup", Some("perf")));
        assert!(!mounted("", "cgroup2", None));
    }

    /// Of this machine, what every machine has.
    #[test]
    fn this_machine_tells() {
        let machine = Machine::read();
        assert!(!machine.release.is_empty() && !machine.architecture.is_empty());
        assert!(machine.effective.is_some() && machine.last_capability.is_some());
        assert!(machine.max_rate.is_some() && machine.kptr_restrict.is_some());
        assert!(machine.kernel_addresses.is_some() && machine.cpus.is_some());
    }
}
