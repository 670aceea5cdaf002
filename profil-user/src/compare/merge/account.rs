//! Balances and notes of two profiles.

use std::time::Duration;

use crate::profile::{Balance, Note, ObjectId};

/// What became of the ticks of both.
pub(super) fn balance(first: &Balance, other: &Balance) -> Balance {
    let mut sum = *first;
    sum.tally.runs = sum.tally.runs.saturating_add(other.tally.runs);
    let outcomes = sum.tally.outcomes.iter_mut().zip(other.tally.outcomes);
    outcomes.for_each(|(sum, more)| *sum = sum.saturating_add(more));
    sum.binned = sum.binned.saturating_add(other.binned);
    sum.strays = sum.strays.saturating_add(other.strays);
    sum.unwanted = sum.unwanted.saturating_add(other.unwanted);
    sum.due_ns = sum.due_ns.saturating_add(other.due_ns);
    // One after the other, each had its own table and memory: the fullest and the most.
    let share = |(fullest, capacity): (u32, u32)| f64::from(fullest) / f64::from(capacity.max(1));
    if share(other.stray_fill) > share(first.stray_fill) {
        sum.stray_fill = other.stray_fill;
    }
    sum.kernel_bytes = sum.kernel_bytes.max(other.kernel_bytes);
    let due = first.due() + other.due();
    // So that what was due adds up; means of jittered clocks can differ by parts of a nanosecond.
    if first.period_ns.to_bits() != other.period_ns.to_bits() && due > 0.0 {
        sum.period_ns = sum.due_ns as f64 / due;
    }
    sum
}

/// How long the clocks of both were on, as far as a file of record can say it.
pub(super) fn elapsed(first: Duration, other: Duration) -> Duration {
    let sum = first.saturating_add(other).as_nanos();
    Duration::from_nanos(u64::try_from(sum).unwrap_or(u64::MAX))
}

/// The notes of both, once each; what they count adds up.
pub(super) fn notes(
    first: &[Note],
    other: &[Note],
    place: impl Fn(ObjectId) -> ObjectId,
) -> Vec<Note> {
    let mut notes = first.to_vec();
    for note in other {
        let mut note = note.clone();
        if let Note::Coarsened { object, .. }
        | Note::Unmapped { object, .. }
        | Note::Unreadable { object, .. } = &mut note
        {
            *object = place(*object);
        }
        if !notes.iter_mut().any(|one| takes(one, &note)) {
            notes.push(note);
        }
    }
    notes
}

/// Whether a note says what another one does, now that it counts for both.
fn takes(note: &mut Note, other: &Note) -> bool {
    let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
    let add_up = |sum: &mut usize, more: usize| *sum = sum.saturating_add(more);
    match (note, other) {
        (
            Note::Children { ticks, processes },
            &Note::Children {
                ticks: more,
                processes: others,
            },
        ) => {
            add(ticks, more);
            add_up(processes, others);
        }
        (Note::OwnCost { ticks }, &Note::OwnCost { ticks: more })
        | (Note::OtherNamespace { ticks }, &Note::OtherNamespace { ticks: more }) => {
            add(ticks, more);
        }
        (Note::SideBandLost { records }, &Note::SideBandLost { records: more }) => {
            add(records, more);
        }
        (Note::Unseen { used_ns }, &Note::Unseen { used_ns: more }) => add(used_ns, more),
        (Note::RegionsFull { left_out }, &Note::RegionsFull { left_out: more }) => {
            add_up(left_out, more);
        }
        (Note::MoreUnreadable { objects }, &Note::MoreUnreadable { objects: more }) => {
            add_up(objects, more);
        }
        (note, other) => return note == other,
    }
    true
}
