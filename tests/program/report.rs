//! `profil-bpf report`: profiles from files, beside what gprof makes of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use profil_tests::{
    Finished, Process, Profiler, gprof, places, recorded::Recorded, require_programs,
};
use tempfile::TempDir;

use crate::run;

/// Builds a program in a directory of its own.
fn build(name: &str, source: &str, flags: &[&str]) -> (TempDir, PathBuf) {
    let dir = places::public_dir();
    fs::write(dir.path().join(name), source).expect("a source");
    let program = dir.path().join("program");
    let mut cc = Command::new("cc");
    cc.arg(name).args(flags).arg("-o").arg(&program);
    Process::start(cc.current_dir(dir.path()))
        .finish(Duration::from_secs(60))
        .assert_code(0);
    (dir, program)
}

/// A program that was built with `-pg` and has run, and its profile.
fn recorded(flags: &[&str]) -> (TempDir, PathBuf, PathBuf) {
    let flags = [&["-O1", "-pg"], flags].concat();
    let (dir, program) = build(
        "recorded.c",
        include_str!("../workloads/recorded.c"),
        &flags,
    );
    let mut command = Command::new(&program);
    Process::start(command.arg("100").current_dir(dir.path()))
        .finish(Duration::from_secs(60))
        .assert_code(0);
    let file = dir.path().join("gmon.out");
    (dir, program, file)
}

fn report(files: &[&Path], program: &Path) -> Recorded {
    let finished = Profiler::new()
        .arg("report")
        .args(files)
        .arg("--exe")
        .arg(program)
        .run();
    finished.assert_code(0);
    assert!(finished.stderr.is_empty(), "{}", finished.stderr);
    Recorded::of(&finished.stdout)
}

fn refused(arguments: &[&str]) -> Finished {
    let finished = run([&["report"], arguments].concat());
    finished.assert_code(1).assert_clear_error();
    finished
}

/// Both tables have the same functions with the same time, up to rounding and `ticks`.
#[track_caller]
fn assert_gprof_agrees(report: &Recorded, program: &Path, file: &Path, ticks: f64) {
    let entries = gprof::flat_profile(program, file);
    let hot = entries.iter().filter(|entry| entry.self_seconds > 0.0);
    assert!(hot.clone().count() > 0);
    for entry in hot {
        let row = report.row(&entry.name);
        let seconds = (row.seconds - entry.self_seconds).abs();
        let percent = (row.percent - entry.percent).abs();
        let tick = row.seconds / row.ticks as f64;
        let share = 100.0 / report.ticks() as f64;
        assert!(
            seconds <= 0.0051 + ticks * tick && percent <= 0.011 + ticks * share,
            "{row:?}, and gprof says {entry:?}"
        );
    }
}

#[track_caller]
fn a_program_with_pg_agrees(flags: &[&str]) {
    let (_dir, program, file) = recorded(flags);
    let report = report(&[&file], &program);
    // As a rule the bins are not quite four bytes wide. Then gprof cuts their limits off to whole
    // units of two bytes: it finds up to half of the ticks of one bin in three hundred missing,
    // and credits the others with a little more than they have. No bin has many ticks here.
    assert_gprof_agrees(&report, &program, &file, 3.0);
    let (alpha, beta) = (report.row("spin_alpha"), report.row("spin_beta"));
    assert!(alpha.ticks + beta.ticks >= 50, "{report:#?}");
    assert!(alpha.ticks > beta.ticks, "{report:#?}");
    assert!(report.sources[0].contains("rate 100"), "{report:#?}");
}

#[test]
fn non_pie() {
    require_programs!("cc", "gprof");
    a_program_with_pg_agrees(&["-fno-pie", "-no-pie"]);
}

#[test]
fn pie() {
    require_programs!("cc", "gprof");
    a_program_with_pg_agrees(&["-fPIE", "-pie"]);
}

