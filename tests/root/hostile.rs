//! Processes that mean harm: their ticks are counted, what cannot be believed is said, and nothing
//! ends early.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use profil_tests::{
    Profiler, Target, Workload, claim_machine, places, process::Finished, profiler::PATIENCE,
    report::Report, session::RATE,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A process that is killed with the test.
struct Quiet(Child);

impl Quiet {
    fn start(mut command: Command) -> Self {
        Self(command.spawn().expect("the target starts"))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Profiles for a moment, and checks what must hold of every report.
#[track_caller]
fn profile(arguments: &[&str], time: &str) -> (Report, Finished) {
    let rate = RATE.to_string();
    let profiler = Profiler::new()
        .args(["-F", &rate, "-d", time])
        .args(arguments);
    let finished = profiler.start().finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved();
    (report, finished)
}

/// `--pid` for each.
fn pids(children: &[Quiet]) -> Vec<String> {
    let ids = children.iter().map(|child| child.0.id().to_string());
    ids.flat_map(|id| ["--pid".to_owned(), id]).collect()
}

fn as_strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// An executable of these bytes.
fn program(dir: &Path, name: &str, image: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, image).expect("there is room");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, mode).expect("it is ours");
    path
}

/// Copies of a busy program with some bytes of the ELF header overwritten (elf(5)).
fn damaged(dir: &Path) -> Vec<PathBuf> {
    let image = fs::read(Workload::Busy.executable()).expect("it was built");
    // e_shoff, e_shnum, e_shentsize, e_shstrndx
    [
        (40, &[0, 0, 0, 0, 0, 1, 0, 0][..]),
        (40, &[0xff; 8]),
        (60, &[0xff; 2]),
        (58, &[1, 0]),
        (62, &[0xf0, 0xfe]),
    ]
    .into_iter()
    .enumerate()
    .map(|(index, (at, bytes))| {
        let mut image = image.clone();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        program(dir, &format!("damaged-{index}"), &image)
    })
    .collect()
}

#[test]
fn broken_section_headers_cost_names_only() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let programs = damaged(dir.path());
    let targets: Vec<_> = programs
        .iter()
        .map(|path| Quiet::start(Command::new(path)))
        .collect();
    let (report, _) = profile(&as_strs(&pids(&targets)), "1s");
    for program in &programs {
        let name = program
            .file_name()
            .and_then(|name| name.to_str())
            .expect("plain");
        let mut rows = report.rows.iter().filter(|row| row.is_in(name)).peekable();
        assert!(rows.peek().is_some(), "{name} ticked");
        for row in rows {
            assert!(
                row.function.ends_with("(symbol tables not readable)"),
                "{row:?}"
            );
        }
    }
}

/// The busy program, with another name for its function: at the end of the strings, which move to the
/// end of the file.
fn renamed(name: &[u8]) -> Vec<u8> {
    let mut image = fs::read(Workload::Busy.executable()).expect("it was built");
    let word = |image: &[u8], at: usize, bytes: usize| {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&image[at..at + bytes]);
        u64::from_le_bytes(word) as usize
    };
    // e_shoff; then sh_type, sh_offset, sh_size and sh_link in headers of 64 bytes (elf(5)).
    let header = |image: &[u8], index: usize| word(image, 40, 8) + 64 * index;
    let count = word(&image, 60, 2);
    let mut tables = (0..count).map(|index| header(&image, index));
    let table = tables.find(|&at| word(&image, at + 4, 4) == 2);
    let table = table.expect("it has a symbol table");
    let strings = header(&image, word(&image, table + 40, 4));
    let [(symbols, symbol_bytes), (old, old_bytes)] =
        [table, strings].map(|at| (word(&image, at + 24, 8), word(&image, at + 32, 8)));
    let mut symbols = (symbols..symbols + symbol_bytes).step_by(24);
    let spin = symbols.find(|&at| image[old + word(&image, at, 4)..].starts_with(b"spin\0"));
    let spin = spin.expect("it has its function");
    image[spin..spin + 4].copy_from_slice(&(old_bytes as u32).to_le_bytes());
    let place = (image.len() as u64).to_le_bytes();
    let size = ((old_bytes + name.len() + 1) as u64).to_le_bytes();
    image[strings + 24..strings + 32].copy_from_slice(&place);
    image[strings + 32..strings + 40].copy_from_slice(&size);
    image.extend_from_within(old..old + old_bytes);
    image.extend(name);
    image.push(0);
    image
}

