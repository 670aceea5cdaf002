//! What an unmodified `go tool pprof` makes of files of record.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use profil_tests::{Process, require_programs};
use profil_user::{
    Balance, BuildId, Count, ElfClass, Object, ObjectId, ObjectKind, Profile, Rate, Subject, Text,
    Tgid,
    pprof::{self, Packing, Saved},
    symbolize::{Grouping, Symbolizer},
};
use tempfile::TempDir;

/// Nobody runs it.
const SOURCE: &str = "\
static volatile int number;
void first(void) { number++; }
void second(void) { number += 3; } /* the second */
void _start(void) { first(); second(); }
";

/// Programs, and a profile of all of them.
struct Images {
    dir: TempDir,
    objects: Vec<Object>,
    counts: Vec<Count>,
}

impl Images {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("image.c"), SOURCE).unwrap();
        Self {
            dir,
            objects: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Builds one, whose functions have these ticks.
    fn add(&mut self, name: &str, flags: &[&str], [first, second]: [u64; 2]) {
        let number = self.objects.len();
        let id = format!("{:02x}00ff", number + 1);
        let mut cc = Command::new("cc");
        cc.args([
            "-g",
            "-O1",
            "-nostdlib",
            "-ffreestanding",
            "image.c",
            "-o",
            name,
        ])
        .arg(format!("-Wl,--build-id=0x{id}"))
        .args(flags);
        run(cc.current_dir(self.dir.path()));
        let symbols = run(Command::new("nm").arg(name).current_dir(self.dir.path()));
        let address = |function: &str| {
            let end = format!(" T {function}");
            let line = symbols.lines().find_map(|line| line.strip_suffix(&end));
            u64::from_str_radix(line.unwrap(), 16).unwrap()
        };
        let start = address("first");
        self.objects.push(Object {
            kind: ObjectKind::File {
                path: self.dir.path().join(name),
                class: Some(ElfClass::Elf64),
            },
            is_main: number == 0,
            build_id: Some(id.parse::<BuildId>().unwrap()),
            text: vec![Text {
                start: start & !0xfff,
                end: (start & !0xfff) + 0x1000,
                width: 2,
            }],
        });
        for (function, user) in [("first", first), ("second", second)] {
            self.counts.push(Count {
                object: ObjectId::new(number),
                address: address(function),
                user,
                system: 1,
            });
        }
    }

    /// Writes the file, with all that can be known.
    fn file(&self, name: &str) -> PathBuf {
        let mut saved = Saved::new(Profile {
            subject: Subject::Processes(vec![(Tgid::new(1).unwrap(), "image".to_owned())]),
            tasks: Vec::new(),
            by_task: Vec::new(),
            rate: "1000".parse::<Rate>().unwrap(),
            elapsed: Duration::from_secs(1),
            objects: self.objects.clone(),
            counts: self.counts.clone(),
            balance: Balance::default(),
            buffers: Vec::new(),
            notes: Vec::new(),
        });
        saved.open_files(&[], Grouping::Inlined);
        let mut symbolizer =
            Symbolizer::with_debug_dirs(Vec::new()).for_grouping(Grouping::Inlined);
        symbolizer.look_up(&saved);
        saved.keep_names(&symbolizer);
        let path = self.dir.path().join(name);
        let file = fs::File::create(&path).unwrap();
        pprof::write(&saved.profile, &saved.record, Packing::Gzip, file).unwrap();
        path
    }
}

fn run(command: &mut Command) -> String {
    let finished = Process::start(command).finish(Duration::from_secs(60));
    finished.assert_code(0);
    finished.stdout
}

/// The report that is asked for, in ticks.
fn go_tool_pprof(arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new("go");
    command
        .args(["tool", "pprof", "-sample_index=ticks", "-symbolize=none"])
        .args(arguments)
        .arg(file)
        // It wants a directory for what it fetches, and fetches nothing.
        .env("PPROF_TMPDIR", std::env::temp_dir());
    run(&mut command)
}

/// The first number of each line that ends with a text.
fn flat(report: &str, end: &str) -> Vec<i64> {
    let lines = report.lines().filter(|line| line.trim_end().ends_with(end));
    lines
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect()
}

