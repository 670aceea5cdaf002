pub(crate) mod arbitrary;
mod damage;
mod others;

use std::{path::PathBuf, sync::Arc, time::Duration};

use proptest::prelude::*;
use prost::Message as _;

use super::{Packing, PprofFile, Record, Saved, read, schema, write};
use crate::{
    export::text,
    options::{Rate, Tgid},
    profile::{
        Balance, Count, ElfClass, Note, Object, ObjectId, ObjectKind, Profile, Subject, Task,
        TaskId, Text,
    },
    symbolize::{Grouping, Inlined, Line, Name, Names, Source, Symbolizer, View, WhyUnnamed},
};

fn bytes(profile: &Profile, record: &Record, packing: Packing) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(profile, record, packing, &mut bytes).expect("memory");
    bytes
}

/// The file as other tools see it.
fn file_of(profile: &Profile, record: &Record) -> schema::Profile {
    let bytes = bytes(profile, record, Packing::Plain);
    schema::Profile::decode(&*bytes).expect("a message")
}

#[track_caller]
fn saved(bytes: &[u8]) -> Saved {
    match read(bytes) {
        Ok(PprofFile::Saved(saved)) => *saved,
        other => panic!("not a profile of ours: {other:?}"),
    }
}

/// The report, by function and by line.
fn report(saved: &Saved) -> String {
    let mut out = Vec::new();
    for grouping in [Grouping::Function, Grouping::Inlined, Grouping::Line] {
        let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new()).for_grouping(grouping);
        symbolizer.complete(saved, saved.record.names.clone());
        let view = View {
            grouping,
            ..View::default()
        };
        let rows = view.rows(saved, &symbolizer);
        text::write(&saved.profile, &rows, text::Layout::default(), &mut out).expect("memory");
    }
    String::from_utf8(out).expect("text")
}

/// Two objects that overlap, and functions of all kinds.
pub(crate) fn small() -> (Profile, Record) {
    let file = |path: &str, is_main, id: &str| Object {
        kind: ObjectKind::File {
            path: PathBuf::from(path),
            class: Some(ElfClass::Elf64),
        },
        is_main,
        build_id: id.parse().ok(),
        text: vec![Text {
            start: 0x1000,
            end: 0x2000,
            width: 2,
        }],
    };
    let count = |object, address, user, system| Count {
        object: ObjectId::new(object),
        address,
        user,
        system,
    };
    let mut names = Names::default();
    let function = |name: &str, mangled: Option<&str>, start| Name::Function {
        name: name.into(),
        mangled: mangled.map(Into::into),
        start,
    };
    let line = |file: &str, number| Line {
        file: file.into(),
        number,
    };
    let mut name =
        |object, address, name| names.names.insert((ObjectId::new(object), address), name);
    name(0, 0x1010, function("f(int)", Some("_Z1fi"), 0x1000));
    name(0, 0x1020, function("f(int)", Some("_Z1fi"), 0x1000));
    name(1, 0x1000, function("g", None, 0x1000));
    name(1, 0x1800, Name::Unnamed(WhyUnnamed::NoSuchSymbol));
    name(2, 0x7f00_0000, Name::Unnamed(WhyUnnamed::Generated));
    let source = Source {
        line: Some(line("f.cc", 7)),
        inlined: vec![Inlined {
            name: "inner".into(),
            mangled: None,
            line: Some(line("inner.h", 2)),
        }],
    };
    names.sources.insert((ObjectId::new(0), 0x1020), source);
    let profile = Profile {
        subject: Subject::Command(Tgid::new(7).expect("a number"), "prog".to_owned()),
        rate: Rate::DEFAULT,
        elapsed: Duration::from_millis(1500),
        objects: vec![
            file(
                "/bin/prog",
                true,
                "00112233445566778899aabbccddeeff00112233",
            ),
            file("/lib/libg.so", false, ""),
            Object {
                kind: ObjectKind::Anonymous { tgid: 7 },
                is_main: false,
                build_id: None,
                text: Vec::new(),
            },
        ],
        counts: vec![
            count(0, 0x1010, 5, 1),
            count(0, 0x1020, 4, 0),
            count(1, 0x1000, 0, 3),
            count(1, 0x1800, 2, 0),
            count(2, 0x7f00_0000, 1, 0),
        ],
        tasks: Vec::new(),
        by_task: Vec::new(),
        balance: Balance {
            period_ns: 1_003_009.0,
            due_ns: 16_000_000,
            ..Balance::default()
        },
        buffers: Vec::new(),
        notes: vec![Note::CpuClock],
    };
    let mut record = Record::with_files(&profile, |_| None, names, 1_700_000_000_000_000_000);
    record.pieces[0][0].offset = 0x800;
    (profile, record)
}

#[test]
fn same_profile_same_bytes() {
    let (profile, record) = small();
    let bytes = bytes(&profile, &record, Packing::Plain);
    let golden = include_bytes!("tests/small.pb");
    if bytes != golden {
        let path = std::env::temp_dir().join("small.pb");
        std::fs::write(&path, &bytes).expect("room for a file");
        panic!("other bytes than tests/small.pb: {}", path.display());
    }
}

#[test]
fn packed_it_is_the_same() {
    let (profile, record) = small();
    let packed = bytes(&profile, &record, Packing::Gzip);
    assert_eq!(packed, bytes(&profile, &record, Packing::Gzip));
    assert_eq!(packed[4..8], [0; 4], "a time would make it another file");
    let plain = saved(&bytes(&profile, &record, Packing::Plain));
    assert_eq!(report(&saved(&packed)), report(&plain));
}

