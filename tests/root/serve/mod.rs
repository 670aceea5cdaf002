//! The daemon: what dashboards and collectors read is what the targets measured.

mod cpus;
mod hostile;
mod load;
mod nobody;
mod prometheus;
pub(crate) mod restarts;

use std::{
    fs,
    process::{Child, Command},
    thread,
    time::Duration,
};

use profil_tests::{
    Daemon, Profiler, Target, Workload, claim_machine,
    daemon::SEATED,
    kernel::{PROGRAM, loaded_programs},
    machine::is_emulated,
    process::wait_until,
    profiler::PATIENCE,
    require_programs,
    statistics::{assert_ratio, assert_share},
};
use rustix::process::Signal;

/// A target with series of its own: one of the same name has made them warm, and is idle.
pub(crate) fn seated(daemon: &Daemon, workload: Workload) -> (Target, String) {
    let mut target = Target::start(workload);
    let name = comm_of(target.pid());
    // Where one CPU is emulated, the daemon and the target take turns on it.
    target.go_and_hold(SEATED * if is_emulated() { 4 } else { 1 });
    target.split();
    let seconds = daemon.settled().process(&name);
    assert!(seconds > 0.0, "{name} has no series");
    (target, name)
}

/// A process that never waits to be told. Killed when dropped.
pub(crate) struct Burner(Child);

impl Burner {
    pub(crate) fn start(workload: Workload, arguments: &[&str]) -> Self {
        let child = Command::new(workload.executable()).args(arguments).spawn();
        let burner = Self(child.expect("it starts"));
        // Until then it goes by the name of who starts it.
        let executable = workload.executable();
        let exe = format!("/proc/{}/exe", burner.pid());
        let is_it = || fs::read_link(&exe).is_ok_and(|link| link == executable);
        assert!(wait_until(PATIENCE, is_it), "{workload:?} does not start");
        burner
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a process that is busy has series of its own.
#[track_caller]
pub(crate) fn wait_for_series(daemon: &Daemon, name: &str) {
    let shown = wait_until(PATIENCE, || daemon.metrics().process(name) > 0.0);
    assert!(shown, "{name} has no series");
}

pub(crate) fn comm_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).expect("it runs");
    name.trim_end().to_owned()
}

#[test]
fn counters_say_what_a_target_measured() {
    let _machine = claim_machine!();
    // Somebody else may count on this machine.
    let others = loaded_programs(PROGRAM);
    let daemon = Daemon::start([]);
    let (_warm, name) = seated(&daemon, Workload::Pie);
    let before = daemon.settled();
    before.assert_exact();

    let mut target = Target::start(Workload::Pie);
    target.go_and_hold(Duration::from_secs(6));
    let split = target.split();
    let after = daemon.settled();
    after.assert_exact();
    let rate = after.sum("profil_stathz", &[]);
    let ticks = |seconds: f64| (seconds * rate).round() as u64;
    let total = ticks(after.process(&name) - before.process(&name));
    // The clock that meets it by chance is off by no more than chance, and the price of starting it.
    let expected = split.total.as_secs_f64() * rate;
    assert_ratio("ticks", total as f64, expected, 0.08);
    for function in split.functions.keys() {
        let gained = after.function(&name, function) - before.function(&name, function);
        assert_share(function, ticks(gained), total, split.share_of(function));
    }
    let (seen, due) = (
        after.sum("profil_ticks_seen_total", &[]),
        after.sum("profil_ticks_due_total", &[]),
    );
    assert_ratio("seen by due", seen, due, 0.1);
    daemon.end();
    // The kernel frees them a little later.
    let gone = wait_until(PATIENCE, || {
        loaded_programs(PROGRAM).difference(&others).count() == 0
    });
    assert!(gone, "something is still attached");
}

