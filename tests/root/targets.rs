//! Whom to profile: by number, by name, by program, by cgroup, or everybody; and a command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use profil_tests::{
    Profiler, Target, Workload, claim_machine, machine,
    process::{Process, wait_until},
    profiler::PATIENCE,
    report::Report,
    session::RATE,
    statistics::assert_ratio,
};
use rustix::process::Signal;

/// A process that keeps no account; it is killed with the test.
struct Quiet(Child);

impl Quiet {
    fn start(program: &Path) -> Self {
        Self(Command::new(program).spawn().expect("the target starts"))
    }

    fn busy() -> Self {
        Self::start(&Workload::Busy.executable())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A copy of a program under another name.
fn copy(workload: Workload, dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    fs::copy(workload.executable(), &path).expect("there is room");
    path
}

fn profiler(arguments: &[&str]) -> Profiler {
    Profiler::new()
        .args(["-F", &RATE.to_string()])
        .args(arguments)
}

/// Ends a profiler that waits for Ctrl-C.
fn end(process: Process) -> Report {
    process.signal(Signal::INT);
    let finished = process.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved();
    report
}

fn ticks(rows: &[profil_tests::report::Row]) -> u64 {
    rows.iter().map(|row| row.ticks).sum()
}

#[test]
fn several_processes_are_told_apart() {
    let _machine = claim_machine!();
    let (one, two, other) = (Quiet::busy(), Quiet::busy(), Quiet::busy());
    let pids = [&one, &two].map(|quiet| quiet.0.id().to_string());
    let process = profiler(&["--pid", &pids[0], "--pid", &pids[1], "--per-process"]).attach();
    sleep(Duration::from_secs(2));
    let report = end(process);
    report.assert_most_ticks_seen();
    assert_eq!(report.tasks.len(), 2, "{:?}", report.tasks);
    for pid in &pids {
        let of_one = ticks(report.task(&format!("pid {pid} (busy)")));
        // How the scheduler shares the CPUs out among three is its own business.
        let share = of_one as f64 / report.ticks() as f64;
        assert!((0.2..0.8).contains(&share), "{share}: {:?}", report.tasks);
    }
    drop(other);
}

#[test]
fn a_thread_alone_and_each_thread_by_itself() {
    let _machine = claim_machine!();
    let mut target = Target::start_with(Workload::Pie, &["--threads", "2"]);
    let pid = target.pid();
    let threads = || -> Vec<u32> {
        let entries = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
        let names = entries.map(|entry| entry.expect("it lives").file_name());
        names
            .filter_map(|name| name.to_str()?.parse().ok())
            .filter(|&tid| tid != pid)
            .collect()
    };
    let early = threads()[0].to_string();
    let alone = profiler(&["--tid", &early]).attach();
    let all = profiler(&["--pid", &pid.to_string(), "--per-thread"]).attach();
    target.go_and_hold(Duration::from_secs(2));
    let split = target.split();
    let (alone, all) = (end(alone), end(all));
    let due = split.total.as_secs_f64() * f64::from(RATE);
    let slack = 0.05 + machine::slack();
    assert_ratio("ticks of all", all.balance.seen as f64, due, slack);
    // Two threads share the work, and one of them is this one.
    assert_ratio("ticks of one", alone.balance.seen as f64, due / 2.0, slack);
    let of_early = ticks(all.task(&format!("pid {pid}, tid {early} ")));
    assert_ratio("its part", of_early as f64, due / 2.0, slack);
    assert!(all.tasks.len() >= 2, "{:?}", all.tasks);
}

#[test]
fn processes_by_name_and_program_are_taken_in() {
    let _machine = claim_machine!();
    let dir = tempfile::tempdir().expect("a directory");
    let early = copy(Workload::Busy, dir.path(), "wanted-one");
    let late = copy(Workload::Busy, dir.path(), "wanted-two");
    let other = copy(Workload::Busy, dir.path(), "unwanted");
    let _other = Quiet::start(&other);
    let _early = Quiet::start(&early);
    let by_name = profiler(&["--comm", "wanted-*", "--per-process"]).attach();
    let exe = late.to_str().expect("a plain path");
    let by_program = profiler(&["--exe", exe]).attach();
    sleep(Duration::from_secs(1));
    let late = Quiet::start(&late);
    sleep(Duration::from_secs(1));
    drop(late);
    let (by_name, by_program) = (end(by_name), end(by_program));

    // All but the way to `main` and into the loop.
    let most = if machine::is_emulated() { 0.9 } else { 0.97 };
    let assert_spins = |report: &Report, objects: &[&str]| {
        let all: u64 = objects.iter().map(|name| report.ticks_in(name)).sum();
        let spun = report.ticks_of("spin") as f64 / all as f64;
        assert!((most..=1.0).contains(&spun), "{spun}: {:?}", report.rows);
    };
    assert_spins(&by_name, &["wanted-one", "wanted-two"]);
    assert!(by_name.balance.unwanted > 100, "{:?}", by_name.balance);
    let heads: Vec<_> = by_name.tasks.iter().map(|(head, _)| head).collect();
    for name in ["(wanted-one)", "(wanted-two)"] {
        assert!(heads.iter().any(|head| head.contains(name)), "{heads:?}");
    }
    // All of its life, though it began later than the profile; and nothing else.
    let of_late = by_program.ticks_in("wanted-two");
    assert!(of_late > 50, "{:?}", by_program.rows);
    assert_spins(&by_program, &["wanted-two"]);
}

/// A cgroup in a hierarchy that is mounted for the test.
struct Group {
    mount: tempfile::TempDir,
    path: PathBuf,
    version: u8,
}

impl Group {
    /// In the hierarchy that has perf's controller.
    fn new(name: &str) -> Self {
        // Where the old hierarchies have the controller, it is in no other.
        if is_perf_of_version_2() {
            Self::mounted(name, 2)
        } else {
            Self::of_version_1(name)
        }
    }

    /// In a hierarchy of version 1, as older systems have them. The controller comes to it, and goes
    /// back when it ends.
    fn of_version_1(name: &str) -> Self {
        Self::mounted(name, 1)
    }

    fn mounted(name: &str, version: u8) -> Self {
        let mount = tempfile::tempdir().expect("a directory");
        mount_cgroups(mount.path(), version).expect("cgroups are there");
        // Where nobody ever asked for a controller (no systemd), not even perf's, which needs not be
        // asked for, is there.
        let control = mount.path().join("cgroup.subtree_control");
        if fs::read_to_string(&control).is_ok_and(|asked| asked.trim().is_empty()) {
            let there = fs::read_to_string(mount.path().join("cgroup.controllers"));
            let there = there.expect("a root has it");
            let first = there.split_whitespace().next().expect("some controller");
            fs::write(&control, format!("+{first}")).expect("root may");
        }
        let path = mount.path().join(name);
        fs::create_dir(&path).expect("root may");
        Self {
            mount,
            path,
            version,
        }
    }

    fn add(&self, pid: u32) {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).expect("root may");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
        let mount = self.mount.path();
        let flags = rustix::mount::UnmountFlags::empty();
        if self.version == 2 {
            let _ = rustix::mount::unmount(mount, flags);
            return;
        }
        // The kernel takes a moment to be done with a group, and a hierarchy that is unmounted before
        // that keeps the controller. What it gives back comes a moment later, too.
        let is_back = || wait_until(Duration::from_millis(500), is_perf_of_version_2);
        for _ in 0..10 {
            let _ = rustix::mount::unmount(mount, flags);
            if is_back() {
                return;
            }
            let _ = mount_cgroups(mount, 1);
        }
        let _ = rustix::mount::unmount(mount, flags);
    }
}

/// Whether no hierarchy of version 1 has perf's controller.
fn is_perf_of_version_2() -> bool {
    let controllers = fs::read_to_string("/proc/cgroups").expect("cgroups are there");
    let perf = controllers
        .lines()
        .find_map(|line| line.strip_prefix("perf_event"));
    perf.expect("perf knows cgroups").split_whitespace().next() == Some("0")
}

fn mount_cgroups(place: &Path, version: u8) -> rustix::io::Result<()> {
    let (kind, data) = match version {
        1 => ("cgroup", Some(c"perf_event")),
        _ => ("cgroup2", None),
    };
    rustix::mount::mount(
        "none",
        place,
        kind,
        rustix::mount::MountFlags::empty(),
        data,
    )
}

#[test]
fn a_cgroup_by_path_and_by_the_id_of_its_container() {
    let _machine = claim_machine!();
    profile_group(Group::new);
}

/// The hierarchies that systems had before there was one for all.
#[test]
fn a_cgroup_of_version_1_by_path_and_by_the_id_of_its_container() {
    let _machine = claim_machine!();
    profile_group(Group::of_version_1);
    // Other tests, and everybody else, want it there.
    assert!(is_perf_of_version_2(), "perf's controller is not back");
}

#[track_caller]
fn profile_group(made: fn(&str) -> Group) {
    let id = format!("{:032x}{:032x}", std::process::id(), 0x00c0_ffee);
    let group = made(&format!("docker-{id}.scope"));
    let (inside, outside) = (Quiet::busy(), Quiet::busy());
    group.add(inside.0.id());
    let path = group.path.to_str().expect("a plain path");
    for name in [path, &id[..40]] {
        let process = profiler(&["--cgroup", name, "--per-process"]).attach();
        sleep(Duration::from_secs(1));
        let report = end(process);
        report.assert_most_ticks_seen();
        let mine = ticks(report.task(&format!("pid {} (busy)", inside.0.id())));
        assert!(mine > 100, "{report:?}");
        assert_eq!(mine, report.ticks(), "{:?}", report.tasks);
    }
    drop((inside, outside));
}

#[test]
fn a_command_from_its_first_instruction_with_its_children() {
    let _machine = claim_machine!();
    let storm = Workload::Storm.executable();
    let storm = storm.to_str().expect("a plain path");
    let count = if machine::is_emulated() { "20" } else { "100" };
    let finished = profiler(&["--", storm, count, "10", "1"]).run();
    finished.assert_code(0).assert_no_panic();
    // Standard output is the command's.
    let burnt = finished.stdout.trim_end().strip_prefix("burnt ");
    let burnt: f64 = burnt.expect("its last word").parse().expect("a number");
    let report = Report::of(&finished.stderr);
    report.assert_conserved();
    // To start a program is much work in an emulator.
    let least = if machine::is_emulated() { 0.4 } else { 0.7 };
    assert!(report.share_of("spin_briefly") > least, "{:?}", report.rows);
    let due = burnt * f64::from(RATE) / 1e9;
    let seen = report.balance.due as f64;
    assert_ratio("due of all children", seen, due, 0.15 + machine::slack());

    // What ran before `main` is in it: relocation alone takes thousands of instructions, and a
    // program that does nothing else is seen at a high rate.
    let profiled = Profiler::new().args(["-F", "20000", "--", storm, "0", "1", "1"]);
    let report = Report::of(&profiled.run().stderr);
    let started = report.balance.due;
    assert!(started > 0 || machine::is_emulated(), "{report:?}");
}

#[test]
fn a_command_has_its_own_status() {
    let _machine = claim_machine!();
    let sh = |script: &str| profiler(&["--", "sh", "-c", script]).run();
    sh("exit 0").assert_code(0).assert_no_panic();
    let finished = sh("echo out; exit 7");
    finished.assert_code(7).assert_no_panic();
    assert_eq!(finished.stdout, "out\n");
    sh("kill -TERM $$").assert_code(128 + 15).assert_no_panic();
    let missing = profiler(&["--", "/no/such/program"]).run();
    missing.assert_code(127).assert_says("/no/such/program");
    let no_program = profiler(&["--", "/dev/null"]).run();
    no_program.assert_code(126).assert_clear_error();
}

/// Processes that are gone before anybody could look at them.
#[test]
fn a_storm_of_processes_is_named_to_the_last_tick() {
    let _machine = claim_machine!();
    let count = if machine::is_emulated() { "60" } else { "2000" };
    let process = profiler(&["--comm", "stor?"]).attach();
    let everybody = profiler(&["--all"]).attach();
    let child = Command::new(Workload::Storm.executable())
        .args([count, "20", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the target starts");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).expect("a line");
    let burnt = said.trim_end().strip_prefix("burnt ").expect("its word");
    let burnt: f64 = burnt.parse().expect("a number");
    let (report, everybody) = (end(process), end(everybody));

    let due = burnt * f64::from(RATE) / 1e9;
    // What the parent and fork took is in its account of them, and not under their name.
    let seen = report.ticks() as f64;
    assert_ratio("ticks of the storm", seen, due, 0.15 + machine::slack());
    let spun = report.ticks_of("spin_briefly") as f64 / seen;
    // It looks at the clock as well, and programs are started.
    let least = if machine::is_emulated() { 0.5 } else { 0.7 };
    assert!(spun > least, "{spun}: {:?}", report.rows);
    for report in [&report, &everybody] {
        let lost =
            report.outcome("lost: strays table full") + report.outcome("lost: strays table busy");
        assert_eq!(lost, 0, "{:?}", report.balance);
        let nowhere: u64 = report
            .rows
            .iter()
            .filter(|row| ["[process ended]", "[no longer mapped]"].contains(&&*row.object))
            .map(|row| row.ticks)
            .sum();
        // A tick between fork's copy and the record of it, say.
        let share = nowhere as f64 / report.ticks() as f64;
        assert!(
            share < 0.001,
            "{nowhere} of {}: {:?}",
            report.ticks(),
            report.rows
        );
    }
}