#[test]
fn objects_that_overlap_are_moved_apart_and_back() {
    let (profile, record) = small();
    let file = file_of(&profile, &record);
    let addresses: Vec<_> = file.location.iter().map(|one| one.address).collect();
    const FREE: u64 = 1 << 60;
    // The second address of each bin; generated code is where it is.
    assert_eq!(
        addresses,
        [0x1011, 0x1021, FREE + 1, FREE + 0x801, 0x7f00_0000]
    );
    let [main, other, generated] = file.mapping[..] else {
        panic!("{:?}", file.mapping)
    };
    let place = |one: schema::Mapping| (one.memory_start, one.memory_limit, one.file_offset);
    assert_eq!(place(main), (0x1000, 0x2000, 0x800));
    assert_eq!(place(other), (FREE, FREE + 0x1000, 0x1000));
    assert_eq!(place(generated), (0x7f00_0000, 0x7f00_1000, 0x7f00_0000));
    assert!(main.has_functions && main.has_inline_frames && main.has_line_numbers);
    assert!(other.has_functions && !other.has_filenames);
    assert!(!generated.has_functions);
    let again = saved(&bytes(&profile, &record, Packing::Plain));
    assert_eq!(again.profile.counts, profile.counts);
}

/// We write none, but others do, and what is written again must be the same.
#[test]
fn functions_of_one_name_keep_their_symbols() {
    let (profile, mut record) = small();
    record.names.sources = Default::default();
    let symbols: [Arc<str>; 2] = ["_ZN1AC1Ev".into(), "_ZN1AC2Ev".into()];
    let name: Arc<str> = "A::A()".into();
    let object = profile.counts[0].object;
    let of_it = profile.counts.iter().filter(|one| one.object == object);
    for (one, symbol) in of_it.zip(&symbols) {
        let function = Name::Function {
            name: Arc::clone(&name),
            mangled: Some(Arc::clone(symbol)),
            start: 0x1000,
        };
        record.names.names.insert((object, one.address), function);
    }
    let again = saved(&bytes(&profile, &record, Packing::Plain));
    assert_eq!(again.record.names, record.names);
}

#[test]
fn a_sample_of_nothing_is_no_count() {
    let (profile, record) = small();
    let file = bytes(&profile, &record, Packing::Plain);
    let mut file = schema::Profile::decode(&*file).unwrap();
    let before = file.sample.len();
    for sample in &mut file.sample[1..] {
        sample.value.fill(0);
    }
    let odd = super::sealed_anew(&file.encode_to_vec()).unwrap();
    let again = saved(&odd);
    let ticked = again.profile.counts.iter().all(|count| count.ticks() > 0);
    assert!(ticked && before > 1, "{:?}", again.profile.counts);
    let written = bytes(&again.profile, &again.record, Packing::Plain);
    assert_eq!(saved(&written).profile.counts, again.profile.counts);
}

#[test]
fn what_another_tool_has_changed_is_not_ours_any_more() {
    let (profile, record) = small();
    let mut file = file_of(&profile, &record);
    saved(&file.encode_to_vec());
    file.sample[0].value[0] += 1;
    let changed = read(&file.encode_to_vec());
    assert!(matches!(changed, Ok(PprofFile::Other(_))), "{changed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is lost, and the report is the same text.
    #[test]
    fn what_is_written_is_read((profile, record) in arbitrary::file()) {
        let again = saved(&bytes(&profile, &record, Packing::Gzip));
        prop_assert_eq!(format!("{:#?}", again.profile), format!("{profile:#?}"));
        prop_assert_eq!(&again.record.names, &record.names);
        prop_assert_eq!(&again.record.pieces, &record.pieces);
        prop_assert_eq!(again.record.began_ns, record.began_ns);
        let before = Saved::with(profile, record);
        prop_assert_eq!(report(&again), report(&before));
        let (first, second) = (
            bytes(&before.profile, &before.record, Packing::Plain),
            bytes(&again.profile, &again.record, Packing::Plain),
        );
        prop_assert!(first == second, "written again, it is another file");
    }

    /// A function that ticked has no other object's ticks between its start and its last tick.
    #[test]
    fn no_object_is_taken_for_another((profile, record) in arbitrary::file()) {
        let slides = super::layout::slides(&profile, &record.names, &record.pieces);
        // Where there is room for it.
        let size = |id: ObjectId| {
            let pieces = &record.pieces[id.index()];
            pieces.last().map_or(0, |last| last.end - pieces[0].start)
        };
        let is_file = |id: ObjectId| {
            matches!(profile.object(id).kind, ObjectKind::File { .. }) && size(id) < 1 << 32
        };
        let at = |count: &Count| count.address.wrapping_add(slides[count.object.index()]);
        for one in profile.counts.iter().filter(|count| is_file(count.object)) {
            let Name::Function { start, .. } = record.names.name_of(one.object, one.address) else {
                continue;
            };
            let length = one.address.saturating_sub(*start);
            for other in &profile.counts {
                let within = size(other.object) < 1 << 32 && at(one).wrapping_sub(at(other)) <= length;
                prop_assert!(!within || other.object == one.object, "{one:x?} {other:x?} {slides:x?}");
            }
        }
    }
}
