//! More cells than there is room for → as many as there is room for. No tick is lost: what has no cell of its
//! own is its function's, its process's or that of all others.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    hash::Hash,
};

use super::{
    Limits,
    cell::{self, Cells, Key, Ticks},
};

/// The numbers of those that stand for others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    pub(super) owner: u32,
    pub(super) spot: u32,
}

/// Nanoseconds of CPU time.
fn weight(key: &Key, ticks: Ticks) -> u128 {
    u128::from(ticks[0].saturating_add(ticks[1])) * u128::from(key.period_ns)
}

/// Leaves the heaviest cells and adds the others up.
///
/// First the processes are chosen, then functions, then addresses. Of functions and of addresses, half of the room
/// is shared out equally among the processes, and the other half goes to the heaviest, whosesoever they are: so
/// a process with ten thousand objects takes no cell from one with three functions.
pub(super) fn fold(cells: Cells, limits: &Limits, others: Others) -> Cells {
    let cells = fold_owners(cells, limits.processes, others);
    let owners = distinct(&cells, |key| key.owner);
    // Each process and each function may need a cell for what is left of it.
    let room = limits.cells.saturating_sub(owners);
    if cells.len() <= room {
        return cells;
    }
    // Which function it was is asked more often than which instruction.
    let cells = fold_spots(cells, room - room / 4, others);
    let spots = distinct(&cells, |key| (key.owner, key.spot, key.period_ns));
    fold_addresses(cells, room.saturating_sub(spots))
}

fn distinct<T: Eq + Hash>(cells: &Cells, part: impl Fn(&Key) -> T) -> usize {
    cells.keys().map(part).collect::<HashSet<_>>().len()
}

fn fold_owners(cells: Cells, most: usize, others: Others) -> Cells {
    let mut sums: HashMap<u32, u128> = HashMap::new();
    for (key, &ticks) in &cells {
        *sums.entry(key.owner).or_default() += weight(key, ticks);
    }
    if sums.len() <= most {
        return cells;
    }
    sums.remove(&others.owner);
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_unstable_by_key(|&(owner, sum)| (Reverse(sum), owner));
    let kept = sorted.iter().take(most.saturating_sub(1));
    let kept: HashSet<_> = kept.map(|(owner, _)| *owner).collect();
    map(cells, |key| match kept.contains(&key.owner) {
        true => key,
        false => Key {
            owner: others.owner,
            spot: others.spot,
            address: None,
            ..key
        },
    })
}

fn fold_spots(cells: Cells, most: usize, others: Others) -> Cells {
    let mut sums: HashMap<(u32, u32, u64), u128> = HashMap::new();
    for (key, &ticks) in cells.iter().filter(|(key, _)| key.spot != others.spot) {
        *sums
            .entry((key.owner, key.spot, key.period_ns))
            .or_default() += weight(key, ticks);
    }
    let items = sums.into_iter().map(|(spot, sum)| (spot.0, sum, spot));
    let kept = choose(items.collect(), most);
    map(cells, |key| {
        match kept.contains(&(key.owner, key.spot, key.period_ns)) {
            true => key,
            false => Key {
                spot: others.spot,
                address: None,
                ..key
            },
        }
    })
}

fn fold_addresses(cells: Cells, most: usize) -> Cells {
    let with_address = cells.iter().filter(|(key, _)| key.address.is_some());
    let items = with_address.map(|(key, &ticks)| (key.owner, weight(key, ticks), *key));
    let kept = choose(items.collect(), most);
    map(cells, |key| match kept.contains(&key) {
        true => key,
        false => Key {
            address: None,
            ..key
        },
    })
}

fn map(cells: Cells, of: impl Fn(Key) -> Key) -> Cells {
    let mut mapped = Cells::with_capacity(cells.len());
    for (key, ticks) in cells {
        cell::add(&mut mapped, of(key), ticks);
    }
    mapped
}

/// Chooses so many of the items of owners: for the one half, as many of each owner as of any other that has
/// as many; for the other half, the heaviest.
fn choose<T: Copy + Eq + Hash + Ord>(mut items: Vec<(u32, u128, T)>, most: usize) -> HashSet<T> {
    items.sort_unstable_by_key(|&(_, weight, item)| (Reverse(weight), item));
    let mut ranks: HashMap<u32, usize> = HashMap::new();
    let ranked: Vec<_> = items
        .iter()
        .map(|(owner, _, item)| {
            let rank = ranks.entry(*owner).or_default();
            *rank += 1;
            (*rank, *item)
        })
        .collect();
    let share = equal_share(ranks.values().copied().collect(), most / 2);
    let (fair, heavy): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|(rank, _)| *rank <= share);
    let chosen = fair.into_iter().chain(heavy).take(most);
    chosen.map(|(_, item)| item).collect()
}

/// The largest number for which owners with so many items each take no more than `most`, if none takes more
/// than that number.
fn equal_share(mut counts: Vec<usize>, most: usize) -> usize {
    counts.sort_unstable();
    let mut left = most;
    let mut owners = counts.len();
    for count in counts {
        if count > left / owners {
            return left / owners;
        }
        left -= count;
        owners -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::{choose, equal_share};

    #[test]
    fn who_wants_little_gets_it_and_the_others_share() {
        assert_eq!(equal_share(vec![1, 2, 1000], 13), 10);
        assert_eq!(equal_share(vec![1000, 1000], 10), 5);
        assert_eq!(equal_share(vec![3, 3], 6), usize::MAX);
        assert_eq!(equal_share(vec![1, 1, 1], 2), 0);
        assert_eq!(equal_share(vec![], 2), usize::MAX);
    }

    #[test]
    fn the_heaviest_of_the_loud_leave_the_quiet_theirs() {
        let mut items: Vec<_> = (0..1000).map(|item| (1, 1000 + item, item)).collect();
        items.extend([(2, 1, 5000), (2, 2, 5001)]);
        let chosen = choose(items, 20);
        assert_eq!(chosen.len(), 20);
        assert!(chosen.contains(&5000) && chosen.contains(&5001));
        assert!((982..1000).all(|item| chosen.contains(&item)));
    }
}