/// Where the text ends at a multiple of 16, glibc's bins are just four bytes wide, and nothing is
/// left to disagree about.
#[test]
fn bins_of_whole_units() {
    require_programs!("cc", "gprof", "nm");
    let (_dir, program, _) = recorded(&["-no-pie"]);
    let symbols = Process::start(Command::new("nm").arg(&program)).finish(Duration::from_secs(60));
    let end = symbols
        .stdout
        .lines()
        .find(|line| line.ends_with(" etext"))
        .expect("an end");
    let end = end.split(' ').next().expect("an address");
    let end = u64::from_str_radix(end, 16).expect("an address");
    let aligned = format!("-Wl,--defsym=etext={:#x}", end.next_multiple_of(16));
    let (_dir, program, file) = recorded(&["-no-pie", &aligned]);
    let report = report(&[&file], &program);
    assert!(report.sources[0].contains("bins of 4 bytes"), "{report:#?}");
    assert_gprof_agrees(&report, &program, &file, 0.0);
}

#[test]
fn runs_add_up() {
    require_programs!("cc", "gprof");
    let (dir, program, file) = recorded(&[]);
    let copy = dir.path().join("other.out");
    fs::copy(&file, &copy).expect("a copy");
    let (once, twice) = (
        report(&[&file], &program),
        report(&[&file, &copy], &program),
    );
    assert_eq!(once.ticks() * 2, twice.ticks());
    assert_eq!(
        once.row("spin_beta").ticks * 2,
        twice.row("spin_beta").ticks
    );
    assert_eq!(twice.sources.len(), 2);
}

/// Four functions of 24 bytes, without padding, and something after them, which gprof needs.
const FUNCTIONS: &str = "\
.text
.globl _start, second, third, fourth, last
_start: .skip 24
.size _start, 24
second: .skip 24
.size second, 24
third: .skip 24
.size third, 24
fourth: .skip 24
.size fourth, 24
last: .skip 8
.section .note.GNU-stack
";

/// The address that the linker gives to the text.
const TEXT: u64 = 0x40_0000;
const LINK: &[&str] = &["-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x400000"];

/// The counters of a file, over the functions.
const COUNTS: [u16; 12] = [1000, 80, 4, 500, 320, 7, 2000, 11, 0, 1, 4000, 99];

/// A file with these counters, of so many bytes of text each.
struct File {
    word: usize,
    bsd: bool,
    width: u64,
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        let bins = 96 / self.width;
        let word = |number: u64| number.to_le_bytes()[..self.word].to_vec();
        let range = [word(TEXT), word(TEXT + bins * self.width)].concat();
        let rate = 1000_u32.to_le_bytes();
        let counts = COUNTS[..bins as usize]
            .iter()
            .flat_map(|count| count.to_le_bytes());
        let header = if self.bsd {
            let length = 2 * self.word as u32 + 24 + 2 * bins as u32;
            [
                &range[..],
                &length.to_le_bytes(),
                &0x51879_u32.to_le_bytes(),
                &rate,
                &[0; 12],
            ]
            .concat()
        } else {
            let magic = b"gmon\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
            let bins = (bins as u32).to_le_bytes();
            [
                &magic[..],
                &range,
                &bins,
                &rate,
                b"seconds\0\0\0\0\0\0\0\0s",
            ]
            .concat()
        };
        header.into_iter().chain(counts).collect()
    }
}

#[track_caller]
fn all_files_agree(word: usize, flags: &[&str]) {
    let (dir, program) = build("functions.s", FUNCTIONS, &[LINK, flags].concat());
    for bsd in [false, true] {
        // Of 8 bytes, and of 16 and 32, which lie across the functions.
        for width in [8, 16, 32] {
            let path = dir.path().join("file.gmon");
            let file = File { word, bsd, width }.bytes();
            fs::write(&path, &file).expect("a profile");
            let report = report(&[&path], &program);
            let all: u64 = COUNTS[..96 / width as usize]
                .iter()
                .map(|&count| u64::from(count))
                .sum();
            assert_eq!(report.ticks(), all);
            assert_eq!(report.notes.len(), usize::from(width > 8), "{report:#?}");
            assert_gprof_agrees(&report, &program, &path, 0.0);
        }
    }
}

