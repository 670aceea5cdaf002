//! `profil-bpf annotate` on a profile in which every bin of some functions has ticks: nothing is lost, and
//! `objdump` sees the same instructions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use profil_tests::{Annotated, Finished, Process, Profiler, Report, Workload, require_programs};
use profil_user::{
    Balance, BuildId, Count, ElfClass, Object, ObjectId, ObjectKind, Profile, Rate, Subject, Text,
    Tgid,
    annotate::{annotate, named},
    pprof::{self, Packing, Saved},
    symbolize::{Grouping, Symbolizer, functions},
};
use tempfile::TempDir;

fn run(command: &mut Command) -> String {
    let finished = Process::start(command).finish(Duration::from_secs(60));
    finished.assert_code(0);
    finished.stdout
}

/// A function of a program: its name, where it starts, and its bytes.
type Symbol = (String, u64, u64);

/// The functions of a program, by their addresses, as `nm` has them.
fn symbols(program: &Path) -> Vec<Symbol> {
    let list = run(Command::new("nm").args(["-S", "-n"]).arg(program));
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let symbols = list.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (start, size) = (number(words.next()?)?, number(words.next()?)?);
        let is_function = matches!(words.next()?, "t" | "T" | "W" | "i");
        (is_function && size > 0).then(|| Some((words.next()?.to_owned(), start, size)))?
    });
    symbols.collect()
}

fn build_id(program: &Path) -> BuildId {
    let notes = run(Command::new("readelf").arg("-n").arg(program));
    let id = notes.split("Build ID: ").nth(1).unwrap();
    id.split_whitespace().next().unwrap().parse().unwrap()
}

/// Ticks of a bin: few, and not the same in all. Some are system time.
fn ticks_at(address: u64) -> (u64, u64) {
    (1 + address / 2 % 7, u64::from(address.is_multiple_of(3)))
}

/// A profile with ticks in each bin of some functions.
fn profile(program: &Path, symbols: &[Symbol]) -> Saved {
    let start = symbols.iter().map(|(_, start, _)| *start).min().unwrap();
    let ends = symbols.iter().map(|(_, start, size)| start + size);
    let (start, end) = (start & !0xfff, (ends.max().unwrap() | 0xfff) + 1);
    let bins = symbols
        .iter()
        .flat_map(|(_, start, size)| (start & !1..start + size).step_by(2));
    let mut counts: Vec<_> = bins
        .map(|address| {
            let (user, system) = ticks_at(address);
            Count {
                object: ObjectId::new(0),
                address,
                user,
                system,
            }
        })
        .collect();
    counts.sort_by_key(|count| count.address);
    counts.dedup_by_key(|count| count.address);
    let mut saved = Saved::new(Profile {
        subject: Subject::Processes(vec![(Tgid::new(1).unwrap(), "program".to_owned())]),
        tasks: Vec::new(),
        by_task: Vec::new(),
        rate: "1000".parse::<Rate>().unwrap(),
        elapsed: Duration::from_secs(1),
        objects: vec![Object {
            kind: ObjectKind::File {
                path: program.to_owned(),
                class: Some(ElfClass::Elf64),
            },
            is_main: true,
            build_id: Some(build_id(program)),
            text: vec![Text {
                start,
                end,
                width: 2,
            }],
        }],
        counts,
        balance: Balance {
            period_ns: 1e6,
            ..Balance::default()
        },
        buffers: Vec::new(),
        notes: Vec::new(),
    });
    saved.open_files(&[], Grouping::Line);
    saved
}

/// Files in a directory of their own.
struct Files {
    dir: TempDir,
    program: PathBuf,
}

impl Files {
    /// A copy of a program, and a file of record with ticks in these functions, without their names.
    fn new(program: &Path, functions: &[&str]) -> Self {
        Self::with(program, functions, |_| {})
    }

    /// The same, with what is made of the profile before it is written.
    fn with(program: &Path, functions: &[&str], change: impl FnOnce(&mut Saved)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("program");
        fs::copy(program, &copy).unwrap();
        let symbols = symbols(&copy);
        let wanted = |name: &str| functions.contains(&name);
        let symbols: Vec<_> = symbols.into_iter().filter(|one| wanted(&one.0)).collect();
        assert_eq!(symbols.len(), functions.len(), "{symbols:?}");
        let mut saved = profile(&copy, &symbols);
        change(&mut saved);
        let file = fs::File::create(dir.path().join("saved.pb.gz")).unwrap();
        pprof::write(&saved.profile, &saved.record, Packing::Gzip, file).unwrap();
        Self { dir, program: copy }
    }

