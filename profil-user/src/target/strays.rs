//! Strays: ticks outside every region, given a home by reading the mappings again.

use std::{collections::HashMap, io};

use profil_common::StrayKey;

use super::{
    mappings::{self, Mapping},
    objects::Objects,
};
use crate::profile::{ObjectId, Unresolved};

/// Where strays belong, as far as it could be known when they were counted.
#[derive(Debug, Default)]
pub(crate) struct StrayBook {
    stays: HashMap<StrayKey, Stay>,
    /// Ticks at addresses that have come to show something else since.
    moved: HashMap<(Home, u32), u64>,
    /// The mappings of the target as last read, for addresses that are seen too late. Not of the
    /// processes that it starts: there is no limit to their number.
    known: Vec<Mapping>,
}

/// An object and an address in it.
type Home = (ObjectId, u64);

/// What an address shows today, and which of its ticks are of today.
#[derive(Debug)]
struct Stay {
    home: Home,
    /// Ticks as of the last look.
    counted: u64,
    /// How many of them belong to what was there before.
    before: u64,
}

impl StrayBook {
    /// Starts with the mappings of the target as they were at the start.
    pub(crate) fn new(mappings: Vec<Mapping>) -> Self {
        Self {
            known: mappings,
            ..Self::default()
        }
    }

    /// Gives every stray tick that is new a home, by the mappings of now: `target`'s are those
    /// of `now`, any other process's are read once for all of its strays. Where an address shows
    /// something else than at the last look, the ticks since then go to what is there now.
    pub(crate) fn settle(
        &mut self,
        strays: &[(StrayKey, u64)],
        (target, now): (u32, &io::Result<Vec<Mapping>>),
        objects: &mut Objects,
    ) {
        let is_new = |&&(key, ticks): &&(StrayKey, u64)| {
            self.stays.get(&key).is_none_or(|stay| stay.counted < ticks)
        };
        let mut new: Vec<_> = strays.iter().filter(is_new).copied().collect();
        new.sort_unstable_by_key(|(key, _)| key.tgid);
        for of_one in new.chunk_by(|a, b| a.0.tgid == b.0.tgid) {
            let tgid = of_one[0].0.tgid;
            if tgid == target {
                self.settle_in(tgid, of_one, now, objects, &self.known.clone());
            } else {
                self.settle_in(tgid, of_one, &mappings::read(tgid), objects, &[]);
            }
        }
        if let Ok(now) = now
            && !now.is_empty()
        {
            self.known.clone_from(now);
        }
    }

    fn settle_in(
        &mut self,
        tgid: u32,
        strays: &[(StrayKey, u64)],
        now: &io::Result<Vec<Mapping>>,
        objects: &mut Objects,
        known: &[Mapping],
    ) {
        let (now, reason) = match now {
            Ok(now) if now.is_empty() => (&now[..], Unresolved::ProcessEnded),
            Ok(now) => (&now[..], Unresolved::Unmapped),
            Err(error) => (&[][..], reason_of(error)),
        };
        for &(key, ticks) in strays {
            let mut home_in = |mappings| {
                let mapping = find(mappings, key.pc)?;
                let object = objects.of_mapping(tgid, mapping);
                Some((object, objects.link_address(object, mapping, key.pc)))
            };
            match (home_in(now), self.stays.get_mut(&key)) {
                (Some(home), Some(stay)) => {
                    if stay.home != home {
                        *self.moved.entry((stay.home, key.mode)).or_default() +=
                            stay.counted - stay.before;
                        stay.before = stay.counted;
                        stay.home = home;
                    }
                    stay.counted = ticks;
                }
                // Nothing is there any more: the ticks are of what was.
                (None, Some(stay)) => stay.counted = ticks,
                (home, None) => {
                    let home = home
                        .or_else(|| home_in(known))
                        .unwrap_or_else(|| (objects.nowhere(reason), key.pc));
                    self.stays.insert(
                        key,
                        Stay {
                            home,
                            counted: ticks,
                            before: 0,
                        },
                    );
                }
            }
        }
    }

    /// Every stray tick that was settled: its home, the number of its mode, and how many.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (Home, u32, u64)> {
        let today = self
            .stays
            .iter()
            .map(|(key, stay)| (stay.home, key.mode, stay.counted - stay.before));
        let moved = self
            .moved
            .iter()
            .map(|(&(home, mode), &ticks)| (home, mode, ticks));
        today.chain(moved).filter(|&(_, _, ticks)| ticks > 0)
    }

    /// The mappings of the target as last read.
    pub(crate) fn known(&self) -> &[Mapping] {
        &self.known
    }

    /// The target has started another program: these are its mappings.
    pub(crate) fn restart(&mut self, mappings: Vec<Mapping>) {
        self.known = mappings;
    }
}

