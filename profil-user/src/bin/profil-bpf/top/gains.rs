//! What a profile has that it did not have before.

use std::cmp::Ordering;

use profil_user::{Count, Profile, TaskId};

/// Counts by task, object and address, as a profile has them.
pub(crate) type Counts = Vec<(TaskId, Count)>;

/// All counts of a profile, by task where those are kept apart.
pub(crate) fn counts_of(profile: &Profile) -> Counts {
    if profile.tasks.is_empty() {
        let counts = profile.counts.iter();
        counts.map(|&count| (TaskId::ALL, count)).collect()
    } else {
        profile.by_task.clone()
    }
}

/// What `now` has more than `before`, both in order; `None` if it has less of anything: then it is another
/// account of the same ticks, and nothing that was said before holds.
pub(crate) fn gains(before: &[(TaskId, Count)], now: &[(TaskId, Count)]) -> Option<Counts> {
    let key = |&(task, count): &(TaskId, Count)| (task, count.object, count.address);
    let mut gains = Vec::new();
    let mut before = before.iter().peekable();
    for &(task, count) in now {
        let old = match before.peek().map(|old| key(old).cmp(&key(&(task, count)))) {
            // It is gone.
            Some(Ordering::Less) => return None,
            Some(Ordering::Equal) => before.next(),
            Some(Ordering::Greater) | None => None,
        };
        let (user, system) = old.map_or((0, 0), |(_, old)| (old.user, old.system));
        let more = Count {
            user: count.user.checked_sub(user)?,
            system: count.system.checked_sub(system)?,
            ..count
        };
        if more.ticks() > 0 {
            gains.push((task, more));
        }
    }
    before.next().is_none().then_some(gains)
}

#[cfg(test)]
mod tests {
    use profil_user::{Count, ObjectId, TaskId};

    use super::gains;

    fn count(object: usize, address: u64, user: u64, system: u64) -> (TaskId, Count) {
        let count = Count {
            object: ObjectId::new(object),
            address,
            user,
            system,
        };
        (TaskId::ALL, count)
    }

    #[test]
    fn what_is_more_or_new_is_gained() {
        let before = [count(0, 2, 5, 1), count(0, 8, 1, 0), count(1, 2, 7, 7)];
        let now = [
            count(0, 0, 3, 0),
            count(0, 2, 6, 1),
            count(0, 8, 1, 0),
            count(1, 2, 7, 9),
            count(1, 4, 0, 1),
        ];
        let expected = vec![
            count(0, 0, 3, 0),
            count(0, 2, 1, 0),
            count(1, 2, 0, 2),
            count(1, 4, 0, 1),
        ];
        assert_eq!(gains(&before, &now), Some(expected));
        assert_eq!(gains(&now, &now), Some(Vec::new()));
        assert_eq!(gains(&[], &before), Some(before.to_vec()));
    }

    #[test]
    fn what_is_less_or_gone_is_another_account() {
        let before = [count(0, 2, 5, 1), count(1, 2, 7, 7)];
        assert_eq!(gains(&before, &[count(0, 2, 5, 1)]), None);
        assert_eq!(gains(&before, &[count(1, 2, 7, 7)]), None);
        let less = [count(0, 2, 6, 0), count(1, 2, 7, 7)];
        assert_eq!(gains(&before, &less), None);
        assert_eq!(gains(&before, &[]), None);
    }
}