#[test]
fn formats_and_widths() {
    require_programs!("cc", "gprof");
    all_files_agree(8, &[]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn formats_and_widths_of_32_bits() {
    require_programs!("cc", "gprof");
    all_files_agree(4, &["-m32"]);
}

#[test]
fn a_profile_of_another_program_is_noticed() {
    require_programs!("cc");
    let (dir, program) = build(
        "functions.s",
        FUNCTIONS,
        &["-nostdlib", "-static", "-no-pie"],
    );
    let path = dir.path().join("gmon.out");
    let mut file = File {
        word: 8,
        bsd: false,
        width: 8,
    }
    .bytes();
    // As a PIE would have it that was not told where it was loaded.
    file[21 + 5] = 0x55;
    file[29 + 5] = 0x55;
    fs::write(&path, &file).expect("a profile");
    let report = report(&[&path], &program);
    assert!(
        report.notes.iter().any(|note| note.contains("no text")),
        "{report:#?}"
    );
}

#[test]
fn a_damaged_file_says_where() {
    require_programs!("cc");
    let (dir, program) = build("functions.s", FUNCTIONS, LINK);
    let path = dir.path().join("gmon.out");
    let name = path.to_str().expect("a plain path");
    let program = program.to_str().expect("a plain path");
    let whole = File {
        word: 8,
        bsd: false,
        width: 8,
    }
    .bytes();
    fs::write(&path, &whole[..whole.len() - 1]).expect("a profile");
    refused(&[name, "--exe", program])
        .assert_says("byte 61")
        .assert_says("gmon.out");
    fs::write(&path, [&whole[..], &[9]].concat()).expect("a profile");
    refused(&[name, "--exe", program]).assert_says(&format!("byte {}", whole.len()));
    let narrow = File {
        word: 4,
        bsd: false,
        width: 8,
    }
    .bytes();
    fs::write(&path, narrow).expect("a profile");
    refused(&[name, "--exe", program]).assert_says("32-bit");
    fs::write(&path, b"gmon\0\0\0\x01............").expect("a profile");
    refused(&[name, "--exe", program]).assert_says("big-endian");
    fs::write(&path, "").expect("a profile");
    refused(&[name, "--exe", program]);
}

/// The table is the same, whoever has the symbols.
#[test]
fn a_stripped_program_and_its_debug_file() {
    require_programs!("cc", "objcopy");
    let (dir, program, file) = recorded(&["-g", "-Wl,--build-id=0xabcdef"]);
    let whole = report(&[&file], &program);
    let objcopy = |arguments: &[&str]| {
        let mut command = Command::new("objcopy");
        Process::start(
            command
                .args(arguments)
                .arg("program")
                .current_dir(dir.path()),
        )
        .finish(Duration::from_secs(60))
        .assert_code(0);
    };
    let debug = dir.path().join("debug/.build-id/ab/cdef.debug");
    fs::create_dir_all(debug.parent().expect("a directory")).expect("a directory");
    fs::copy(&program, &debug).expect("a copy");
    objcopy(&["--strip-all"]);

    let stripped = report(&[&file], &program);
    assert!(stripped.rows.iter().all(|row| row.function != "spin_alpha"));
    let finished = Profiler::new()
        .args([
            "report",
            "gmon.out",
            "--exe",
            "program",
            "--debug-dir",
            "debug",
        ])
        .in_dir(dir.path())
        .run();
    finished.assert_code(0);
    assert_eq!(Recorded::of(&finished.stdout).rows, whole.rows);
}

#[test]
fn what_is_no_profile_and_no_program() {
    refused(&["no/such/gmon.out", "--exe", "/proc/self/exe"]).assert_says("no/such/gmon.out");
    refused(&["/", "--exe", "/proc/self/exe"]);
    refused(&["/proc/self/exe", "--exe", "/proc/self/exe"]).assert_says("--exe");
    refused(&["gmon.out", "--exe", "no/such/program"]).assert_says("no/such/program");
    refused(&["gmon.out", "--exe", "/proc/self/status"]).assert_says("ELF");
    refused(&["gmon.out", "--exe", "/dev/zero"]).assert_says("regular");
}

#[test]
fn without_a_program_there_are_no_names() {
    let finished = run(["report", "gmon.out"]);
    finished
        .assert_code(2)
        .assert_clear_error()
        .assert_says("--exe");
    run(["report", "--exe", "/proc/self/exe"])
        .assert_code(2)
        .assert_clear_error();
}
