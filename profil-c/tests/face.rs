//! C programs, old and new, with the library. Needs root and a C compiler.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use profil_tests::{
    Finished, Process, claim_machine,
    gprof::{self, entry},
    places, require_programs,
    statistics::{assert_ratio, assert_share, assert_two_estimates},
};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// The library under test, built with the tests.
fn library() -> PathBuf {
    let test = env::current_exe().expect("a test is a file");
    let found = test
        .ancestors()
        .skip(1)
        .take(2)
        .map(|dir| dir.join("libprofil_bpf.so"))
        .find(|path| path.is_file());
    found.expect("cargo builds the library beside its tests")
}

/// A directory with the library, where everybody can read it, and with programs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(places::public_dir());
        fs::copy(library(), place.own_copy()).expect("room for a copy");
        fs::set_permissions(place.own_copy(), fs::Permissions::from_mode(0o755))
            .expect("it is ours");
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn own_copy(&self) -> PathBuf {
        self.path().join("libprofil_bpf.so")
    }

    fn build(&self, source: &str, flags: &[&str]) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.path().join(source.replace(".c", ""));
        let mut cc = Command::new("cc");
        cc.args([
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-pthread",
        ])
        .arg(here.join("tests").join(source))
        .arg("-I")
        .arg(here.join("include"))
        .arg("-o")
        .arg(&program)
        .args(flags);
        Process::start(&mut cc).finish(PATIENCE).assert_code(0);
        program
    }

    fn preloaded(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("LD_PRELOAD", self.own_copy())
            .env("PROFIL_VERBOSE", "1")
            .current_dir(self.path());
        command
    }
}

/// What a program said: a name and a number on each line.
struct Said(BTreeMap<String, f64>);

impl Said {
    #[track_caller]
    fn by(finished: &Finished) -> Self {
        finished.assert_code(0).assert_no_panic();
        let line = |line: &str| {
            let (name, number) = line.rsplit_once(' ')?;
            Some((name.to_owned(), number.parse().ok()?))
        };
        Self(finished.stdout.lines().filter_map(line).collect())
    }

    #[track_caller]
    fn get(&self, name: &str) -> f64 {
        *self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("no {name}: {:?}", self.0))
    }

    /// Checks ticks against the CPU time that was used, and the shares of both functions.
    #[track_caller]
    fn assert_ticks(&self, rate: f64) {
        let (alpha, beta) = (self.get("alpha"), self.get("beta"));
        // Some is in the C library.
        assert_ratio("ticks", alpha + beta, self.get("cpu") * rate, 0.15);
        assert_share(
            "alpha",
            alpha as u64,
            (alpha + beta) as u64,
            self.get("true"),
        );
    }
}

fn run(command: &mut Command) -> Finished {
    Process::start(command).finish(PATIENCE)
}

#[test]
fn an_old_program_is_counted_by_the_kernel() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let finished = run(place
        .preloaded(&old, &["plain", "2"])
        .env("PROFIL_RATE", "2000"));
    finished.assert_says("counting in the kernel at 2000 Hz");
    let said = Said::by(&finished);
    said.assert_ticks(2000.0);
    assert_eq!(said.get("after the end"), 0.0);
    // One for its thread and none for ours.
    assert_eq!((said.get("clocks"), said.get("clocks left")), (1.0, 0.0));
    assert!(said.get("all") >= said.get("alpha") + said.get("beta"));

    // As the C library: a hundred a second.
    let said = Said::by(&run(&mut place.preloaded(&old, &["plain", "2"])));
    let ticks = said.get("alpha") + said.get("beta");
    assert_ratio("ticks", ticks, said.get("cpu") * 100.0, 0.15);
}

#[test]
fn its_own_timer_keeps_ticking() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let said = Said::by(&run(place
        .preloaded(&old, &["timer", "2"])
        .env("PROFIL_RATE", "1000")));
    said.assert_ticks(1000.0);
    assert_ratio("signals", said.get("signals"), said.get("cpu") * 100.0, 0.4);
    assert_eq!(
        said.get("elsewhere"),
        0.0,
        "no handler runs in a thread of ours"
    );
    // Which the C library takes away.
    let without = Said::by(&run(Command::new(&old).args(["timer", "1"])));
    assert!(without.get("signals") < 10.0, "{:?}", without.0);
}

