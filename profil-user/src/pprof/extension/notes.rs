//! Notes: a word for each kind, its numbers, and its reason.

use std::time::Duration;

use profil_common::Dialect;

use super::words::{Damaged, Words};
use crate::{
    options::Rate,
    profile::{Note, ObjectId},
};

pub(super) fn line(note: &Note) -> String {
    let nanoseconds = |time: &Duration| time.as_nanos();
    let rest = match note {
        Note::Coarsened { object, width } => format!("coarsened {} {width}", object.index()),
        Note::Exec { uncertain } => format!("exec {}", nanoseconds(uncertain)),
        Note::EndedByExec { dialect } => format!("ended-by-exec {}", dialect.word()),
        Note::Unmapped { object, uncertain } => {
            format!("unmapped {} {}", object.index(), nanoseconds(uncertain))
        }
        Note::Children { ticks, processes } => format!("children {ticks} {processes}"),
        Note::RegionsFull { left_out } => format!("regions-full {left_out}"),
        Note::OwnCost { ticks } => format!("own-cost {ticks}"),
        Note::SideBandLost { records } => format!("side-band-lost {records}"),
        Note::NoSideBand { reason } => format!("no-side-band {reason}"),
        Note::NoKernelSymbols { reason } => format!("no-kernel-symbols {reason}"),
        Note::Unseen { used_ns } => format!("unseen {used_ns}"),
        Note::OtherNamespace { ticks } => format!("other-namespace {ticks}"),
        Note::ShortOfTaskTicks => "short-of-task-ticks".to_owned(),
        Note::OffCpuTicks => "off-cpu-ticks".to_owned(),
        Note::Jittered { asked } => format!("jittered {} {}", asked.asked(), asked.period_ns()),
        Note::CpuClock => "cpu-clock".to_owned(),
        Note::NoMappings { reason } => format!("no-mappings {reason}"),
        Note::MoreUnreadable { objects } => format!("more-unreadable {objects}"),
        Note::Unreadable { object, reason } => format!("unreadable {} {reason}", object.index()),
    };
    format!("#note {rest}")
}

/// Reads a note about one of so many objects.
pub(super) fn note(words: &mut Words<'_>, objects: usize) -> Result<Note, Damaged> {
    let object = |words: &mut Words<'_>| words.index(objects).map(ObjectId::new);
    let reason = |words: &mut Words<'_>| words.text().to_owned();
    Ok(match words.word()? {
        "coarsened" => Note::Coarsened {
            object: object(words)?,
            width: words.number()?,
        },
        "exec" => Note::Exec {
            uncertain: words.nanoseconds()?,
        },
        "ended-by-exec" => Note::EndedByExec {
            dialect: Dialect::from_word(words.word()?).ok_or_else(|| words.damaged())?,
        },
        "unmapped" => Note::Unmapped {
            object: object(words)?,
            uncertain: words.nanoseconds()?,
        },
        "children" => Note::Children {
            ticks: words.number()?,
            processes: words.number()?,
        },
        "regions-full" => Note::RegionsFull {
            left_out: words.number()?,
        },
        "own-cost" => Note::OwnCost {
            ticks: words.number()?,
        },
        "side-band-lost" => Note::SideBandLost {
            records: words.number()?,
        },
        "no-side-band" => Note::NoSideBand {
            reason: reason(words),
        },
        "no-kernel-symbols" => Note::NoKernelSymbols {
            reason: reason(words),
        },
        "unseen" => Note::Unseen {
            used_ns: words.number()?,
        },
        "other-namespace" => Note::OtherNamespace {
            ticks: words.number()?,
        },
        "short-of-task-ticks" => Note::ShortOfTaskTicks,
        "off-cpu-ticks" => Note::OffCpuTicks,
        "jittered" => Note::Jittered {
            asked: rate(words)?,
        },
        "cpu-clock" => Note::CpuClock,
        "no-mappings" => Note::NoMappings {
            reason: reason(words),
        },
        "more-unreadable" => Note::MoreUnreadable {
            objects: words.number()?,
        },
        "unreadable" => Note::Unreadable {
            object: object(words)?,
            reason: reason(words),
        },
        _ => return Err(words.damaged()),
    })
}

/// What was asked for, and its period.
pub(super) fn rate(words: &mut Words<'_>) -> Result<Rate, Damaged> {
    let (asked, period_ns) = (words.number()?, words.number()?);
    Rate::measured(asked, period_ns).ok_or_else(|| words.damaged())
}
