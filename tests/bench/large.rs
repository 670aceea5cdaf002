//! A large program at work: the Rust compiler, with libraries of more than 100 MB. How long until the
//! first tick, until the report, and how much memory at most; beside perf record and perf report.

use std::{
    fmt::Write as _,
    fs,
    io::Read as _,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use profil_tests::{Machine, places, session::RATE};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    cpus::Cpus,
    figure::{Figure, Report, mebibytes, time},
    profilers,
};

/// How long it is profiled.
const WINDOW: Duration = Duration::from_secs(5);

/// What a profiler took.
struct Cost {
    report: Duration,
    memory: u64,
}

/// Takes the figures.
pub(crate) fn measure(_machine: &Machine, _cpus: &Cpus, report: &mut Report) {
    if places::on_path("rustc").is_none() {
        report.note("large: not measured, there is no rustc");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let source = source(dir.path());
    let compiler = Compiler::start(&source, dir.path());
    let start = Instant::now();
    let profiler = profilers::ours(compiler.0.id(), RATE);
    let attach = start.elapsed();
    sleep(WINDOW);
    let ours = end(profiler.pid(), || {
        profilers::end(profiler).assert_code(0).stdout.len()
    });
    drop(compiler);

    let theirs = profilers::has_peer().then(|| {
        let compiler = Compiler::start(&source, dir.path());
        peer(&compiler, dir.path())
    });
    let beside = |show: &dyn Fn(&Cost) -> String| match &theirs {
        Some(theirs) => format!("perf record, perf report: {}", show(theirs)),
        None => profilers::NO_PEER.to_owned(),
    };
    report.figure(Figure {
        what: "attaching to rustc",
        measured: time(attach.as_nanos() as f64),
        beside: "-".to_owned(),
        ratio: None,
        target: "≤ 1 s",
    });
    report.figure(Figure {
        what: "from Ctrl-C to the report of rustc",
        measured: time(ours.report.as_nanos() as f64),
        beside: beside(&|cost| time(cost.report.as_nanos() as f64)),
        ratio: theirs
            .as_ref()
            .map(|theirs| ours.report.as_secs_f64() / theirs.report.as_secs_f64()),
        target: "≤ 3 s",
    });
    report.figure(Figure {
        what: "most resident memory for it",
        measured: mebibytes(ours.memory),
        beside: beside(&|cost| mebibytes(cost.memory)),
        ratio: theirs
            .as_ref()
            .map(|theirs| ours.memory as f64 / theirs.memory as f64),
        target: "≤ 300 MiB",
    });
}

/// The compiler at work; killed when dropped.
struct Compiler(Child);

impl Compiler {
    fn start(source: &Path, dir: &Path) -> Self {
        // What rustup puts in front of it would be another process.
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
        let sysroot = String::from_utf8(sysroot.expect("rustc").stdout).expect("a path");
        let child = Command::new(Path::new(sysroot.trim()).join("bin/rustc"))
            .args(["--crate-type", "lib", "-O", "--out-dir"])
            .arg(dir)
            .arg(source)
            .stderr(Stdio::null())
            .spawn()
            .expect("rustc starts");
        sleep(Duration::from_secs(1));
        Self(child)
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Enough work for a minute.
fn source(dir: &Path) -> std::path::PathBuf {
    let mut text = String::new();
    for number in 0..6000 {
        let _ = writeln!(
            text,
            "pub fn f{number}(x: u64) -> Vec<String> {{ let mut v: Vec<u64> = (0..x).map(|y| y * \
             {number} + 1).collect(); v.sort_by(|a, b| b.cmp(a)); v.iter().map(|z| \
             format!(\"{{z}}-{number}\")).collect() }}"
        );
    }
    let path = dir.join("large.rs");
    fs::write(&path, text).expect("there is room");
    path
}

/// Ends a profiler, and watches its memory meanwhile.
fn end(pid: u32, end: impl FnOnce() -> usize) -> Cost {
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while let Some(now) = peak(pid) {
            most = most.max(now);
            sleep(Duration::from_millis(2));
        }
        most
    });
    let start = Instant::now();
    assert!(end() > 0, "it prints a report");
    let report = start.elapsed();
    let memory = watch.join().expect("it only looks");
    Cost { report, memory }
}

/// The most resident memory that a process ever had, in bytes. `None` if it has gone.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// perf record, and then perf report on what it wrote: the latter counts.
fn peer(compiler: &Compiler, dir: &Path) -> Cost {
    let data = dir.join("perf.data");
    let mut record = Command::new("perf")
        .args(["record", "-e", "cpu-clock", "-F", &RATE.to_string(), "-p"])
        .arg(compiler.0.id().to_string())
        .arg("-o")
        .arg(&data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("perf starts");
    sleep(WINDOW);
    let start = Instant::now();
    if let Some(pid) = Pid::from_raw(record.id().cast_signed()) {
        let _ = kill_process(pid, Signal::INT);
    }
    record.wait().expect("it ends");
    let mut report = Command::new("perf")
        .args(["report", "--stdio", "-i"])
        .arg(&data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("perf starts");
    let mut out = report.stdout.take().expect("a pipe was asked for");
    let cost = end(report.id(), move || {
        let mut text = Vec::new();
        let _ = out.read_to_end(&mut text);
        let _ = report.wait();
        text.len()
    });
    Cost {
        report: start.elapsed(),
        ..cost
    }
}