fn find(mappings: &[Mapping], pc: u64) -> Option<&Mapping> {
    let index = mappings
        .partition_point(|mapping| mapping.start <= pc)
        .checked_sub(1)?;
    let mapping = &mappings[index];
    (pc < mapping.end).then_some(mapping)
}

fn reason_of(error: &io::Error) -> Unresolved {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => Unresolved::ProcessEnded,
        _ => Unresolved::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::{io, path::PathBuf};

    use profil_common::StrayKey;

    use super::StrayBook;
    use crate::{
        profile::{ObjectKind, Unresolved},
        target::{
            mappings::{self, Backing, FileId, FileMapping, Mapping},
            objects::Objects,
        },
    };

    /// No process is numbered so: the kernel's highest is 2^22.
    const NOBODY: u32 = 1 << 23;

    fn stray(tgid: u32, pc: u64, ticks: u64) -> (StrayKey, u64) {
        (StrayKey { pc, tgid, mode: 0 }, ticks)
    }

    fn anonymous() -> Mapping {
        Mapping {
            start: 0x1000,
            end: 0x2000,
            backing: Backing::Anonymous,
        }
    }

    /// A file that cannot be opened is an object of its own all the same.
    fn file(inode: u64) -> Mapping {
        let id = FileId {
            device: (0, 0),
            inode,
        };
        let backing = Backing::File(FileMapping {
            offset: 0,
            id,
            path: PathBuf::from(format!("/nowhere/{inode}")),
        });
        Mapping {
            backing,
            ..anonymous()
        }
    }

    /// What was settled, by object: kinds and ticks in the order of the objects.
    fn settled(book: &StrayBook, objects: &Objects) -> Vec<(ObjectKind, u64)> {
        let mut ticks: Vec<_> = book
            .ticks()
            .map(|((object, _), _, ticks)| (object, ticks))
            .collect();
        ticks.sort_unstable();
        ticks
            .into_iter()
            .map(|(object, ticks)| (objects.list()[object.index()].kind.clone(), ticks))
            .collect()
    }

    #[test]
    fn code_of_this_process_has_a_home() {
        let pc = code_of_this_process_has_a_home as fn() as usize as u64;
        let this = std::process::id();
        let mut objects = Objects::default();
        let mut book = StrayBook::new(Vec::new());
        let now = mappings::read(this);
        book.settle(
            &[stray(this, pc, 1), stray(this, 1, 2)],
            (this, &now),
            &mut objects,
        );
        let settled = settled(&book, &objects);
        assert!(matches!(settled[0], (ObjectKind::File { .. }, 1)));
        assert_eq!(settled[1], (ObjectKind::Nowhere(Unresolved::Unmapped), 2));
    }

    #[test]
    fn a_process_that_has_ended_is_looked_up_in_what_was_known() {
        let strays = [stray(NOBODY, 0x1fff, 1), stray(NOBODY, 0x2000, 2)];
        let mut objects = Objects::default();
        let mut book = StrayBook::new(vec![anonymous()]);
        let gone = Err(io::Error::from_raw_os_error(libc::ESRCH));
        book.settle(&strays, (NOBODY, &gone), &mut objects);
        let expected = [
            (ObjectKind::Anonymous, 1),
            (ObjectKind::Nowhere(Unresolved::ProcessEnded), 2),
        ];
        assert_eq!(settled(&book, &objects), expected);
    }

    #[test]
    fn an_address_that_shows_something_else_keeps_what_it_had() {
        let mut objects = Objects::default();
        let mut book = StrayBook::new(Vec::new());
        let mut look = |book: &mut StrayBook, ticks, now: Vec<Mapping>| {
            book.settle(
                &[stray(NOBODY, 0x1800, ticks)],
                (NOBODY, &Ok(now)),
                &mut objects,
            );
        };
        look(&mut book, 5, vec![file(1)]);
        look(&mut book, 5, vec![file(2)]);
        look(&mut book, 7, vec![file(2)]);
        look(&mut book, 10, Vec::new());
        look(&mut book, 20, vec![file(1)]);
        let ticks: Vec<_> = settled(&book, &objects)
            .into_iter()
            .map(|(_, ticks)| ticks)
            .collect();
        // 5 and then 10 of the first; 2 of the second, and 3 when nothing was there any more.
        assert_eq!(ticks.iter().sum::<u64>(), 20);
        let mut sorted = ticks;
        sorted.sort_unstable();
        assert_eq!(sorted, [5, 5, 10]);
    }
}