#[test]
fn names_of_a_megabyte_and_of_escapes_fit_a_line() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let named = |file: &str, name: &[u8]| {
        let image = renamed(name);
        Quiet::start(Command::new(program(dir.path(), file, &image)))
    };
    let targets = [
        named("long", &[b'A'; 1 << 20]),
        // Red, and from right to left.
        named("escape", "evil\u{1b}[31m\u{202e}live".as_bytes()),
    ];
    let (report, finished) = profile(&as_strs(&pids(&targets)), "1s");
    assert!(
        finished.stdout.len() < 1 << 16,
        "{} bytes",
        finished.stdout.len()
    );
    assert!(!finished.stdout.contains(['\x1b', '\u{202e}']));
    let mut names = report.rows.iter().map(|row| &*row.function);
    let long = |name: &str| name.starts_with("AAAA") && name.ends_with("… (1048576 bytes)");
    assert!(names.clone().any(long), "{}", finished.stdout);
    assert!(
        names.any(|name| name == r"evil\u{1b}[31m\u{202e}live"),
        "{}",
        finished.stdout
    );
}

/// A perf map, or what is in its place; gone with the test.
struct Placed(PathBuf);

impl Drop for Placed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn what_is_no_perf_map_is_not_waited_for() {
    let _machine = claim_machine!();
    let mut targets = [(); 4].map(|()| Target::start_with(Workload::Jit, &[]));
    let placed = targets
        .each_ref()
        .map(|target| Placed(format!("/tmp/perf-{}.map", target.pid()).into()));
    let [fifo, link, directory, huge] = placed.each_ref().map(|placed| placed.0.as_path());
    mknodat(CWD, fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    symlink("/proc/kcore", link).expect("a link");
    fs::create_dir(directory).expect("a directory");
    let huge = fs::File::create(huge).expect("a file");
    huge.set_len(1 << 30).expect("a gigabyte of nothing");
    let numbers = targets.each_ref().map(|target| target.pid().to_string());
    let arguments: Vec<_> = numbers.iter().flat_map(|pid| ["--pid", pid]).collect();
    for target in &mut targets {
        target.go_and_hold(Duration::from_secs(1));
    }
    let (report, _) = profile(&[&arguments[..], &["--per-process"]].concat(), "1s");
    for (pid, why) in numbers.iter().zip([
        "is no regular file",
        "is no regular file",
        "is no regular file",
        "is too large",
    ]) {
        let why = format!("(generated code; its perf map {why})");
        let rows = report.task(&format!("pid {pid} "));
        assert!(
            rows.iter().any(|row| row.function.ends_with(&why)),
            "{rows:#?}"
        );
    }
}

/// A process that gives itself new names without end, and one that dies all the time.
#[test]
fn the_restless_neither_hold_it_up_nor_reach_the_terminal() {
    let _machine = claim_machine!();
    let shell = |script: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]);
        Quiet::start(shell)
    };
    let restless = shell(r"while :; do printf 'a\033[2J\377' > /proc/$$/comm; done");
    let mortal = shell("while :; do (exit 0) & (exit 0); done");
    let id = restless.0.id().to_string();
    let name = || fs::read(format!("/proc/{id}/comm")).expect("it lives");
    let begun = Instant::now();
    while !name().starts_with(b"a\x1b") {
        assert!(begun.elapsed() < PATIENCE, "it keeps its name");
        sleep(Duration::from_millis(5));
    }
    let begun = Instant::now();
    for whom in [
        &["--pid", &*id][..],
        &["--comm", "a*"],
        &["--all", "--per-thread"],
    ] {
        let (_, finished) = profile(whom, "500ms");
        let escaped = !finished.stdout.contains('\x1b') && !finished.stderr.contains('\x1b');
        assert!(escaped, "{}", finished.stdout);
        if whom[0] != "--comm" {
            assert!(
                finished.stdout.contains(r"a\u{1b}[2J"),
                "{}",
                finished.stdout
            );
        }
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    drop(mortal);
}
