//! What an unmodified gprof makes of every kind of file that we write.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use profil_tests::{
    gprof::{self, Entry, entry},
    require_programs,
};
use profil_user::{
    Balance, Count, ElfClass, Object, ObjectId, ObjectKind, Profile, Rate, Subject, TaskId, Text,
    Tgid,
    export::{
        gmon::{self, Variant},
        syms,
    },
    symbolize::{Function, Place, WhyUnnamed},
};
use tempfile::TempDir;

/// Functions of 32 bytes each. The last is there because gprof drops what is in the last.
const SOURCE: &str = "\
.text
.globl _start, first, second, last
_start: .skip 32
first: .skip 32
second: .skip 32
.type hidden.isra.0, %function
hidden.isra.0: .skip 32
last: .skip 32
.section .note.GNU-stack
";

const FIRST: u64 = 32;
const SECOND: u64 = 64;
const HIDDEN: u64 = 96;

/// A program that nobody runs, and where its text begins.
struct Image {
    dir: TempDir,
    class: ElfClass,
    text: u64,
}

impl Image {
    fn build(class: ElfClass, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("image.s"), SOURCE).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-nostdlib", "image.s", "-o", "image"]).args(flags);
        run(cc.current_dir(dir.path()));
        let symbols = run(Command::new("nm").arg("image").current_dir(dir.path()));
        let start = symbols.lines().find(|line| line.ends_with(" _start"));
        let text = start.unwrap().split(' ').next().unwrap();
        let text = u64::from_str_radix(text, 16).unwrap();
        Self { dir, class, text }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    /// A profile of it, with these ticks at these distances from the beginning of its text.
    fn profile(&self, width: u64, ticks: &[(u64, u64)]) -> Profile {
        let object = ObjectId::new(0);
        Profile {
            subject: Subject::Processes(vec![(Tgid::new(1).unwrap(), "image".to_owned())]),
            tasks: Vec::new(),
            by_task: Vec::new(),
            rate: "1000".parse::<Rate>().unwrap(),
            elapsed: Duration::ZERO,
            objects: vec![Object {
                kind: ObjectKind::File {
                    path: self.path(),
                    class: Some(self.class),
                },
                is_main: true,
                build_id: None,
                text: vec![Text {
                    start: self.text,
                    end: self.text + 160,
                    width,
                }],
            }],
            counts: ticks
                .iter()
                .map(|&(distance, user)| Count {
                    object,
                    address: self.text + distance,
                    user,
                    system: 0,
                })
                .collect(),
            balance: Balance::default(),
            buffers: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn file(&self, name: &str, fill: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut bytes = Vec::new();
        fill(&mut bytes);
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn gmon(&self, profile: &Profile, variant: Variant) -> PathBuf {
        let object = ObjectId::new(0);
        self.file("gmon.out", |out| {
            gmon::write(profile, object, variant, out).unwrap();
        })
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn assert_seconds(entries: &[Entry], expected: &[(&str, f64)]) {
    for &(name, seconds) in expected {
        let entry = entry(entries, name);
        assert!(
            (entry.self_seconds - seconds).abs() < 0.0051,
            "{entry:?}, not {seconds} s"
        );
    }
    assert_eq!(entries.len(), expected.len(), "{entries:#?}");
}

/// Every image that this machine's compiler makes: position-independent and not, 64 and 32 bits.
fn images() -> Vec<Image> {
    let mut images = vec![
        Image::build(ElfClass::Elf64, &["-static", "-no-pie"]),
        Image::build(ElfClass::Elf64, &["-shared"]),
    ];
    // One assembler is for both widths there, and no library is needed.
    if cfg!(target_arch = "x86_64") {
        images.push(Image::build(
            ElfClass::Elf32,
            &["-m32", "-static", "-no-pie"],
        ));
        images.push(Image::build(ElfClass::Elf32, &["-m32", "-shared"]));
    }
    images
}

#[test]
fn both_formats_in_both_widths() {
    require_programs!("gprof", "cc", "nm");
    for image in images() {
        for variant in [Variant::Gnu, Variant::Bsd] {
            let profile = image.profile(2, &[(FIRST, 1000), (FIRST + 30, 500), (SECOND, 60_000)]);
            let file = image.gmon(&profile, variant);
            let entries = gprof::flat_profile(&image.path(), &file);
            assert_seconds(&entries, &[("first", 1.5), ("second", 60.0)]);
        }
    }
}

#[test]
fn counts_of_any_size() {
    require_programs!("gprof", "cc", "nm");
    for image in images() {
        let profile = image.profile(2, &[(FIRST, 1_000_000), (SECOND + 8, 131_080)]);
        let file = image.gmon(&profile, Variant::Gnu);
        let entries = gprof::flat_profile(&image.path(), &file);
        assert_seconds(&entries, &[("first", 1000.0), ("second", 131.08)]);
    }
}

#[test]
fn widths_that_are_no_powers_of_two() {
    require_programs!("gprof", "cc", "nm");
    let image = Image::build(ElfClass::Elf64, &["-static", "-no-pie"]);
    for width in [3, 6, 12, 16, 24] {
        let profile = image.profile(width, &[(FIRST, 1000), (SECOND, 3000)]);
        let file = image.gmon(&profile, Variant::Gnu);
        let entries = gprof::flat_profile(&image.path(), &file);
        assert_seconds(&entries, &[("first", 1.0), ("second", 3.0)]);
    }
}

#[test]
fn far_parts_of_the_text() {
    require_programs!("gprof", "cc", "nm");
    let image = Image::build(ElfClass::Elf64, &["-static", "-no-pie"]);
    // Beyond the program: in the last symbol, which gprof drops, but not without reading it.
    let profile = image.profile(2, &[(FIRST, 1000), (0x1000_0000, 4000)]);
    let file = image.gmon(&profile, Variant::Gnu);
    let entries = gprof::flat_profile(&image.path(), &file);
    assert_seconds(&entries, &[("first", 1.0)]);
}

fn function(
    image: &Image,
    distance: u64,
    name: Result<&str, WhyUnnamed>,
    mangled: Option<&str>,
) -> Function {
    Function {
        object: ObjectId::new(0),
        address: image.text + distance,
        name: name.map(str::to_owned),
        mangled: mangled.map(str::to_owned),
        task: TaskId::ALL,
        place: Place::Whole,
        user: 1,
        system: 0,
    }
}

fn with_symbols(image: &Image, profile: &Profile, functions: &[Function]) -> Vec<Entry> {
    let symbols = image.file("names.syms", |out| {
        syms::write(profile, functions, ObjectId::new(0), out).unwrap();
    });
    let file = image.gmon(profile, Variant::Gnu);
    gprof::flat_profile_with_symbols(&symbols, &image.path(), &file)
}

/// gprof leaves local names with dots out, and gives their time to the function before.
#[test]
fn a_clone_gets_its_name_back() {
    require_programs!("gprof", "cc", "nm");
    for image in images() {
        let profile = image.profile(2, &[(SECOND, 1000), (HIDDEN, 2000)]);
        let file = image.gmon(&profile, Variant::Gnu);
        assert_seconds(
            &gprof::flat_profile(&image.path(), &file),
            &[("second", 3.0)],
        );
        let functions = [
            function(&image, HIDDEN, Ok("hidden.isra.0"), None),
            function(&image, SECOND, Ok("second"), None),
        ];
        let entries = with_symbols(&image, &profile, &functions);
        assert_seconds(&entries, &[("second", 1.0), ("hidden.isra.0", 2.0)]);
    }
}

#[test]
fn a_stripped_program_gets_names() {
    require_programs!("gprof", "cc", "nm");
    let image = Image::build(ElfClass::Elf64, &["-static", "-no-pie"]);
    let profile = image.profile(
        2,
        &[
            (FIRST, 1000),
            (SECOND, 2000),
            (HIDDEN, 3000),
            (HIDDEN + 30, 4000),
        ],
    );
    run(Command::new("strip").arg(image.path()));
    let rust = "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h0123456789abcdefE";
    let functions = [
        function(
            &image,
            FIRST,
            Ok("<alloc::string::String as core::fmt::Write>::write_str"),
            Some(rust),
        ),
        function(&image, SECOND, Ok("add(int, char)"), Some("_Z3addic")),
        function(&image, HIDDEN, Err(WhyUnnamed::NoSymbols), None),
        function(&image, HIDDEN + 30, Ok("the last one"), None),
    ];
    let mut entries = with_symbols(&image, &profile, &functions);
    // With or without the hash, as gprof likes it.
    for entry in &mut entries {
        entry.name = entry.name.replace("::h0123456789abcdef", "");
    }
    let address = format!("image+{:#x}_(stripped)", image.text + HIDDEN);
    let readable = "<alloc::string::String as core::fmt::Write>::write_str";
    assert_seconds(
        &entries,
        &[
            (readable, 1.0),
            ("add(int, char)", 2.0),
            (&address, 3.0),
            // Without the end marker, gprof would drop it.
            ("the_last_one", 4.0),
        ],
    );
}

#[test]
fn names_that_are_too_long_or_hostile_break_nothing() {
    require_programs!("gprof", "cc", "nm");
    let image = Image::build(ElfClass::Elf64, &["-static", "-no-pie"]);
    let profile = image.profile(2, &[(FIRST, 1000), (SECOND, 2000)]);
    let long = "q".repeat(5000);
    let functions = [
        function(&image, FIRST, Ok(&long), None),
        function(&image, SECOND, Ok("a\n0000000000000000 T b"), None),
    ];
    let entries = with_symbols(&image, &profile, &functions);
    assert_eq!(entries.len(), 2, "{entries:#?}");
    assert_eq!(entries[0].name, "a\\u{a}0000000000000000_T_b");
    assert!(long.starts_with(&entries[1].name) && entries[1].name.len() > 900);
}

/// The marker is past every bin, whatever their width.
#[test]
fn wide_bins_do_not_reach_the_end_marker() {
    require_programs!("gprof", "cc", "nm");
    let image = Image::build(ElfClass::Elf64, &["-static", "-no-pie"]);
    for width in [2, 4096, 0x2_0000] {
        let profile = image.profile(width, &[(HIDDEN, 4000)]);
        let functions = [function(&image, 0, Ok("all"), None)];
        let entries = with_symbols(&image, &profile, &functions);
        let [one] = &entries[..] else {
            panic!("{entries:#?}")
        };
        // Of a bin that begins before the first name, gprof drops that part.
        assert!(
            one.name == "all" && one.self_seconds > 1.0,
            "{width}: {one:?}"
        );
    }
}