#[test]
fn collectors_fetch_profiles_as_from_any_go_program() {
    require_programs!("go");
    let _machine = claim_machine!();
    let daemon = Daemon::start([]);
    let target = Burner::start(Workload::Busy, &[]);
    let base = format!("http://{}/debug/pprof/profile", daemon.address());
    let fetch = |query: &str| {
        let home = tempfile::tempdir().expect("a directory");
        let output = Command::new("go")
            .args([
                "tool",
                "pprof",
                "-top",
                "-symbolize=none",
                &format!("{base}?{query}"),
            ])
            .env("PPROF_TMPDIR", home.path())
            .env("HOME", home.path())
            .output()
            .expect("go starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let pid = target.pid();
    let deep = fetch(&format!("seconds=2&pid={pid}"));
    assert!(share_of(&deep, "spin") > 90.0, "{deep}");
    let everybody = fetch("seconds=2");
    assert!(share_of(&everybody, "spin") > 5.0, "{everybody}");
    let everybody = fetch("seconds=1&hz=485");
    assert!(share_of(&everybody, "spin") > 5.0, "{everybody}");
    daemon.metrics().assert_exact();
    daemon.end();
}

/// Percent of a function in the output of `go tool pprof -top`.
fn share_of(top: &str, function: &str) -> f64 {
    let row = top
        .lines()
        .find(|line| line.trim_end().ends_with(&format!(" {function}")));
    let share = row.and_then(|row| row.split_whitespace().nth(1));
    let share = share.and_then(|share| share.trim_end_matches('%').parse().ok());
    share.unwrap_or(0.0)
}

#[test]
fn several_who_ask_for_one_process_share_a_look() {
    let _machine = claim_machine!();
    let daemon = Daemon::start([]);
    let target = Burner::start(Workload::Busy, &[]);
    let path = format!("/debug/pprof/profile?seconds=2&pid={}", target.pid());
    let address = daemon.address();
    let asking: Vec<_> = (0..5)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || profil_tests::http::get(address, &path).ok())
        })
        .collect();
    let all_wait = wait_until(PATIENCE, || {
        daemon.metrics().sum("profil_profiles_running", &[]) >= 5.0
    });
    assert!(all_wait, "some were not taken in");
    // Whoever begins a look of its own has begun by then.
    thread::sleep(Duration::from_millis(500));
    let threads = fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("it runs");
    let looks = threads
        .flatten()
        .filter(|thread| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm == "profil-look\n")
        })
        .count();
    assert_eq!(looks, 1);
    for asked in asking {
        let answer = asked.join().expect("an answer");
        let ticks: f64 = answer
            .header("x-profil-ticks")
            .expect("ticks")
            .parse()
            .expect("a number");
        // It may share its CPU; and who joins late has a later and no shorter part.
        assert!((100.0..2600.0).contains(&ticks), "{ticks}");
    }
    let refused = daemon.get("/debug/pprof/profile?seconds=1&pid=1000000000");
    assert_eq!(refused.status, 404, "{}", refused.text());
    assert_eq!(refused.text(), "there is no process 1000000000\n");
    for (query, says) in [
        ("seconds=0", "seconds must be more than 0, and 300 at most"),
        (
            "seconds=nan",
            "seconds must be more than 0, and 300 at most",
        ),
        ("seconds=x", "seconds=x is no number"),
        ("pid=-1", "pid=-1 is no number of a process"),
        ("pid=0", "pid=0 is no number of a process"),
        ("hz=971", "hz must be 1 to 970, which is profhz"),
        ("hz=1.5", "hz=1.5 is no whole number"),
    ] {
        let refused = daemon.get(&format!("/debug/pprof/profile?{query}"));
        assert_eq!(refused.status, 400, "{query}");
        assert_eq!(refused.text(), format!("{says}\n"), "{query}");
    }
    daemon.end();
}

#[test]
fn it_is_told_by_signals() {
    let _machine = claim_machine!();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("profil-bpf.toml");
    fs::write(&file, "[limits]\nprofile_seconds = 5\n").expect("there is room");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config"];
    let profiler = Profiler::new().args(arguments).arg(&file);
    let mut daemon = Daemon::of(profiler);
    let refused = |daemon: &Daemon| daemon.get("/debug/pprof/profile?seconds=301").text();
    assert_eq!(
        refused(&daemon),
        "seconds must be more than 0, and 5 at most\n"
    );
    for (text, says) in [
        (
            "[limits]\nprofile_seconds = 6\nstathz = 1\n",
            "the configuration stays as it was",
        ),
        (
            "stathz = 194\n[limits]\nprofile_seconds = 7\n",
            "for a restart: stathz",
        ),
    ] {
        fs::write(&file, text).expect("there is room");
        daemon.signal(Signal::HUP);
        let heard = wait_until(Duration::from_secs(5), || daemon.said().contains(says));
        assert!(heard, "{}", daemon.said());
    }
    assert_eq!(
        refused(&daemon),
        "seconds must be more than 0, and 7 at most\n"
    );
    daemon.end();
}

#[test]
fn what_is_pushed_can_change_while_it_has_a_spool() {
    let _machine = claim_machine!();
    let dir = tempfile::tempdir().expect("a directory");
    let (file, spool) = (dir.path().join("profil-bpf.toml"), dir.path().join("spool"));
    let write = |interval: &str| {
        let push = format!(
            "[push]\nurl = \"http://127.0.0.1:9/\"\nspool = {spool:?}\ninterval = \"{interval}\"\n"
        );
        fs::write(&file, push).expect("there is room");
    };
    write("10s");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config"];
    let mut daemon = Daemon::of(Profiler::new().args(arguments).arg(&file));
    write("1s");
    daemon.signal(Signal::HUP);
    let waiting = wait_until(PATIENCE, || {
        daemon.metrics().sum("profil_push_waiting", &[]) >= 3.0
    });
    assert!(waiting, "{}", daemon.said());
    assert!(!daemon.said().contains("cannot push"), "{}", daemon.said());
    // One that cannot be leaves all as it was.
    let foreign = dir.path().join("none/spool");
    fs::write(
        &file,
        format!("[push]\nurl = \"http://127.0.0.1:9/\"\nspool = {foreign:?}\n"),
    )
    .expect("there is room");
    daemon.signal(Signal::HUP);
    let refused = wait_until(PATIENCE, || daemon.said().contains("cannot push profiles"));
    assert!(refused, "{}", daemon.said());
    let before = daemon.metrics().sum("profil_push_waiting", &[]);
    let goes_on = wait_until(PATIENCE, || {
        daemon.metrics().sum("profil_push_waiting", &[]) > before
    });
    assert!(goes_on, "{}", daemon.said());
    daemon.end();
}