#[test]
fn all_threads_are_counted_and_ours_is_not() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let said = Said::by(&run(place
        .preloaded(&old, &["threads", "1"])
        .env("PROFIL_RATE", "1000")));
    said.assert_ticks(1000.0);
    assert!(said.get("cpu") > 1.4, "{:?}", said.0);
}

#[test]
fn a_child_is_not_counted_and_may_begin_anew() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let said = Said::by(&run(place
        .preloaded(&old, &["fork", "1"])
        .env("PROFIL_RATE", "1000")));
    assert_eq!(said.get("child's without asking"), 0.0);
    assert_ratio("child's own", said.get("child's own"), 300.0, 0.1);
    let own = said.get("cpu") * 1000.0;
    assert_ratio(
        "the parent's",
        said.get("alpha") + said.get("beta"),
        own,
        0.15,
    );
}

#[test]
fn regions_of_sprofil() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let said = Said::by(&run(place
        .preloaded(&old, &["regions", "2"])
        .env("PROFIL_RATE", "1000")));
    said.assert_ticks(1000.0);
    assert_eq!(said.get("period"), 0.001);
}

#[test]
fn another_dialect_and_what_is_no_setting() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let mut command = place.preloaded(&old, &["plain", "1"]);
    let finished = run(command
        .env("PROFIL_RATE", "1000")
        .env("PROFIL_DIALECT", "bsd"));
    finished.assert_says("rules of bsd");
    Said::by(&finished).assert_ticks(1000.0);
    let mut command = place.preloaded(&old, &["plain", "0.2"]);
    let finished = run(command
        .env("PROFIL_RATE", "0")
        .env("PROFIL_DIALECT", "modern"));
    finished.assert_says("PROFIL_RATE: a rate of 0");
    finished.assert_says("PROFIL_DIALECT: \"modern\"");
    Said::by(&finished);
}

#[test]
fn without_privileges_the_c_library_counts() {
    let _machine = claim_machine!();
    require_programs!("cc", "setpriv");
    let place = Place::new();
    let old = place.build("old.c", &[]);
    let nobody = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--bounding-set=-all",
    ];
    for mode in ["plain", "regions"] {
        let mut command = place.preloaded(Path::new("setpriv"), &nobody);
        let finished = run(command.arg(&old).args([mode, "1"]));
        finished.assert_says("CAP_BPF");
        finished.assert_says("the C library counts instead");
        let said = Said::by(&finished);
        assert!(said.get("alpha") > 20.0, "{:?}", said.0);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
    let mut command = place.preloaded(Path::new("setpriv"), &nobody);
    let finished = run(command
        .env_remove("PROFIL_VERBOSE")
        .arg(&old)
        .args(["plain", "0.5"]));
    Said::by(&finished);
    assert_eq!(finished.stderr, "", "nobody asked");
}

/// The share of `alpha` by gprof, and the seconds of both functions.
fn shares(program: &Path, gmon: &Path) -> (f64, f64) {
    let entries = gprof::flat_profile(program, gmon);
    let [alpha, beta] = ["alpha", "beta"].map(|name| entry(&entries, name).self_seconds);
    (alpha / (alpha + beta), alpha + beta)
}

