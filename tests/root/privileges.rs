//! With fewer privileges than root: what is needed, and what each one adds.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use profil_tests::{
    Profiler, Target, Workload, claim_machine, places, require_programs,
    session::{self, RATE, Session, window},
};
use tempfile::TempDir;

/// Copies of the binaries that everybody may run: the originals may lie where nobody may look.
pub(crate) struct Copies {
    dir: TempDir,
}

impl Copies {
    pub(crate) fn new() -> Self {
        let copies = Self {
            dir: places::public_dir(),
        };
        copies.add(&places::profil_bpf(), "profil-bpf");
        copies.add(&Workload::Pie.executable(), "split-pie");
        copies
    }

    fn add(&self, original: &Path, name: &str) {
        fs::copy(original, self.dir.path().join(name))
            .unwrap_or_else(|error| panic!("cannot copy {}: {error}", original.display()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// What the unprivileged may do. Above [`USUAL`] the kernels of some distributions want more than
/// `CAP_PERFMON`.
const PARANOID: &str = "kernel.perf_event_paranoid";
const USUAL: i64 = 2;

/// A command that runs `program` as nobody, with exactly these capabilities.
pub(crate) fn as_nobody(capabilities: &[&str], program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let list: String = capabilities
        .iter()
        .map(|name| format!(",+{name}"))
        .collect();
    command
        .arg(format!("--inh-caps=-all{list}"))
        .arg(format!("--ambient-caps=-all{list}"));
    command.arg("--").arg(program).current_dir("/");
    command
}

/// A target that runs as nobody.
fn target_of_nobody(copies: &Copies) -> Target {
    let executable = copies.path("split-pie");
    Target::start_command(as_nobody(&[], &executable), executable)
}

#[track_caller]
fn profile_as_nobody(copies: &Copies, capabilities: &[&str], target: &mut Target) -> Session {
    let command = as_nobody(capabilities, &copies.path("profil-bpf"));
    let profiler = Profiler::by(command).on_pid(target.pid(), RATE);
    let session = session::take(target, profiler, RATE, window());
    session.report.assert_most_ticks_seen();
    session
}

#[test]
fn without_any() {
    let _machine = claim_machine!();
    require_programs!("setpriv");
    let copies = Copies::new();
    // Even on one's own process.
    let target = target_of_nobody(&copies);
    let command = as_nobody(&[], &copies.path("profil-bpf"));
    let finished = Profiler::by(command).on_pid(target.pid(), RATE).run();
    finished.assert_code(1).assert_clear_error();
    finished.assert_says("cap_bpf").assert_says("cap_perfmon");
    finished.assert_says("sudo").assert_says("setcap");
}

/// What to do is said once, in words that anybody may read.
#[test]
fn doctor_says_how_to_get_them() {
    let _machine = claim_machine!();
    require_programs!("setpriv");
    let copies = Copies::new();
    let doctor = |capabilities: &[&str]| {
        let command = as_nobody(capabilities, &copies.path("profil-bpf"));
        Profiler::by(command).arg("doctor").run()
    };
    let finished = doctor(&[]);
    finished.assert_code(1).assert_no_panic();
    let ways: Vec<_> = finished
        .stdout
        .lines()
        .filter(|line| line.contains("setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep"))
        .collect();
    assert_eq!(ways.len(), 1, "{}", finished.stdout);
    assert!(ways[0].trim_start().starts_with("mend: run it with sudo"));
    let said = [&*finished.stdout, &*finished.stderr].concat();
    let place = copies.dir.path().to_str().expect("a plain path");
    assert!(!said.contains(place), "{said}");
    assert!(said.contains("missing  cannot profile"), "{said}");

    let finished = doctor(&["bpf", "perfmon"]);
    if finished.status.code() == Some(0) {
        assert!(finished.stdout.contains("profiles can be taken here"));
        assert!(finished.stdout.contains("instead  CAP_SYS_PTRACE"));
    } else {
        // A distribution that wants more.
        assert!(finished.stdout.contains("perf_event_paranoid=2"));
    }
}

#[test]
fn with_one_of_two() {
    let _machine = claim_machine!();
    require_programs!("setpriv");
    let copies = Copies::new();
    let target = target_of_nobody(&copies);
    for (has, lacks) in [("bpf", "cap_perfmon"), ("perfmon", "cap_bpf")] {
        let command = as_nobody(&[has], &copies.path("profil-bpf"));
        let finished = Profiler::by(command).on_pid(target.pid(), RATE).run();
        finished
            .assert_code(1)
            .assert_clear_error()
            .assert_says(lacks);
    }
}

#[test]
fn two_suffice_for_ones_own_process() {
    let machine = claim_machine!();
    let _paranoid = machine.set(PARANOID, USUAL);
    require_programs!("setpriv");
    let copies = Copies::new();
    let mut target = target_of_nobody(&copies);
    let session = profile_as_nobody(&copies, &["bpf", "perfmon"], &mut target);
    session.assert_shares().assert_hot_in("split-pie");
}

/// Files that took the place of others are not taken for them. What runs leads to its own file
/// also when it is gone; what a library was, the unprivileged cannot see.
#[test]
fn files_that_were_replaced() {
    let machine = claim_machine!();
    let _paranoid = machine.set(PARANOID, USUAL);
    require_programs!("setpriv");
    let replaced = |workload: Workload, place: &str, by: &Path| {
        let copies = Copies::new();
        copies.add(&workload.executable(), "program");
        for library in workload.libraries() {
            copies.add(&library, "libhot.so");
        }
        let program = copies.path("program");
        let mut target = Target::start_command(as_nobody(&[], &program), program);
        copies.add(by, "other");
        fs::rename(copies.path("other"), copies.path(place)).expect("another file");
        let command = as_nobody(&["bpf", "perfmon"], &copies.path("profil-bpf"));
        let profiler = Profiler::by(command).on_pid(target.pid(), RATE);
        session::take(&mut target, profiler, RATE, Duration::from_secs(1))
    };
    replaced(Workload::Pie, "program", &Workload::FarPie.executable()).assert_shares();
    let [far] = &Workload::FarLibrary.libraries()[..] else {
        panic!("one library");
    };
    let session = replaced(Workload::SharedLibrary, "libhot.so", far);
    let unread: u64 = session
        .report
        .rows
        .iter()
        .filter(|row| row.function.ends_with("(file not readable)"))
        .map(|row| row.ticks)
        .sum();
    assert!(
        unread > session.report.ticks() * 9 / 10,
        "{}",
        session.finished.stdout
    );
}

#[test]
fn two_suffice_to_count_another_users_process() {
    let machine = claim_machine!();
    let _paranoid = machine.set(PARANOID, USUAL);
    require_programs!("setpriv");
    let copies = Copies::new();
    let mut target = Target::start(Workload::Pie);
    profile_as_nobody(&copies, &["bpf", "perfmon"], &mut target);
}

#[test]
fn ptrace_adds_the_names_of_another_users_process() {
    let machine = claim_machine!();
    let _paranoid = machine.set(PARANOID, USUAL);
    require_programs!("setpriv");
    let copies = Copies::new();
    let mut target = Target::start(Workload::Pie);
    let capabilities = ["bpf", "perfmon", "sys_ptrace"];
    let session = profile_as_nobody(&copies, &capabilities, &mut target);
    session.assert_shares().assert_hot_in("split-pie");
}

#[test]
fn capabilities_of_the_file() {
    let machine = claim_machine!();
    let _paranoid = machine.set(PARANOID, USUAL);
    require_programs!("setpriv", "setcap");
    let copies = Copies::new();
    let binary = copies.path("profil-bpf");
    let status = Command::new("setcap")
        .arg("cap_bpf,cap_perfmon,cap_sys_ptrace+ep")
        .arg(&binary)
        .status()
        .expect("setcap runs");
    assert!(status.success(), "setcap {}", binary.display());
    let mut target = target_of_nobody(&copies);
    let session = profile_as_nobody(&copies, &[], &mut target);
    session.assert_shares().assert_hot_in("split-pie");
}

#[test]
fn a_kernel_that_wants_more_says_so() {
    let machine = claim_machine!();
    require_programs!("setpriv");
    let _paranoid = machine.set(PARANOID, USUAL + 1);
    let copies = Copies::new();
    let target = target_of_nobody(&copies);
    let command = as_nobody(&["bpf", "perfmon"], &copies.path("profil-bpf"));
    let finished = Profiler::by(command)
        .on_pid(target.pid(), RATE)
        .args(["-d", "300ms"])
        .run();
    finished.assert_no_panic();
    match finished.status.code() {
        // As perf_event_open(2) has it.
        Some(0) => {}
        // As Debian has it.
        _ => {
            finished.assert_code(1).assert_clear_error();
            finished
                .assert_says("cap_sys_admin")
                .assert_says("perf_event_paranoid=2");
        }
    }
}
