//! Profiles of all kinds.

use std::collections::BTreeMap;

use profil_common::{Classic, Dialect, Outcome, Tally};

use super::*;
use crate::{
    options::Selector,
    profile::{Buffer, BuildId, Unresolved},
    symbolize::MapRefused,
};

/// Numbers whose sums do not overflow.
fn ticks() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, 0..1_u64 << 40]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("- x=1 #mappings 0".to_owned()),
        Just("two\nlines".to_owned()),
        any::<String>(),
    ]
}

fn tgid() -> impl Strategy<Value = Tgid> {
    (1..1_u32 << 22).prop_map(|number| Tgid::new(number).expect("a number"))
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        prop::collection::vec((tgid(), text()), 1..4).prop_map(Subject::Processes),
        (tgid(), text()).prop_map(|(tid, name)| Subject::Thread(tid, name)),
        (tgid(), text()).prop_map(|(tgid, name)| Subject::Command(tgid, name)),
        text().prop_map(|path| Subject::Cgroup(path.into())),
        (text(), prop::option::of(text())).prop_map(|(comm, exe)| {
            Subject::Matching(Selector {
                comm: Some(comm),
                exe: exe.map(Into::into),
            })
        }),
        Just(Subject::Everything),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    (any::<u32>(), 1..1_u64 << 40)
        .prop_map(|(asked, period)| Rate::measured(asked, period).expect("a period"))
}

fn kind() -> impl Strategy<Value = ObjectKind> {
    let class = prop::option::of(prop_oneof![Just(ElfClass::Elf32), Just(ElfClass::Elf64)]);
    prop_oneof![
        4 => (text(), class).prop_map(|(path, class)| ObjectKind::File {
            path: path.into(),
            class,
        }),
        1 => Just(ObjectKind::Vdso),
        1 => Just(ObjectKind::Kernel),
        1 => any::<u32>().prop_map(|tgid| ObjectKind::Anonymous { tgid }),
        1 => unresolved().prop_map(ObjectKind::Nowhere),
    ]
}

fn unresolved() -> impl Strategy<Value = Unresolved> {
    prop_oneof![
        Just(Unresolved::ProcessEnded),
        Just(Unresolved::Unmapped),
        Just(Unresolved::Refused),
    ]
}

fn object() -> impl Strategy<Value = Object> {
    let id = prop::collection::vec(any::<u8>(), 0..=20).prop_map(|id| BuildId::new(&id));
    let edges = prop::collection::btree_set(0..0x4000_u64, 0..6);
    (kind(), any::<bool>(), id, edges).prop_map(|(kind, is_main, build_id, edges)| {
        let edges: Vec<_> = edges.into_iter().collect();
        let text = edges.chunks_exact(2).map(|pair| Text {
            start: pair[0],
            end: pair[1],
            width: 2,
        });
        Object {
            kind,
            is_main,
            build_id,
            text: text.collect(),
        }
    })
}

fn note(objects: usize) -> impl Strategy<Value = Note> {
    let object = (0..objects).prop_map(ObjectId::new);
    let time = any::<u64>().prop_map(Duration::from_nanos);
    let rest = prop_oneof![
        text().prop_map(|reason| Note::NoSideBand { reason }),
        text().prop_map(|reason| Note::NoKernelSymbols { reason }),
        text().prop_map(|reason| Note::NoMappings { reason }),
        any::<u64>().prop_map(|used_ns| Note::Unseen { used_ns }),
        any::<u64>().prop_map(|ticks| Note::OtherNamespace { ticks }),
        any::<u64>().prop_map(|records| Note::SideBandLost { records }),
        any::<u64>().prop_map(|ticks| Note::OwnCost { ticks }),
        any::<usize>().prop_map(|objects| Note::MoreUnreadable { objects }),
        any::<usize>().prop_map(|left_out| Note::RegionsFull { left_out }),
        rate().prop_map(|asked| Note::Jittered { asked }),
    ];
    prop_oneof![
        (object.clone(), any::<u64>())
            .prop_map(|(object, width)| Note::Coarsened { object, width }),
        (object.clone(), time.clone())
            .prop_map(|(object, uncertain)| Note::Unmapped { object, uncertain }),
        (object, text()).prop_map(|(object, reason)| Note::Unreadable { object, reason }),
        time.prop_map(|uncertain| Note::Exec { uncertain }),
        prop::sample::select(Dialect::ALL).prop_map(|dialect| Note::EndedByExec { dialect }),
        (any::<u64>(), any::<usize>())
            .prop_map(|(ticks, processes)| Note::Children { ticks, processes }),
        Just(Note::ShortOfTaskTicks),
        Just(Note::OffCpuTicks),
        Just(Note::CpuClock),
        rest,
    ]
}

fn balance() -> impl Strategy<Value = Balance> {
    let outcomes = prop::collection::vec(ticks(), Outcome::COUNT);
    let numbers = (ticks(), ticks(), ticks(), ticks(), any::<u64>());
    let rest = (
        any::<(u32, u32)>(),
        any::<bool>(),
        1.0..1e10_f64,
        any::<u64>(),
    );
    (outcomes, numbers, rest).prop_map(|(outcomes, numbers, rest)| Balance {
        tally: Tally {
            runs: numbers.0,
            outcomes: outcomes.try_into().expect("all of them"),
        },
        binned: numbers.1,
        strays: numbers.2,
        unwanted: numbers.3,
        stray_fill: rest.0,
        due_ns: numbers.4,
        others_are_due: rest.1,
        period_ns: rest.2,
        kernel_bytes: rest.3,
    })
}

