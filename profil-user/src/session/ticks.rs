//! Adding up ticks.

use profil_common::Mode;

use crate::profile::{Count, ObjectId, TaskId};

pub(super) fn total<Key>(counts: &[(Key, u64)]) -> u64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// Ticks of a task, in a mode, at an address of an object.
pub(crate) type Ticks = (TaskId, (ObjectId, u64), Mode, u64);

/// Sorts ticks by task, object and address, and adds up what has the same.
pub(crate) fn merge(ticks: impl Iterator<Item = Ticks>) -> Vec<(TaskId, Count)> {
    let mut counts: Vec<_> = ticks
        .map(|(task, (object, address), mode, ticks)| {
            let (user, system) = match mode {
                Mode::User => (ticks, 0),
                Mode::System => (0, ticks),
            };
            let count = Count {
                object,
                address,
                user,
                system,
            };
            (task, count)
        })
        .collect();
    let key = |&(task, count): &(TaskId, Count)| (task, count.object, count.address);
    counts.sort_unstable_by_key(key);
    counts.dedup_by(|later, first| {
        let same = key(later) == key(first);
        if same {
            first.1.user += later.1.user;
            first.1.system += later.1.system;
        }
        same
    });
    counts
}

#[cfg(test)]
mod tests {
    use profil_common::Mode;

    use super::merge;
    use crate::profile::{Count, ObjectId, TaskId};

    #[test]
    fn ticks_at_one_address_are_added_up_by_mode() {
        let (first, second) = (ObjectId::new(0), ObjectId::new(1));
        let (all, one) = (TaskId::ALL, TaskId::new(1));
        let ticks = [
            (all, (second, 8), Mode::User, 1),
            (all, (first, 8), Mode::User, 2),
            (all, (first, 8), Mode::System, 4),
            (one, (first, 8), Mode::System, 32),
            (all, (first, 6), Mode::System, 8),
            (all, (first, 8), Mode::User, 16),
        ];
        let count = |object, address, user, system| Count {
            object,
            address,
            user,
            system,
        };
        let expected = [
            (all, count(first, 6, 0, 8)),
            (all, count(first, 8, 18, 4)),
            (all, count(second, 8, 1, 0)),
            (one, count(first, 8, 0, 32)),
        ];
        assert_eq!(merge(ticks.into_iter()), expected);
    }
}
