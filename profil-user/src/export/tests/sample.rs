//! A profile with names of every kind: long, wide, hostile, and none at all.

use std::{path::PathBuf, time::Duration};

use profil_common::{Outcome, Tally};

use crate::{
    options::{Rate, Tgid},
    profile::{
        Balance, Count, ElfClass, Note, Object, ObjectId, ObjectKind, Profile, Subject, Task,
        TaskId,
    },
    symbolize::{Function, Line, Place, WhyUnnamed},
};

/// Names as the worst of programs have them.
pub(super) const HOSTILE: [&str; 8] = [
    "=cmd|'/c calc'!A0",
    "\t@SUM(1+1)",
    "a;=b",
    "quote\" and, comma\r\nand line",
    "\u{1b}[2J\u{7}",
    "\u{202e}gnp.exe",
    "関数<größe>",
    "worker 7",
];

/// A C++ name of four kilobytes.
pub(super) fn long() -> String {
    format!(
        "std::map<{}>::at(int)",
        "std::pair<int, char>, ".repeat(186)
    )
}

/// One process: an executable, the kernel, code without a name and a source line.
pub(super) fn plain() -> (Profile, Vec<Function>) {
    let tgid = Tgid::new(7).expect("a number");
    let objects = vec![
        file("/opt/my program/prog", true),
        file("/usr/lib/libc.so.6", false),
        object(ObjectKind::Kernel),
        object(ObjectKind::Anonymous { tgid: 7 }),
    ];
    let functions = vec![
        Function {
            mangled: Some("_Z1fi".to_owned()),
            ..function(0, 0x1000, "f(int)", (600, 50))
        },
        function(2, 0xffff_ffff_8100_0000, "entry_SYSCALL_64", (0, 200)),
        Function {
            name: Err(WhyUnnamed::NoSymbols),
            ..function(1, 0x29d90, "", (100, 0))
        },
        Function {
            place: Place::Line(Line {
                file: "src/a b.c".into(),
                number: 12,
            }),
            ..function(0, 0x1040, "g", (40, 0))
        },
        Function {
            name: Err(WhyUnnamed::Generated),
            ..function(3, 0x7f00_0000, "", (10, 0))
        },
    ];
    let subject = Subject::Processes(vec![(tgid, "prog".to_owned())]);
    (profile(subject, objects, &functions), functions)
}

/// Two threads and a process, with all [`HOSTILE`] names, and the long one.
pub(super) fn hostile() -> (Profile, Vec<Function>) {
    let objects = vec![file("/tmp/-x\u{1b}]0;y\n.so", false)];
    let names = HOSTILE.map(str::to_owned).into_iter().chain([long()]);
    let functions: Vec<_> = names
        .enumerate()
        .map(|(index, name)| Function {
            task: TaskId::new(1 + index / 4),
            ..function(
                0,
                0x1000 * (index as u64 + 1),
                &name,
                (90 - index as u64, 0),
            )
        })
        .collect();
    let task = |tid, name: &str| Task {
        tgid: 10,
        tid,
        name: name.to_owned(),
        inner: None,
    };
    let mut profile = profile(Subject::Everything, objects, &functions);
    profile.tasks = vec![
        task(Some(10), "+a;b"),
        task(Some(11), "\u{202e}c\n"),
        Task {
            inner: Some(1),
            ..task(None, "")
        },
    ];
    (profile, functions)
}

/// Nothing at all.
pub(super) fn empty() -> (Profile, Vec<Function>) {
    (profile(Subject::Everything, Vec::new(), &[]), Vec::new())
}

fn profile(subject: Subject, objects: Vec<Object>, functions: &[Function]) -> Profile {
    let count = |function: &Function| Count {
        object: function.object,
        address: function.address,
        user: function.user,
        system: function.system,
    };
    let mut counts: Vec<_> = functions.iter().map(count).collect();
    counts.sort_by_key(|count| (count.object, count.address));
    let of_tasks = functions.iter().filter(|one| one.task != TaskId::ALL);
    let by_task = of_tasks.map(|one| (one.task, count(one))).collect();
    let ticks = functions.iter().map(Function::ticks).sum();
    let mut tally = Tally {
        runs: ticks,
        ..Tally::default()
    };
    tally.outcomes[Outcome::Binned as usize] = ticks;
    Profile {
        subject,
        rate: Rate::DEFAULT,
        elapsed: Duration::from_millis(1500),
        objects,
        counts,
        tasks: Vec::new(),
        by_task,
        balance: Balance {
            tally,
            binned: ticks,
            due_ns: ticks * Rate::DEFAULT.period_ns(),
            period_ns: Rate::DEFAULT.period_ns() as f64,
            kernel_bytes: 1 << 20,
            ..Balance::default()
        },
        buffers: Vec::new(),
        notes: vec![Note::CpuClock],
    }
}

fn file(path: &str, is_main: bool) -> Object {
    Object {
        is_main,
        build_id: "00112233445566778899aabbccddeeff00112233".parse().ok(),
        ..object(ObjectKind::File {
            path: PathBuf::from(path),
            class: Some(ElfClass::Elf64),
        })
    }
}

fn object(kind: ObjectKind) -> Object {
    Object {
        kind,
        is_main: false,
        build_id: None,
        text: Vec::new(),
    }
}

fn function(object: usize, address: u64, name: &str, (user, system): (u64, u64)) -> Function {
    Function {
        task: TaskId::ALL,
        object: ObjectId::new(object),
        address,
        name: Ok(name.to_owned()),
        mangled: None,
        place: Place::Whole,
        user,
        system,
    }
}
