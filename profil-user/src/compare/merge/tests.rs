use std::{collections::BTreeMap, mem::take};

use proptest::prelude::*;

use super::{MergeError, merge};
use crate::{
    export::text::function_name,
    options::Rate,
    pprof::{Packing, PprofFile, Record, Saved, read, tests::arbitrary, write},
    profile::{Count, Note, ObjectId, ObjectKind, Profile, Subject, TaskId},
    symbolize::{Grouping, Name, Symbolizer, View},
};

/// Ticks of the report, by task, function and object.
fn report(saved: &Saved, grouping: Grouping) -> BTreeMap<(String, String, String), (u64, u64)> {
    let mut symbolizer = Symbolizer::with_debug_dirs(Vec::new()).for_grouping(grouping);
    symbolizer.complete(saved, saved.record.names.clone());
    let view = View {
        grouping,
        ..View::default()
    };
    let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for row in view.rows(saved, &symbolizer) {
        let object = saved.profile.object(row.object);
        let task = row.task.index();
        let task = task.map_or_else(String::new, |index| saved.profile.tasks[index].to_string());
        let key = (
            task,
            function_name(&row, object),
            format!("{:?}", object.kind),
        );
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + row.user, sum.1 + row.system);
    }
    sums
}

/// A profile whose objects are told apart, and which adds up with others.
fn addable((mut profile, mut record): (Profile, Record)) -> Saved {
    for (index, object) in profile.objects.iter_mut().enumerate() {
        object.kind = ObjectKind::File {
            path: format!("/lib/{index}.so").into(),
            class: None,
        };
        object.build_id = format!("{index:02x}")
            .parse()
            .ok()
            .filter(|_| index % 2 == 0);
    }
    // A row has the first name of those that one symbol is called, and which is the first differs.
    for name in record.names.names.values_mut() {
        if let Name::Function { mangled, .. } = name {
            *mangled = None;
        }
    }
    let sources = record.names.sources.values_mut();
    let inlined = sources.flat_map(|source| &mut source.inlined);
    inlined.for_each(|inlined| inlined.mangled = None);
    profile.buffers.clear();
    profile.notes.clear();
    Saved::with(profile, record)
}

/// Some of the ticks of a profile; the others are in the one for the other `side`. Objects come in
/// another order there.
fn part(whole: &Saved, seed: u64, side: bool) -> Saved {
    let mut part = whole.clone();
    let number = part.profile.objects.len();
    let moved = |object: ObjectId| match side {
        true => ObjectId::new(number - 1 - object.index()),
        false => object,
    };
    let some = |ticks: u64, address: u64| {
        let first = ticks / 4 * ((address ^ seed) % 5);
        if side { ticks - first } else { first }
    };
    let taken = |count: &Count| Count {
        object: moved(count.object),
        address: count.address,
        user: some(count.user, count.address),
        system: some(count.system, count.address),
    };
    let has_ticks = |count: &Count| count.ticks() > 0;
    let by_task = whole.profile.by_task.iter();
    let by_task = by_task.map(|(task, count)| (*task, taken(count)));
    part.profile.by_task = by_task.filter(|(_, count)| has_ticks(count)).collect();
    part.profile
        .by_task
        .sort_by_key(|(task, count)| (*task, count.object, count.address));
    let mut counts: BTreeMap<(ObjectId, u64), Count> = BTreeMap::new();
    let apart = part.profile.by_task.iter().map(|(_, count)| *count);
    let together = whole.profile.counts.iter().map(taken).filter(has_ticks);
    let all: Vec<Count> = match whole.profile.tasks[..] {
        [] => together.collect(),
        _ => apart.collect(),
    };
    for count in all {
        let sum = counts
            .entry((count.object, count.address))
            .or_insert(Count {
                user: 0,
                system: 0,
                ..count
            });
        sum.user += count.user;
        sum.system += count.system;
    }
    part.profile.counts = counts.into_values().collect();
    if side {
        part.profile.objects.reverse();
        part.record.pieces.reverse();
        let names = &mut part.record.names;
        names.names = take(&mut names.names)
            .into_pairs()
            .map(|((o, a), name)| ((moved(o), a), name))
            .collect();
        names.sources = take(&mut names.sources)
            .into_pairs()
            .map(|((o, a), one)| ((moved(o), a), one))
            .collect();
    }
    part
}

