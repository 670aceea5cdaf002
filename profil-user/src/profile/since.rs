//! What a later profile of a session has more than an earlier one.

use profil_common::Tally;

use super::{Balance, Count, Profile, TaskId};

impl Profile {
    /// What was counted since `earlier`, a profile of the same session. Buffers of regions that were asked for
    /// are not taken apart: there are none in it.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let plain = |counts: &[Count]| counts.iter().map(|&count| (TaskId::ALL, count)).collect();
        let (now, before): (Vec<_>, Vec<_>) = (plain(&self.counts), plain(&earlier.counts));
        let counts = more(&now, &before);
        Self {
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
            counts: counts.into_iter().map(|(_, count)| count).collect(),
            by_task: more(&self.by_task, &earlier.by_task),
            balance: self.balance.since(&earlier.balance),
            buffers: Vec::new(),
            ..self.clone()
        }
    }
}

impl Balance {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            tally: difference(&self.tally, &earlier.tally),
            binned: self.binned.saturating_sub(earlier.binned),
            strays: self.strays.saturating_sub(earlier.strays),
            unwanted: self.unwanted.saturating_sub(earlier.unwanted),
            due_ns: self.due_ns.saturating_sub(earlier.due_ns),
            ..*self
        }
    }
}

fn difference(now: &Tally, before: &Tally) -> Tally {
    let mut difference = *now;
    difference.runs = now.runs.saturating_sub(before.runs);
    for (count, before) in difference.outcomes.iter_mut().zip(before.outcomes) {
        *count = count.saturating_sub(before);
    }
    difference
}

/// Both are sorted. Nothing goes back, but for what was read a little early: that is nothing then.
fn more(now: &[(TaskId, Count)], before: &[(TaskId, Count)]) -> Vec<(TaskId, Count)> {
    let key = |&(task, count): &(TaskId, Count)| (task, count.object, count.address);
    let mut before = before.iter().peekable();
    let mut gained = Vec::new();
    for entry in now {
        while before.next_if(|old| key(old) < key(entry)).is_some() {}
        let old = before.next_if(|old| key(old) == key(entry));
        let (user, system) = old.map_or((0, 0), |(_, old)| (old.user, old.system));
        let (task, count) = *entry;
        let count = Count {
            user: count.user.saturating_sub(user),
            system: count.system.saturating_sub(system),
            ..count
        };
        if count.ticks() > 0 {
            gained.push((task, count));
        }
    }
    gained
}

#[cfg(test)]
mod tests {
    use super::more;
    use crate::profile::{Count, ObjectId, TaskId};

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
    fn what_is_more_or_new_is_there() {
        let before = [count(0, 2, 5, 1), count(0, 8, 1, 0), count(1, 2, 7, 7)];
        let now = [
            count(0, 0, 3, 0),
            count(0, 2, 6, 1),
            count(0, 8, 1, 0),
            count(1, 2, 7, 9),
            count(1, 4, 0, 1),
        ];
        let expected = [
            count(0, 0, 3, 0),
            count(0, 2, 1, 0),
            count(1, 2, 0, 2),
            count(1, 4, 0, 1),
        ];
        assert_eq!(more(&now, &before), expected);
        assert_eq!(more(&now, &now), []);
        assert_eq!(more(&now, &[]), now);
        assert_eq!(more(&before[1..], &before), []);
    }
}