#[test]
fn names_ticks_and_differences() {
    require_programs!("cc", "nm", "go");
    let mut images = Images::new();
    images.add("image", &["-pie"], [30, 12]);
    let file = images.file("file.pb.gz");
    let top = go_tool_pprof(&["-top"], &file);
    assert_eq!(
        (flat(&top, " first"), flat(&top, " second")),
        (vec![31], vec![13])
    );
    for text in [
        "File: image",
        "Build ID: 0100ff",
        "Duration: 1s",
        "Total samples = 44",
    ] {
        assert!(top.contains(text), "{text}:\n{top}");
    }
    let system = go_tool_pprof(&["-top", "-tagfocus=mode=system"], &file);
    assert_eq!(
        (flat(&system, " first"), flat(&system, " second")),
        (vec![1], vec![1])
    );
    images.counts[0].user = 70;
    let more = images.file("more.pb.gz");
    let base = format!("-diff_base={}", file.display());
    let difference = go_tool_pprof(&["-top", &base], &more);
    assert_eq!(flat(&difference, " first"), [40], "{difference}");
}

#[track_caller]
fn instructions_and_lines(flags: &[&str]) {
    let mut images = Images::new();
    images.add("image", flags, [30, 12]);
    let file = images.file("file.pb.gz");
    let list = go_tool_pprof(&["-list=second"], &file);
    assert_eq!(flat(&list, "/* the second */"), [13], "{list}");
    // Nothing of the first function is in the second, and the tick is at its first instruction.
    let code = go_tool_pprof(&["-disasm=second"], &file);
    let mut ticks = code.lines().filter(|line| line.contains(':'));
    assert!(
        ticks.any(|line| line.split_whitespace().next() == Some("13")),
        "{code}"
    );
    assert!(code.contains("13         13 (flat, cum)"), "{code}");
}

#[test]
fn a_program_at_a_fixed_address() {
    require_programs!("cc", "nm", "go");
    instructions_and_lines(&["-no-pie", "-static"]);
}

#[test]
fn a_program_that_can_be_anywhere() {
    require_programs!("cc", "nm", "go");
    instructions_and_lines(&["-pie"]);
}

#[test]
fn a_shared_library() {
    require_programs!("cc", "nm", "go");
    instructions_and_lines(&["-fPIC", "-shared"]);
}

/// Its text is not where its place in the file suggests.
#[test]
fn a_program_whose_text_is_far_away() {
    require_programs!("cc", "nm", "go");
    instructions_and_lines(&["-pie", "-Wl,-Ttext=0x7654000"]);
}

/// Two programs have their functions at the same addresses. Neither has the other's ticks.
#[test]
fn objects_at_the_same_addresses() {
    require_programs!("cc", "nm", "go");
    let mut images = Images::new();
    images.add("image", &["-pie"], [30, 12]);
    images.add("libimage.so", &["-pie"], [500, 600]);
    assert_eq!(images.counts[0].address, images.counts[2].address);
    let code = go_tool_pprof(&["-disasm=second"], &images.file("file.pb.gz"));
    assert!(code.contains("13         13 (flat, cum)"), "{code}");
}

/// What the daemon sends and serves has names of its own, and needs no object.
#[cfg(feature = "serve")]
#[test]
fn rows_of_all_processes() {
    use std::{sync::Arc, time::UNIX_EPOCH};

    use profil_user::serve::{ObjectLabel, ProcessLabel, Row, Spot};

    require_programs!("go");
    let row = |process: &str, object: &str, function: &str, ticks: [u64; 2]| Row {
        process: Arc::new(ProcessLabel {
            tgid: 1,
            name: process.into(),
            cgroup: "/system.slice".into(),
            container: None,
        }),
        spot: Arc::new(Spot {
            object: Arc::new(ObjectLabel {
                name: object.into(),
                path: format!("/nowhere/{object}").into(),
                build_id: None,
            }),
            function: function.into(),
            start: Some(0x1000),
        }),
        address: 0x1000,
        user: ticks[0],
        system: ticks[1],
    };
    let rows = [
        row("one", "one", "first", [30, 1]),
        row("two", "libtwo.so", "second", [12, 0]),
    ];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.pb.gz");
    let bytes = pprof::write_rows(&rows, 10_000_000, UNIX_EPOCH, Duration::from_secs(60));
    fs::write(&file, bytes).unwrap();
    let top = go_tool_pprof(&["-top"], &file);
    assert_eq!(
        (flat(&top, " first"), flat(&top, " second")),
        (vec![31], vec![12])
    );
    assert!(top.contains("Duration: 60s, Total samples = 43"), "{top}");
    let system = go_tool_pprof(&["-top", "-tagfocus=mode=system"], &file);
    assert_eq!(flat(&system, " first"), [1], "{system}");
    let two = go_tool_pprof(&["-top", "-tagfocus=comm=two"], &file);
    assert_eq!(
        (flat(&two, " first"), flat(&two, " second")),
        (vec![], vec![12])
    );
}