#[track_caller]
fn written_and_read(saved: &Saved) -> Saved {
    let mut bytes = Vec::new();
    write(&saved.profile, &saved.record, Packing::Plain, &mut bytes).expect("memory");
    match read(&bytes) {
        Ok(PprofFile::Saved(saved)) => *saved,
        other => panic!("not a profile of ours: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What is taken apart and merged is what it was, and the report is the sum of both reports.
    #[test]
    fn the_report_of_the_sum_is_the_sum_of_the_reports(
        file in arbitrary::file(), seed: u64
    ) {
        let whole = addable(file);
        let (first, other) = (part(&whole, seed, false), part(&whole, seed, true));
        let mut sum = first.clone();
        merge(&mut sum, &other).expect("they add up");
        let sum = written_and_read(&sum);
        for grouping in [Grouping::Function, Grouping::Inlined, Grouping::Line, Grouping::Object] {
            let mut both = report(&first, grouping);
            for (key, ticks) in report(&other, grouping) {
                let entry = both.entry(key).or_default();
                *entry = (entry.0 + ticks.0, entry.1 + ticks.1);
            }
            prop_assert_eq!(&report(&sum, grouping), &both);
            prop_assert_eq!(&report(&sum, grouping), &report(&whole, grouping));
        }
        prop_assert_eq!(sum.profile.objects.len(), whole.profile.objects.len());
        prop_assert_eq!(&sum.profile.tasks, &whole.profile.tasks);
        let elapsed = whole.profile.elapsed.as_nanos() * 2;
        prop_assert_eq!(sum.profile.elapsed.as_nanos(), elapsed.min(u64::MAX.into()));
        let (one, two) = (&sum.profile.balance, &whole.profile.balance);
        prop_assert_eq!(one.tally.runs, 2 * two.tally.runs);
        prop_assert_eq!(one.due_ns, two.due_ns.saturating_mul(2));
        prop_assert_eq!(one.binned, 2 * two.binned);
    }
}

fn small() -> Saved {
    addable(crate::pprof::tests::small())
}

#[test]
fn what_does_not_add_up_is_said() {
    let refused = |change: &dyn Fn(&mut Profile)| {
        let (mut first, mut other) = (small(), small());
        change(&mut other.profile);
        merge(&mut first, &other).expect_err("refused")
    };
    let rate = Rate::measured(997, 5).expect("a rate");
    let refusal = refused(&|other| other.rate = rate);
    assert!(
        matches!(refusal, MergeError::Period { other: 5, .. }),
        "{refusal}"
    );
    let refusal = refused(&|other| other.balance.others_are_due = true);
    assert_eq!(refusal, MergeError::Clock);
    let refusal = refused(&|other| other.subject = Subject::Cgroup("/a".into()));
    assert!(matches!(refusal, MergeError::Subject { .. }), "{refusal}");
}

/// Another process may have the path or number of one that has gone, and other code there.
#[test]
fn what_contradicts_is_kept_apart() {
    let (mut first, mut other) = (small(), small());
    let library = ObjectId::new(1);
    let name = Name::Function {
        name: "h".into(),
        mangled: None,
        start: 0x1000,
    };
    let names = &mut other.record.names.names;
    assert!(names.contains(&(library, 0x1000)));
    names.insert((library, 0x1000), name);
    merge(&mut first, &other).expect("they add up");
    let rows = report(&written_and_read(&first), Grouping::Function);
    let ticks = |function: &str| -> u64 {
        let rows = rows.iter().filter(|((_, name, _), _)| name == function);
        rows.map(|(_, ticks)| ticks.0 + ticks.1).sum()
    };
    assert_eq!([ticks("f(int)"), ticks("g"), ticks("h")], [20, 3, 3]);
}

#[test]
fn notes_of_both_are_there_and_their_numbers_add_up() {
    let (mut first, mut other) = (small(), small());
    let children = |ticks, processes| Note::Children { ticks, processes };
    let coarse = |object| Note::Coarsened {
        object: ObjectId::new(object),
        width: 8,
    };
    first.profile.notes = vec![children(3, 1), Note::CpuClock, coarse(0)];
    other.profile.notes = vec![Note::CpuClock, children(4, 2), coarse(0), Note::OffCpuTicks];
    // There, it is the last.
    other.profile.objects.rotate_left(1);
    let back = |count: &mut Count| count.object = ObjectId::new((count.object.index() + 2) % 3);
    other.profile.counts.iter_mut().for_each(back);
    other
        .profile
        .counts
        .sort_by_key(|count| (count.object, count.address));
    let other = Saved::new(other.profile);
    merge(&mut first, &other).expect("they add up");
    let notes = [
        children(7, 3),
        Note::CpuClock,
        coarse(0),
        coarse(1),
        Note::OffCpuTicks,
    ];
    assert_eq!(first.profile.notes, notes);
    assert_eq!(first.profile.ticks(), 32);
}

/// Where only one keeps tasks apart, nobody knows whose the ticks of the other are.
#[test]
fn ticks_of_nobody_stay_those_of_nobody() {
    let (mut first, mut other) = (small(), small());
    other.profile.tasks = vec![crate::profile::Task {
        tgid: 7,
        tid: None,
        name: "prog".to_owned(),
        inner: None,
    }];
    let counts = other.profile.counts.iter();
    other.profile.by_task = counts.map(|count| (TaskId::new(1), *count)).collect();
    merge(&mut first, &other).expect("they add up");
    assert_eq!(first.profile.ticks_of(TaskId::ALL), 16);
    assert_eq!(first.profile.ticks_of(TaskId::new(1)), 16);
}