    fn profil_bpf(&self, arguments: &[&str]) -> Finished {
        let profiler = Profiler::by(Command::new(env!("CARGO_BIN_EXE_profil-bpf")));
        profiler.args(arguments).in_dir(self.dir.path()).run()
    }

    fn annotate(&self, function: &str) -> String {
        let finished = self.profil_bpf(&["annotate", function, "saved.pb.gz"]);
        finished.assert_code(0).assert_no_panic();
        assert!(finished.stderr.is_empty(), "{}", finished.stderr);
        finished.stdout
    }
}

#[test]
fn instructions_and_lines_add_up_to_what_the_report_says() {
    let names = ["spin_alpha", "spin_beta", "spin_gamma", "main"];
    let files = Files::new(&Workload::Pie.executable(), &names);
    let report = files.profil_bpf(&["report", "saved.pb.gz"]);
    let report = Report::of(&report.assert_code(0).stdout);
    for name in names {
        let annotated = Annotated::of(&files.annotate(name));
        annotated.assert_conserved();
        assert_eq!(annotated.ticks, (report.ticks_of(name), report.ticks()));
        let mut with_system = 0;
        for row in &annotated.instructions().rows {
            // Each instruction has its own bin's, or none where another begins in that, too.
            let Ok(address) = u64::from_str_radix(&row.key, 16) else {
                continue;
            };
            let ticks = (row.user, row.system);
            assert!([(0, 0), ticks_at(address & !1)].contains(&ticks), "{row:?}");
            with_system += row.system;
        }
        assert!(with_system > 0, "{:?}", annotated.instructions());
        let source = if name == "main" { "split.c" } else { "hot.c" };
        assert!(annotated.source(source).hottest().ticks() > 0);
    }
}

/// `objdump` is not ours: the same addresses, so the same lengths, and the same mnemonics.
#[test]
fn objdump_sees_the_same_instructions() {
    require_programs!("objdump");
    let program = Workload::Static.executable();
    // Of a whole C library the largest, which have the strangest instructions.
    let mut symbols = symbols(&program);
    symbols.sort_by_key(|(_, _, size)| std::cmp::Reverse(*size));
    symbols.dedup_by_key(|(_, start, _)| *start);
    symbols.truncate(16);
    let saved = profile(&program, &symbols);
    let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new());
    symbolizer.look_up(&saved);
    let rows = functions(&saved, &symbolizer);
    let mut seen = 0;
    for (name, start, size) in &symbols {
        let named = named(&rows, name);
        let Some(row) = named.iter().find(|row| row.address == *start) else {
            // It has another name too, and goes by that.
            continue;
        };
        let listing = annotate(&saved, &symbolizer, row, &[]).unwrap();
        assert_eq!(
            (listing.start, listing.end),
            (*start, start + size),
            "{name}"
        );
        assert_eq!(listing.sum.ticks(), row.ticks(), "{name}");
        let ours: Vec<_> = listing
            .instructions
            .iter()
            .map(|one| (one.address, mnemonic(&one.text)))
            .collect();
        assert_eq!(ours, objdump(&program, *start, *size), "{name}");
        seen += ours.len();
    }
    assert!(seen > 5_000, "{seen}");
}

/// Addresses and mnemonics.
fn objdump(program: &Path, start: u64, size: u64) -> Vec<(u64, String)> {
    let mut command = Command::new("objdump");
    command
        .args(["-d", "-w", "--no-show-raw-insn"])
        .arg(format!("--start-address={start:#x}"))
        .arg(format!("--stop-address={:#x}", start + size))
        .arg(program);
    let listed = run(&mut command);
    let lines = listed.lines().filter_map(|line| {
        let (address, text) = line.split_once(":\t")?;
        let address = u64::from_str_radix(address.trim(), 16).ok()?;
        Some((address, mnemonic(text)))
    });
    lines.collect()
}

