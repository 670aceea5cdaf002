//! Whether what `docs/TROUBLESHOOTING.md` explains is what is said. A heading there is a message, with
//! `…` for what differs.

use std::{io, path::PathBuf};

use profil_common::Outcome;

use crate::{
    error::StartError,
    export::{Destination, OutputError, text::note_text},
    kernel::{ClockError, Feature, LoadError, Missing, PinError},
    launch::LaunchError,
    options::{Rate, Tgid},
    pprof::{self, PprofFile},
    profile::{ElfClass, Note, ObjectId, Profile},
    recorded::RecordedError,
    serve::{StoreError, config::Exposed, http},
    symbolize::{NotApart, WhyUnnamed},
    target::{CgroupError, TargetError},
};

const PAGE: &str = include_str!("../../docs/TROUBLESHOOTING.md");
const README: &str = include_str!("../../README.md");

/// Where the program says what the library does not, and where reports are written that would take a
/// whole profile here.
const SOURCES: [&str; 9] = [
    include_str!("annotate/error.rs"),
    include_str!("bin/profil-bpf/annotate.rs"),
    include_str!("bin/profil-bpf/args/whom.rs"),
    include_str!("bin/profil-bpf/merge.rs"),
    include_str!("bin/profil-bpf/named.rs"),
    include_str!("bin/profil-bpf/top/mod.rs"),
    include_str!("export/recorded.rs"),
    include_str!("export/text.rs"),
    // Its cause is a type that only the kernel room knows.
    include_str!("kernel/object.rs"),
];

/// The messages that have a heading.
fn headings() -> Vec<&'static str> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("### `"));
    lines
        .map(|line| line.strip_suffix('`').expect("a heading is a message"))
        .collect()
}

fn tgid() -> Tgid {
    Tgid::new(42).expect("not 0")
}

fn denied() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

/// Errors, as they are printed.
fn errors() -> Vec<String> {
    let program = PathBuf::from("a/program");
    let start: Vec<StartError> = vec![
        StartError::Privileges(vec![Missing::Bpf, Missing::Perfmon]),
        StartError::RateAboveLimit {
            rate: Rate::DEFAULT,
            limit: 100,
        },
        StartError::Ended(tgid()),
        StartError::PidNamespace(denied()),
        TargetError::NoSuchProcess(tgid()).into(),
        TargetError::Zombie(tgid()).into(),
        TargetError::KernelThread(tgid()).into(),
        TargetError::IsThread {
            thread: tgid(),
            process: 41,
        }
        .into(),
        CgroupError::NotFound {
            asked: program.clone(),
        }
        .into(),
        ClockError::Open {
            what: "thread 42".to_owned(),
            source: denied(),
        }
        .into(),
        LoadError::Lacks(Feature::RingBuffers).into(),
        LoadError::Memlock {
            wanted: 2,
            limit: 1,
        }
        .into(),
        LoadError::Refused {
            source: denied(),
            log: String::new(),
        }
        .into(),
    ];
    let recorded = RecordedError::OtherClass {
        path: program.clone(),
        class: ElfClass::Elf32,
        executable: program.clone(),
    };
    let format = Destination::parse(&program, None).expect_err("no format");
    let mut all: Vec<_> = start.iter().map(ToString::to_string).collect();
    all.extend(of_the_daemon());
    all.extend([
        recorded.to_string(),
        format.to_string(),
        LaunchError::NotFound {
            program: program.clone(),
        }
        .to_string(),
        OutputError::Open {
            path: program,
            source: denied(),
        }
        .to_string(),
        NotApart::Processes.to_string(),
    ]);
    all
}

/// What the daemon says before it ends.
fn of_the_daemon() -> Vec<String> {
    let dir = PathBuf::from("/a/directory");
    let address = ([0, 0, 0, 0], 9097).into();
    vec![
        http::ServeError::Exposed(Exposed::Open(address)).to_string(),
        http::ServeError::Listen {
            address,
            source: denied(),
        }
        .to_string(),
        PinError::NotBpf(dir.clone()).to_string(),
        PinError::NotOurs(dir.clone()).to_string(),
        PinError::OtherLayout {
            path: dir.clone(),
            found: 2,
            known: 1,
        }
        .to_string(),
        PinError::Link(denied()).to_string(),
        StartError::OtherClock {
            dir: dir.clone(),
            there: "97 Hz".to_owned(),
            asked: "50 Hz".to_owned(),
        }
        .to_string(),
        StoreError::Taken(dir.clone()).to_string(),
        StoreError::Foreign {
            path: dir,
            why: "is damaged",
        }
        .to_string(),
    ]
}