fn buffer() -> impl Strategy<Value = Buffer> {
    let counts = prop::collection::btree_map(0..100_u32, any::<u64>(), 0..5);
    let region = (any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>());
    (prop::sample::select(Dialect::ALL), region, counts).prop_map(
        |(dialect, (offset, bytes, scale, added), counts)| Buffer {
            region: Classic {
                offset,
                bytes,
                scale,
                added,
            },
            dialect,
            bins: 100,
            counts: counts.into_iter().collect(),
        },
    )
}

fn task() -> impl Strategy<Value = Task> {
    let number = || prop::option::of(any::<u32>());
    (any::<u32>(), number(), number(), text()).prop_map(|(tgid, tid, inner, name)| Task {
        tgid,
        tid,
        name,
        inner,
    })
}

fn line() -> impl Strategy<Value = Line> {
    // A line without a file or a number is none.
    ("[a-z]{1,3}", 1..u32::MAX).prop_map(|(file, number)| Line {
        file: file.into(),
        number,
    })
}

/// A name and another one, if it is another one.
fn pair() -> impl Strategy<Value = (String, Option<String>)> {
    (text(), prop::option::of(text()))
        .prop_map(|(name, mangled)| (name.clone(), mangled.filter(|mangled| *mangled != name)))
}

type Named = (Name, Option<Source>);

fn name() -> impl Strategy<Value = Named> {
    let refused = prop_oneof![
        Just(MapRefused::NotOwned),
        Just(MapRefused::TooLarge),
        Just(MapRefused::NotRegular),
        Just(MapRefused::Unreadable),
    ];
    let why = prop_oneof![
        Just(WhyUnnamed::NoSymbols),
        Just(WhyUnnamed::NoSuchSymbol),
        Just(WhyUnnamed::NotLookedUp),
        refused.prop_map(WhyUnnamed::MapRefused),
        unresolved().prop_map(WhyUnnamed::Nowhere),
    ];
    let inlined = (pair(), prop::option::of(line())).prop_map(|((name, mangled), line)| Inlined {
        name: name.into(),
        mangled: mangled.map(Into::into),
        line,
    });
    let source = (
        prop::option::of(line()),
        prop::collection::vec(inlined, 0..3),
    )
        .prop_map(|(line, inlined)| Source { line, inlined })
        .prop_map(|source| {
            Some(source).filter(|one| one.line.is_some() || !one.inlined.is_empty())
        });
    prop_oneof![
        1 => why.prop_map(|why| (Name::Unnamed(why), None)),
        3 => (pair(), 0..0x4000_u64, source).prop_map(|((name, mangled), start, source)| {
            let name = Name::Function {
                name: name.into(),
                mangled: mangled.map(Into::into),
                start,
            };
            (name, source)
        }),
    ]
}

/// Where ticks are: near one another, or anywhere.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..0x4000_u64, 1 => any::<u64>()]
}

type Ticks = BTreeMap<(usize, usize, u64), (u64, u64)>;

/// A profile, and what belongs to it.
pub(crate) fn file() -> impl Strategy<Value = (Profile, Record)> {
    (1..5_usize, 0..3_usize).prop_flat_map(|(objects, tasks)| {
        let keys = (0..=tasks, 0..objects, address());
        let ticks = prop::collection::btree_map(keys, (ticks(), ticks()), 0..12);
        let about = (
            subject(),
            rate(),
            any::<u64>(),
            balance(),
            prop::collection::vec(note(objects), 0..4),
            prop::collection::vec(buffer(), 0..2),
        );
        let whose = (
            prop::collection::vec(object(), objects),
            prop::collection::vec(task(), tasks),
        );
        let names = prop::collection::vec(name(), 12);
        (about, whose, ticks, names, 0..i64::MAX).prop_map(|(about, whose, ticks, names, began)| {
            let (subject, rate, elapsed, balance, notes, buffers) = about;
            let (objects, tasks) = whose;
            let (counts, by_task) = counts(ticks, !tasks.is_empty());
            let profile = Profile {
                subject,
                rate,
                elapsed: Duration::from_nanos(elapsed),
                objects,
                counts,
                tasks,
                by_task,
                balance,
                buffers,
                notes,
            };
            let names = named(&profile, names);
            let record = Record::with_files(&profile, |_| None, names, began);
            (profile, record)
        })
    })
}

fn counts(ticks: Ticks, apart: bool) -> (Vec<Count>, Vec<(TaskId, Count)>) {
    let mut summed: BTreeMap<(usize, u64), (u64, u64)> = BTreeMap::new();
    let mut by_task = Vec::new();
    for ((task, object, address), (user, system)) in ticks {
        if user + system == 0 {
            continue;
        }
        let sum = summed.entry((object, address)).or_default();
        *sum = (sum.0 + user, sum.1 + system);
        let count = Count {
            object: ObjectId::new(object),
            address,
            user,
            system,
        };
        if apart {
            by_task.push((TaskId::new(task), count));
        }
    }
    let summed = summed.into_iter();
    let summed = summed.map(|((object, address), (user, system))| Count {
        object: ObjectId::new(object),
        address,
        user,
        system,
    });
    (summed.collect(), by_task)
}

/// A name for each address, of a function that begins before it.
fn named(profile: &Profile, pool: Vec<Named>) -> Names {
    let mut names = Names::default();
    for (count, (mut name, source)) in profile.counts.iter().zip(pool) {
        let key = (count.object, count.address);
        if let Name::Function { start, .. } = &mut name {
            *start = count.address.saturating_sub(*start);
        }
        names.names.insert(key, name);
        if let Some(source) = source {
            names.sources.insert(key, source);
        }
    }
    names
}