/// The mnemonic, where both write it in the same way.
fn mnemonic(text: &str) -> String {
    let mut words = text.split_whitespace();
    // Padding has prefixes that mean nothing, and each has its own way to show them.
    let meaningless = ["cs", "ds", "data16", "notrack", "bnd"];
    let word = words
        .find(|word| !meaningless.contains(word))
        .unwrap_or_default();
    match word {
        // The widths of these need not be said, and the conditions of Arm have several names.
        "callq" | "jmpq" | "pushq" | "popq" | "retq" => word.trim_end_matches('q').to_owned(),
        "repz" => "rep".to_owned(),
        "b.cs" => "b.hs".to_owned(),
        "b.cc" => "b.lo".to_owned(),
        word => word.to_owned(),
    }
}

#[test]
fn what_cannot_be_annotated_is_said_in_one_line() {
    let files = Files::new(&Workload::Pie.executable(), &["spin_alpha", "spin_beta"]);
    let said = |arguments: &[&str], texts: &[&str]| {
        let finished = files.profil_bpf(&[&["annotate"], arguments].concat());
        finished.assert_code(1).assert_clear_error();
        texts.iter().for_each(|text| {
            finished.assert_says(text);
        });
    };
    said(
        &["spin_alhpa", "saved.pb.gz"],
        &[
            "no tick is in a function called spin_alhpa",
            "spin_alpha in program (",
        ],
    );
    said(
        &["spin_alpha", "saved.pb.gz", "--object", "libc*"],
        &["spin_alpha"],
    );
    // Another build in its place.
    fs::copy(Workload::NonPie.executable(), &files.program).unwrap();
    said(&["spin_alpha", "saved.pb.gz"], &["spin_alpha"]);
}

/// The program has gone; with a debug file there are names, and no code. The whole file by build id will do.
#[test]
fn code_is_that_of_the_same_build() {
    require_programs!("objcopy");
    let files = Files::new(&Workload::Pie.executable(), &["spin_alpha"]);
    let id = build_id(&files.program).to_string();
    let (first, rest) = id.split_at(2);
    let debug = files.dir.path().join("debug");
    let by_id = debug.join(".build-id").join(first);
    fs::create_dir_all(&by_id).unwrap();
    let with_code = files.annotate("spin_alpha");
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(&files.program)
        .arg(by_id.join(format!("{rest}.debug"))));
    let whole = by_id.join(rest);
    fs::rename(&files.program, files.dir.path().join("moved")).unwrap();
    let arguments = [
        "annotate",
        "spin_alpha",
        "saved.pb.gz",
        "--debug-dir",
        "debug",
    ];
    let finished = files.profil_bpf(&arguments);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says("a debug file, which has no code");
    fs::rename(files.dir.path().join("moved"), whole).unwrap();
    let finished = files.profil_bpf(&arguments);
    finished.assert_code(0);
    assert_eq!(finished.stdout, with_code);
}

/// What was recorded holds where the program was stripped since: the name, and lines where there were ticks.
#[test]
fn a_stripped_program_has_what_was_recorded() {
    require_programs!("objcopy");
    let files = Files::with(&Workload::Pie.executable(), &["spin_alpha"], |saved| {
        let mut symbolizer = Symbolizer::new().for_grouping(Grouping::Inlined);
        symbolizer.look_up(&*saved);
        saved.keep_names(&symbolizer);
    });
    let before = Annotated::of(&files.annotate("spin_alpha"));
    run(Command::new("objcopy")
        .arg("--strip-all")
        .arg(&files.program));
    let text = files.annotate("spin_alpha");
    assert!(
        text.contains("lines are those that were recorded"),
        "{text}"
    );
    assert!(text.contains("no symbol table says where"), "{text}");
    let after = Annotated::of(&text);
    after.assert_conserved();
    assert_eq!(after.ticks, before.ticks);
    let ticks = |annotated: &Annotated| -> Vec<_> {
        let rows = &annotated.source("hot.c").rows;
        let rows = rows.iter().map(|row| (row.key.clone(), row.ticks()));
        rows.filter(|(_, ticks)| *ticks > 0).collect()
    };
    assert_eq!(ticks(&after), ticks(&before));
}