fn gprof_agrees(flags: &[&str]) {
    let place = Place::new();
    let counted = place.build("counted.c", &[&["-pg"], flags].concat());
    let gmon = place.path().join("gmon.out");
    let finished = run(Command::new(&counted).arg("3").current_dir(place.path()));
    let plainly = Said::by(&finished);
    let (plain, plain_seconds) = shares(&counted, &gmon);
    // The kernel's own tick, by which the C library counts, is lost where the machine is shared.
    assert_ratio("seconds", plain_seconds, plainly.get("cpu"), 0.4);
    let calls = calls_of_alpha(&counted, &gmon);
    assert!(calls > 10, "{calls}");
    fs::remove_file(&gmon).expect("it was written");

    let mut command = place.preloaded(&counted, &["3", "timer"]);
    let finished = run(command.env("PROFIL_RATE", "1000"));
    finished.assert_says("at 1000 Hz");
    let said = Said::by(&finished);
    let (ours, seconds) = shares(&counted, &gmon);
    assert_ratio("seconds", seconds, said.get("cpu"), 0.15);
    assert_share(
        "alpha",
        (ours * seconds * 1000.0) as u64,
        (seconds * 1000.0) as u64,
        said.get("true"),
    );
    // Each run throws its own dice.
    let dice = said.get("true") - plainly.get("true");
    assert_two_estimates(
        "plain",
        (ours - dice, seconds * 1000.0),
        (plain, plain_seconds * 100.0),
        0.0,
    );
    assert_ratio("signals", said.get("signals"), said.get("cpu") * 100.0, 0.4);
    assert!(calls_of_alpha(&counted, &gmon) > 10, "mcount still counts");
    fs::remove_file(&gmon).expect("it was written");

    // Paused by the program: what it burns then is not in the file. And a name of one's own.
    let mut command = place.preloaded(&counted, &["1", "timer", "pause"]);
    command
        .env("PROFIL_RATE", "40000")
        .env("GMON_OUT_PREFIX", "named");
    let process = Process::start(&mut command);
    let named = place.path().join(format!("named.{}", process.pid()));
    let said = Said::by(&process.finish(PATIENCE));
    assert!(!gmon.exists());
    // After `moncontrol` the timer is still its own.
    assert!(said.get("signals") > 80.0, "{:?}", said.0);
    assert_eq!(said.get("own handler"), 1.0);
    let (_, seconds) = shares(&counted, &named);
    assert_ratio("seconds", seconds, said.get("cpu"), 0.15);
}

/// How often it was called, by the graph.
fn calls_of_alpha(program: &Path, gmon: &Path) -> u64 {
    let mut command = Command::new("gprof");
    command.args(["-b", "-p"]).arg(program).arg(gmon);
    let text = run(&mut command).stdout;
    let line = text.lines().find(|line| line.ends_with(" alpha"));
    let calls = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    calls.unwrap_or_else(|| panic!("no calls:\n{text}"))
}

#[test]
fn a_program_built_for_gprof_agrees_with_its_plain_run() {
    let machine = claim_machine!();
    require_programs!("cc", "gprof");
    let _limit = machine.raise("kernel.perf_event_max_sample_rate", 50_000);
    gprof_agrees(&["-no-pie"]);
}

#[test]
fn and_so_does_one_that_is_position_independent() {
    let machine = claim_machine!();
    require_programs!("cc", "gprof");
    let _limit = machine.raise("kernel.perf_event_max_sample_rate", 50_000);
    gprof_agrees(&["-pie"]);
}

#[test]
fn a_new_program_profiles_another_process() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let place = Place::new();
    let dir = place.path().to_str().expect("a plain path");
    let origin = format!("-L{dir}");
    let flags = ["-DNEW", &origin, "-lprofil_bpf", "-Wl,-rpath,$ORIGIN"];
    let modern = place.build("modern.c", &flags);
    let finished = run(Command::new(&modern).current_dir(place.path()));
    assert_eq!(finished.stderr, "");
    let said = Said::by(&finished);
    let (early, counted) = (said.get("early"), said.get("counted"));
    assert!(early > 50.0 && counted > early + 50.0, "{:?}", said.0);
    assert!(said.get("wide") > counted, "{:?}", said.0);
    assert_ratio("seen", said.get("seen"), said.get("due"), 0.15);
    // Two thirds of the time are alpha's.
    assert_ratio("alpha", counted, said.get("seen") * 2.0 / 3.0, 0.25);
    // The other was not paused.
    assert!(said.get("narrow") > said.get("wide"), "{:?}", said.0);
}

/// What a program gets that only has the library beside it.
#[test]
fn the_library_has_no_other_names() {
    require_programs!("nm");
    let mut command = Command::new("nm");
    command.args(["-D", "--defined-only", "--format=just-symbols"]);
    let names = run(command.arg(library())).stdout;
    let mut names: Vec<_> = names.lines().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "__monstartup",
            "_mcleanup",
            "moncontrol",
            "monstartup",
            "profil",
            "profil_attach",
            "profil_balance",
            "profil_detach",
            "profil_error",
            "profil_pause",
            "profil_read",
            "profil_resume",
            "sprofil",
        ]
    );
}
