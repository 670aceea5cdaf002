//! A profile as large as they get, and what it takes to read it: for a test, and for the benchmark.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, BufWriter},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use profil_user::{
    Balance, BuildId, Count, ElfClass, Object, ObjectId, ObjectKind, Profile, Rate, Subject, Text,
    pprof::{self, Packing, Saved},
    symbolize::{Grouping, Symbolizer},
};

/// In each object, two addresses each.
const FUNCTIONS: usize = 100;

/// How long one is.
const FUNCTION_BYTES: u64 = 16;

/// Addresses with ticks in each object.
pub(crate) const ADDRESSES: usize = FUNCTIONS * 2;

/// Every format that a profile of many programs can have, by the ending of its name.
pub(crate) const FORMATS: [&str; 8] = [
    "pb.gz",
    "pb",
    "txt",
    "folded",
    "svg",
    "json",
    "csv",
    "speedscope.json",
];

/// Waits for a child; its status, and what it used (getrusage(2)).
pub(crate) fn wait(child: &Child) -> (ExitStatus, libc::rusage) {
    let pid = child.id().cast_signed();
    let mut status = 0;
    // SAFETY: numbers alone, of which zero is one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a child of ours that nobody has waited for, and places for what is said of it.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!(waited, pid, "{}", io::Error::last_os_error());
    (ExitStatus::from_raw(status), usage)
}

/// Makes the objects, the profile and its names, and writes the file of record.
pub(crate) fn write_profile(dir: &Path, path: &Path, objects: usize) {
    let image = image(dir);
    let start = address_of_first(&image);
    let objects: Vec<_> = (0..objects)
        .map(|number| object(dir, &image, number, start))
        .collect();
    let mut counts = Vec::with_capacity(objects.len() * ADDRESSES);
    for object in 0..objects.len() {
        for index in 0..ADDRESSES as u64 {
            counts.push(Count {
                object: ObjectId::new(object),
                address: start + index * FUNCTION_BYTES / 2,
                // Some are hot, and most are not.
                user: 1 + (object as u64 * 7919 + index * 104_729) % 1009 / 1000 * 100,
                system: 0,
            });
        }
    }
    let ticks = counts.iter().map(Count::ticks).sum();
    let balance = Balance {
        binned: ticks,
        ..Balance::default()
    };
    let profile = Profile {
        subject: Subject::Everything,
        rate: Rate::DEFAULT,
        elapsed: Duration::from_secs(60),
        objects,
        counts,
        tasks: Vec::new(),
        by_task: Vec::new(),
        balance,
        buffers: Vec::new(),
        notes: Vec::new(),
    };
    let mut saved = Saved::new(profile);
    saved.open_files(&[], Grouping::Function);
    let mut symbolizer = Symbolizer::new().for_grouping(Grouping::Function);
    symbolizer.look_up(&saved);
    saved.keep_names(&symbolizer);
    let out = BufWriter::new(File::create(path).expect("there is room"));
    pprof::write(&saved.profile, &saved.record, Packing::Gzip, out).expect("there is room");
}

/// A library of [`FUNCTIONS`], which the objects are copies of.
fn image(dir: &Path) -> PathBuf {
    let body = format!(".skip {FUNCTION_BYTES}");
    let mut source = String::from(".text\n.balign 64\n");
    for number in 0..FUNCTIONS {
        let _ = write!(
            source,
            ".globl function_{number}\n.type function_{number}, @function\nfunction_{number}:\n\
             {body}\n.size function_{number}, {FUNCTION_BYTES}\n"
        );
    }
    fs::write(dir.join("image.s"), source).expect("there is room");
    let built = Command::new("cc")
        .args([
            "-shared",
            "-nostdlib",
            "-Wl,--build-id=0x00ff",
            "image.s",
            "-o",
            "image.so",
        ])
        .current_dir(dir)
        .status();
    assert!(built.expect("a C compiler").success());
    dir.join("image.so")
}

fn address_of_first(image: &Path) -> u64 {
    let symbols = Command::new("nm").arg(image).output().expect("binutils");
    let symbols = String::from_utf8(symbols.stdout).expect("names");
    let line = symbols
        .lines()
        .find_map(|line| line.strip_suffix(" T function_0"));
    u64::from_str_radix(line.expect("it is there"), 16).expect("an address")
}

fn object(dir: &Path, image: &Path, number: usize, start: u64) -> Object {
    let path = dir.join(format!("lib{number:04}.so"));
    fs::hard_link(image, &path).expect("the same file by another name");
    Object {
        kind: ObjectKind::File {
            path,
            class: Some(ElfClass::Elf64),
        },
        is_main: false,
        build_id: Some("00ff".parse::<BuildId>().expect("two bytes")),
        text: vec![Text {
            start,
            end: start + FUNCTIONS as u64 * FUNCTION_BYTES,
            width: 2,
        }],
    }
}
