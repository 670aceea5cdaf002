//! The sum of profiles of one clock.

mod account;
mod objects;

use std::collections::BTreeMap;

use crate::{
    options::Tgid,
    pprof::{MOST_TICKS, Record, Saved},
    profile::{Count, ObjectId, Profile, Subject, Task, TaskId},
    symbolize::{Name, Names},
};
use objects::Objects;

/// Why profiles do not add up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MergeError {
    /// Ticks of one stand for more time than those of the other.
    #[error(
        "its ticks are {other} ns apart and those of the first {first} ns; take both at one --rate"
    )]
    Period {
        /// That of the first, in nanoseconds.
        first: u64,
        /// That of the other.
        other: u64,
    },
    /// One saw ticks of others, too.
    #[error(
        "its clock followed CPUs and the other one threads (--clock): their balances do not add up"
    )]
    Clock,
    /// There is no word for whom the sum would be of.
    #[error("it is of {other}, and the first of {first}: there is no word for both")]
    Subject {
        /// Whom the first is of. Untrusted.
        first: String,
        /// Whom the other is of. Untrusted.
        other: String,
    },
    /// They have counters of a dialect, which have limits.
    #[error("it has buffers of profil(2), which do not add up; leave out --offset and --region")]
    Buffers,
    /// The sum could not be read again.
    #[error("their sum is more ticks than there can be")]
    TooMany,
}

/// Adds a profile to another one. Objects of one build are one, and so are those of one path that know no
/// build; times, ticks and what was due add up; the notes are those of both.
///
/// # Errors
///
/// If they do not add up.
pub fn merge(into: &mut Saved, other: &Saved) -> Result<(), MergeError> {
    let (first, second) = (&into.profile, &other.profile);
    let periods = (first.rate.period_ns(), second.rate.period_ns());
    if periods.0 != periods.1 {
        return Err(MergeError::Period {
            first: periods.0,
            other: periods.1,
        });
    }
    if first.balance.others_are_due != second.balance.others_are_due {
        return Err(MergeError::Clock);
    }
    if !(first.buffers.is_empty() && second.buffers.is_empty()) {
        return Err(MergeError::Buffers);
    }
    if first.ticks().saturating_add(second.ticks()) > MOST_TICKS {
        return Err(MergeError::TooMany);
    }
    let subject = both(&first.subject, &second.subject)?;
    let objects = Objects::of(into, other);
    let tasks = Tasks::of(first, second);
    let by_task = if tasks.all.is_empty() {
        Vec::new()
    } else {
        let first = counts_by_task(first).map(|(task, count)| (task, count, count.object));
        let second = counts_by_task(second).map(|(task, count)| {
            let task = task
                .index()
                .map_or(TaskId::ALL, |index| tasks.places[index]);
            (task, count, objects.place(count.object))
        });
        add_up(first.chain(second))
    };
    let summed = |count: &Count, object| (TaskId::ALL, *count, object);
    let counts = add_up(
        first
            .counts
            .iter()
            .map(|count| summed(count, count.object))
            .chain(
                second
                    .counts
                    .iter()
                    .map(|count| summed(count, objects.place(count.object))),
            ),
    );
    let profile = Profile {
        subject,
        rate: first.rate,
        elapsed: account::elapsed(first.elapsed, second.elapsed),
        counts: counts.into_iter().map(|(_, count)| count).collect(),
        tasks: tasks.all,
        by_task,
        balance: account::balance(&first.balance, &second.balance),
        buffers: Vec::new(),
        notes: account::notes(&first.notes, &second.notes, |object| objects.place(object)),
        objects: objects.all.clone(),
    };
    let record = Record {
        names: names(&into.record.names, &other.record.names, &objects),
        began_ns: into.record.began_ns.min(other.record.began_ns),
        pieces: objects.pieces(&into.record, &other.record),
    };
    *into = Saved::with(profile, record);
    Ok(())
}

/// Whom the sum is of.
fn both(first: &Subject, other: &Subject) -> Result<Subject, MergeError> {
    if first == other {
        return Ok(first.clone());
    }
    if [first, other].contains(&&Subject::Everything) {
        return Ok(Subject::Everything);
    }
    let (Some(mut processes), Some(others)) = (processes(first), processes(other)) else {
        return Err(MergeError::Subject {
            first: first.to_string(),
            other: other.to_string(),
        });
    };
    for process in others {
        if !processes.contains(&process) {
            processes.push(process);
        }
    }
    Ok(Subject::Processes(processes))
}

fn processes(subject: &Subject) -> Option<Vec<(Tgid, String)>> {
    match subject {
        Subject::Processes(processes) => Some(processes.clone()),
        Subject::Command(tgid, name) => Some(vec![(*tgid, name.clone())]),
        Subject::Thread(..) | Subject::Cgroup(_) | Subject::Matching(_) | Subject::Everything => {
            None
        }
    }
}

/// The tasks of both, and where those of the other are among them. Those that are called alike in all
/// are one.
struct Tasks {
    all: Vec<Task>,
    places: Vec<TaskId>,
}

impl Tasks {
    fn of(first: &Profile, other: &Profile) -> Self {
        let mut all = first.tasks.clone();
        let mut places = Vec::new();
        for task in &other.tasks {
            // Within one profile, tasks that are called alike are several.
            let found = first.tasks.iter().position(|one| one == task);
            let free = found.map(|index| TaskId::new(index + 1));
            let place = free.filter(|place| !places.contains(place));
            places.push(place.unwrap_or_else(|| {
                all.push(task.clone());
                TaskId::new(all.len())
            }));
        }
        Self { all, places }
    }
}

/// The counts of a profile by task; nobody knows whose they are if none are kept apart.
fn counts_by_task(profile: &Profile) -> impl Iterator<Item = (TaskId, Count)> {
    let apart = profile.by_task.iter().copied();
    let counts = if profile.tasks.is_empty() {
        &profile.counts[..]
    } else {
        &[]
    };
    apart.chain(counts.iter().map(|count| (TaskId::ALL, *count)))
}

fn add_up(counts: impl Iterator<Item = (TaskId, Count, ObjectId)>) -> Vec<(TaskId, Count)> {
    let mut sums: BTreeMap<(TaskId, ObjectId, u64), (u64, u64)> = BTreeMap::new();
    for (task, count, object) in counts {
        let sum = sums.entry((task, object, count.address)).or_default();
        sum.0 = sum.0.saturating_add(count.user);
        sum.1 = sum.1.saturating_add(count.system);
    }
    let count = |((task, object, address), (user, system))| {
        let count = Count {
            object,
            address,
            user,
            system,
        };
        (task, count)
    };
    sums.into_iter().map(count).collect()
}

/// The names of both: where both have one, that of the first, and a name rather than a reason why
/// there is none.
fn names(first: &Names, other: &Names, objects: &Objects) -> Names {
    let mut sum = first.clone();
    let place = |(object, address): (ObjectId, u64)| (objects.place(object), address);
    for (key, name) in other.names.iter() {
        match sum.names.get(&place(key)) {
            Some(Name::Function { .. }) => continue,
            Some(Name::Unnamed(_)) if matches!(name, Name::Unnamed(_)) => continue,
            _ => sum.names.insert(place(key), name.clone()),
        };
        if let Some(source) = other.sources.get(&key) {
            sum.sources.insert(place(key), source.clone());
        }
    }
    for (key, source) in other.sources.iter() {
        let is_same = sum.names.get(&place(key)) == other.names.get(&key);
        if is_same && !sum.sources.contains(&place(key)) {
            sum.sources.insert(place(key), source.clone());
        }
    }
    sum
}

#[cfg(test)]
mod tests;