/// Notes that ask for something to be done, as they are printed.
fn notes(profile: &Profile) -> Vec<String> {
    let object = ObjectId::new(0);
    let reason = || "a reason".to_owned();
    let notes = [
        Note::ShortOfTaskTicks,
        Note::OffCpuTicks,
        Note::CpuClock,
        Note::NoKernelSymbols { reason: reason() },
        Note::SideBandLost { records: 1 },
        Note::NoSideBand { reason: reason() },
        Note::NoMappings { reason: reason() },
        Note::Unreadable {
            object,
            reason: reason(),
        },
        Note::Coarsened { object, width: 4 },
        Note::RegionsFull { left_out: 1 },
        Note::Unseen { used_ns: 1 },
        Note::OtherNamespace { ticks: 1 },
    ];
    notes.iter().map(|note| note_text(profile, note)).collect()
}

/// Reasons that stand in the place of a name.
fn reasons() -> Vec<String> {
    let reasons = [
        WhyUnnamed::NoSymbols,
        WhyUnnamed::NoSuchSymbol,
        WhyUnnamed::Linkage,
        WhyUnnamed::FileUnreadable,
        WhyUnnamed::KernelHidden,
        WhyUnnamed::Generated,
        WhyUnnamed::NotLookedUp,
    ];
    reasons.iter().map(ToString::to_string).collect()
}

/// A profile, as notes are about one.
fn profile() -> Profile {
    match pprof::read(include_bytes!("pprof/tests/small.pb")).expect("one of ours") {
        PprofFile::Saved(saved) => saved.profile.clone(),
        PprofFile::Other(_) => panic!("one of ours"),
    }
}

/// Whether a heading is this message.
fn is(heading: &str, message: &str) -> bool {
    let mut parts = heading.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = message.strip_prefix(first) else {
        return false;
    };
    let mut last = first;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        last = part;
    }
    rest.is_empty() || (last.is_empty() && heading.ends_with('…'))
}

/// Literals as they are printed: with what a backslash at the end of a line leaves out.
fn unfolded(source: &str) -> String {
    let mut lines = source.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

/// Whether the sources have all that does not differ from one time to the next.
fn is_in(heading: &str, sources: &[String]) -> bool {
    sources.iter().any(|source| {
        let mut parts = heading.split('…').map(str::trim);
        parts.all(|part| source.contains(part))
    })
}

#[test]
fn every_heading_is_a_message_and_every_message_has_a_heading() {
    let profile = profile();
    let messages = [errors(), notes(&profile), reasons()].concat();
    let headings = headings();
    assert!(headings.len() > 40, "{headings:?}");
    for message in &messages {
        let about: Vec<_> = headings
            .iter()
            .filter(|heading| is(heading, message))
            .collect();
        assert_eq!(about.len(), 1, "{message:?} is explained by {about:?}");
    }

    let sources = SOURCES.map(unfolded);
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    for heading in headings {
        let is_said = messages.iter().any(|message| is(heading, message))
            || outcomes.contains(&heading)
            || is_in(heading, &sources);
        assert!(is_said, "nobody says {heading:?}");
    }
}

/// The short list in the README has the same words.
#[test]
fn the_readme_names_what_is_explained() {
    let headings = headings();
    let (_, list) = README.split_once("## When it says…").expect("a list");
    let (list, _) = list.split_once("\n## ").expect("something after it");
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `"));
    let messages: Vec<_> = rows
        .map(|row| row.split_once('`').expect("a message").0)
        .collect();
    assert!(messages.len() > 4, "{messages:?}");
    for message in messages {
        let message = message.strip_prefix("note: ").unwrap_or(message);
        assert!(headings.contains(&message), "{message:?} is not explained");
    }
}

#[test]
fn what_differs_is_left_open() {
    assert!(is("no …", "no process"));
    assert!(is("… is no …", "42 is no process"));
    assert!(is("a (… bytes), b", "a (4 bytes), b"));
    assert!(!is("… is no", "42 is no process"));
    assert!(!is("no", "no process"));
    assert!(!is("x …", "no process"));
    assert_eq!(unfolded("one \\\n    two"), "one two");
}
