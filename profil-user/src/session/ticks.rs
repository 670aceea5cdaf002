//! Adding up ticks.

use profil_common::{Mode, StrayKey};

use crate::{
    options::Tgid,
    profile::{Count, Note, ObjectId},
};

/// What the processes that the target started have contributed. Their ticks are always strays,
/// because regions belong to the target alone.
pub(super) fn children(target: Tgid, strays: &[(StrayKey, u64)]) -> Option<Note> {
    let mut ticks = 0;
    let mut processes: Vec<u32> = Vec::new();
    for (key, count) in strays.iter().filter(|(key, _)| key.tgid != target.get()) {
        ticks += count;
        processes.push(key.tgid);
    }
    processes.sort_unstable();
    processes.dedup();
    let processes = processes.len();
    (processes > 0).then_some(Note::Children { ticks, processes })
}

pub(super) fn total<Key>(counts: &[(Key, u64)]) -> u64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// Sorts ticks by object and address, and adds up what has the same.
pub(super) fn merge(ticks: impl Iterator<Item = ((ObjectId, u64), Mode, u64)>) -> Vec<Count> {
    let mut counts: Vec<_> = ticks
        .map(|((object, address), mode, ticks)| match mode {
            Mode::User => Count {
                object,
                address,
                user: ticks,
                system: 0,
            },
            Mode::System => Count {
                object,
                address,
                user: 0,
                system: ticks,
            },
        })
        .collect();
    counts.sort_unstable_by_key(|count| (count.object, count.address));
    counts.dedup_by(|later, first| {
        let same = (later.object, later.address) == (first.object, first.address);
        if same {
            first.user += later.user;
            first.system += later.system;
        }
        same
    });
    counts
}

#[cfg(test)]
mod tests {
    use profil_common::{Mode, StrayKey};

    use super::{children, merge};
    use crate::{
        options::Tgid,
        profile::{Count, Note, ObjectId},
    };

    #[test]
    fn ticks_at_one_address_are_added_up_by_mode() {
        let (first, second) = (ObjectId::new(0), ObjectId::new(1));
        let ticks = [
            ((second, 8), Mode::User, 1),
            ((first, 8), Mode::User, 2),
            ((first, 8), Mode::System, 4),
            ((first, 6), Mode::System, 8),
            ((first, 8), Mode::User, 16),
        ];
        let expected = [
            Count {
                object: first,
                address: 6,
                user: 0,
                system: 8,
            },
            Count {
                object: first,
                address: 8,
                user: 18,
                system: 4,
            },
            Count {
                object: second,
                address: 8,
                user: 1,
                system: 0,
            },
        ];
        assert_eq!(merge(ticks.into_iter()), expected);
    }

    #[test]
    fn only_other_processes_are_children() {
        let stray = |tgid, pc, ticks| (StrayKey { pc, tgid, mode: 0 }, ticks);
        let target = Tgid::new(7).unwrap();
        assert_eq!(children(target, &[stray(7, 1, 5)]), None);
        assert_eq!(
            children(
                target,
                &[
                    stray(7, 1, 5),
                    stray(8, 1, 2),
                    stray(8, 2, 1),
                    stray(9, 1, 1)
                ]
            ),
            Some(Note::Children {
                ticks: 4,
                processes: 2
            })
        );
    }
}
