//! Restarts lose nothing: what is pinned ticks on, and the next daemon goes on with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use profil_tests::{
    Daemon, Profiler, Target, Workload, claim_machine,
    kernel::{PROGRAM, loaded_programs},
    process::wait_until,
    profiler::PATIENCE,
    statistics::assert_ratio,
};
use rustix::process::Signal;

use super::{Burner, comm_of};

/// A BPF file system of the test's own, and a directory for the state.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mount = dir.path().join("bpf");
        fs::create_dir(&mount).expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", "bpf", "bpf"])
            .arg(&mount)
            .status();
        assert!(
            mounted.is_ok_and(|status| status.success()),
            "no BPF file system"
        );
        Self { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn pins(&self) -> PathBuf {
        self.path().join("bpf/pins")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(crate) fn profiler(&self) -> Profiler {
        let pin = format!("--pin={}", self.pins().display());
        Daemon::profiler().arg(pin).arg("--state").arg(self.state())
    }

    pub(crate) fn unpin(&self) -> String {
        let state = self.dir.path().join("state");
        let finished = Profiler::new()
            .args(["serve", "--config", "/dev/null", "--unpin"])
            .arg(format!("--pin={}", self.pins().display()))
            .arg("--state")
            .arg(state)
            .run();
        finished.assert_code(0);
        finished.stderr
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let mount = self.dir.path().join("bpf");
        let _ = Command::new("umount").arg("--lazy").arg(mount).status();
    }
}

/// A number from 0 to 1, another one each time.
fn random() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let number = std::hash::RandomState::new().build_hasher().finish();
    number as f64 / u64::MAX as f64
}

#[test]
fn fifty_kills_lose_nothing() {
    const KILLS: usize = 50;
    let _machine = claim_machine!();
    let home = Home::new();
    // Somebody else may count on this machine.
    let others = loaded_programs(PROGRAM);
    let first = Daemon::of(home.profiler());
    let (warm, name) = super::seated(&first, Workload::Pie);
    let before = first.settled();
    first.kill();

    let mut target = Target::start(Workload::Pie);
    // About as long as all the daemons live.
    target.go_and_hold(Duration::from_secs(16));
    for _ in 0..KILLS {
        let process = home.profiler().args(["--set", "drain=100ms"]).start();
        // Some die before they have begun, and some while they read or write.
        thread::sleep(Duration::from_secs_f64(0.4 * random()));
        process.signal(Signal::KILL);
        process.finish(PATIENCE);
        thread::sleep(Duration::from_secs_f64(0.05 * random()));
    }
    let split = target.split();
    let last = Daemon::of(home.profiler());
    let after = last.settled();
    // Each tick is counted once: the kernel half has its own account of them.
    after.assert_exact();
    let gained = |name: &str| after.sum(name, &[]) - before.sum(name, &[]);
    assert_ratio(
        "seen by due, over all restarts",
        gained("profil_ticks_seen_total"),
        gained("profil_ticks_due_total"),
        0.06,
    );
    let rate = after.sum("profil_stathz", &[]);
    assert_ratio(
        "ticks of the target",
        (after.process(&name) - before.process(&name)) * rate,
        split.total.as_secs_f64() * rate,
        0.06,
    );
    drop(warm);
    last.end();
    let ours = loaded_programs(PROGRAM);
    assert_eq!(
        ours.difference(&others).count(),
        1,
        "what is pinned ticks on"
    );
    assert!(home.unpin().contains("nothing ticks"));
    // The kernel frees them a little later.
    let gone = wait_until(PATIENCE, || {
        loaded_programs(PROGRAM).difference(&others).count() == 0
    });
    assert!(gone, "something is still attached");
    assert!(home.unpin().contains("there is nothing"));
}

#[test]
fn what_was_left_is_never_misread() {
    let _machine = claim_machine!();
    let home = Home::new();
    let refuse = |profiler: Profiler, says: &str| {
        let finished = profiler.run();
        finished
            .assert_code(1)
            .assert_clear_error()
            .assert_says(says);
    };
    let daemon = Daemon::of(home.profiler());
    refuse(home.profiler(), "another profil-bpf serve uses");
    // Whatever it would call its state: two who take out of one table take it from each other.
    let other = home.dir.path().join("other");
    let pin = format!("--pin={}", home.pins().display());
    let profiler = || Daemon::profiler().arg(&pin).arg("--state").arg(&other);
    refuse(profiler(), "another profil-bpf serve uses");
    refuse(profiler().arg("--unpin"), "another profil-bpf serve uses");
    let busy = Burner::start(Workload::Busy, &[]);
    let name = comm_of(busy.pid());
    super::wait_for_series(&daemon, &name);
    let before = daemon.metrics().process(&name);
    daemon.end();

    // Another clock, other modes.
    refuse(
        home.profiler().args(["--stathz", "194"]),
        "counts 97 Hz in mode split, and 194 Hz in mode split is asked for",
    );
    refuse(
        home.profiler().args(["--set", "mode=prof"]),
        "and 97 Hz in mode prof is asked for",
    );
    // A damaged state.
    let state = home.dir.path().join("state/state");
    let whole = fs::read(&state).expect("it was written");
    fs::write(&state, &whole[..whole.len() / 2]).expect("there is room");
    refuse(home.profiler(), "is damaged");
    fs::write(&state, &whole).expect("there is room");
    // Something else under the names of ours.
    let (pins, aside) = (home.pins(), home.dir.path().join("bpf/aside"));
    fs::rename(pins.join("META"), &aside).expect("it is ours");
    fs::hard_link(pins.join("TALLY"), pins.join("META")).expect("it is ours");
    refuse(home.profiler(), "holds no counters of profil-bpf");
    fs::remove_file(pins.join("META")).expect("it is ours");
    fs::rename(&aside, pins.join("META")).expect("it is ours");
    let strays = pins.join("STRAYS");
    fs::rename(&strays, &aside).expect("it is ours");
    fs::hard_link(pins.join("BINS"), &strays).expect("it is ours");
    refuse(home.profiler(), "has another layout");
    fs::remove_file(&strays).expect("it is ours");
    fs::rename(&aside, &strays).expect("it is ours");

    // Nothing of that has changed anything.
    let daemon = Daemon::of(home.profiler());
    let metrics = daemon.settled();
    metrics.assert_exact();
    assert!(
        metrics.process(&name) > before + 0.2,
        "it went on while nobody looked"
    );
    daemon.end();
    home.unpin();
}

#[test]
fn only_a_bpf_file_system_of_our_own_will_do() {
    let _machine = claim_machine!();
    let home = Home::new();
    let pin = |dir: &Path| {
        let state = home.dir.path().join("state");
        Daemon::profiler()
            .arg(format!("--pin={}", dir.display()))
            .arg("--state")
            .arg(state)
            .run()
    };
    let finished = pin(&home.dir.path().join("plain"));
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("is in no BPF file system");
    let finished = pin(Path::new("/nonexistent/dir"));
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("is a BPF file system mounted there?");
    let open = home.dir.path().join("bpf/open");
    fs::create_dir(&open).expect("a directory");
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let finished = pin(&open);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("is not a directory of ours alone");
}
