//! Strays: ticks outside every region, given a home by reading the mappings again.

use std::{collections::HashMap, io};

use profil_common::StrayKey;

use super::{
    mappings::{self, Mapping},
    objects::Objects,
};
use crate::profile::{ObjectId, Unresolved};

/// Where strays belong, as far as it was known when they were first seen.
#[derive(Debug)]
pub(crate) struct StrayBook {
    homes: HashMap<(u32, u64), (ObjectId, u64)>,
    target: u32,
    /// The mappings of the target as last read, for addresses that are seen too late. Not of the
    /// processes that it starts: there is no limit to their number.
    known: Vec<Mapping>,
}

impl StrayBook {
    /// Starts with the mappings of the target as they were at the start.
    pub(crate) fn new(target: u32, mappings: Vec<Mapping>) -> Self {
        Self {
            homes: HashMap::new(),
            target,
            known: mappings,
        }
    }

    /// Gives every stray that is new a home. The mappings of a process are read once for all of
    /// its new strays; an address of the target whose mapping has gone meanwhile is looked up in
    /// those of the time before.
    pub(crate) fn settle(&mut self, strays: &[(StrayKey, u64)], objects: &mut Objects) {
        let mut new: Vec<_> = strays
            .iter()
            .map(|(key, _)| (key.tgid, key.pc))
            .filter(|place| !self.homes.contains_key(place))
            .collect();
        new.sort_unstable();
        for places in new.chunk_by(|a, b| a.0 == b.0) {
            self.settle_in(places[0].0, places, objects);
        }
    }

    fn settle_in(&mut self, tgid: u32, places: &[(u32, u64)], objects: &mut Objects) {
        let (now, reason) = match mappings::read(tgid) {
            Ok(now) if now.is_empty() => (now, Unresolved::ProcessEnded),
            Ok(now) => (now, Unresolved::Unmapped),
            Err(error) => (Vec::new(), reason_of(&error)),
        };
        let before: &[Mapping] = if tgid == self.target {
            &self.known
        } else {
            &[]
        };
        for &(_, pc) in places {
            let home = match find(&now, pc).or_else(|| find(before, pc)) {
                Some(mapping) => {
                    let object = objects.of_mapping(tgid, mapping);
                    (object, objects.link_address(object, mapping, pc))
                }
                None => (objects.nowhere(reason), pc),
            };
            self.homes.insert((tgid, pc), home);
        }
        if tgid == self.target && !now.is_empty() {
            self.known = now;
        }
    }

    /// Where a stray belongs; `None` before [`StrayBook::settle`] has seen it.
    pub(crate) fn home_of(&self, key: &StrayKey) -> Option<(ObjectId, u64)> {
        self.homes.get(&(key.tgid, key.pc)).copied()
    }

    /// Forgets the mappings of the target: it has started another program.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
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
    use profil_common::StrayKey;

    use super::StrayBook;
    use crate::{
        profile::{ObjectKind, Unresolved},
        target::{
            mappings::{Backing, Mapping},
            objects::Objects,
        },
    };

    /// No process is numbered so: the kernel's highest is 2^22.
    const NOBODY: u32 = 1 << 23;

    fn stray(tgid: u32, pc: u64) -> (StrayKey, u64) {
        (StrayKey { pc, tgid, mode: 0 }, 1)
    }

    #[test]
    fn code_of_this_process_has_a_home() {
        let pc = code_of_this_process_has_a_home as fn() as usize as u64;
        let strays = [stray(std::process::id(), pc), stray(std::process::id(), 1)];
        let mut objects = Objects::default();
        let mut book = StrayBook::new(std::process::id(), Vec::new());
        book.settle(&strays, &mut objects);

        let (object, _) = book.home_of(&strays[0].0).unwrap();
        assert!(matches!(
            objects.list()[object.index()].kind,
            ObjectKind::File { .. }
        ));
        let (object, address) = book.home_of(&strays[1].0).unwrap();
        assert_eq!(
            objects.list()[object.index()].kind,
            ObjectKind::Nowhere(Unresolved::Unmapped)
        );
        assert_eq!(address, 1);
    }

    #[test]
    fn a_process_that_has_ended_is_looked_up_in_what_was_known() {
        let anonymous = Mapping {
            start: 0x1000,
            end: 0x2000,
            backing: Backing::Anonymous,
        };
        let strays = [stray(NOBODY, 0x1fff), stray(NOBODY, 0x2000)];
        let mut objects = Objects::default();
        let mut book = StrayBook::new(NOBODY, vec![anonymous]);
        book.settle(&strays, &mut objects);

        let kind = |index: usize| {
            let (object, _) = book.home_of(&strays[index].0).unwrap();
            objects.list()[object.index()].kind.clone()
        };
        assert_eq!(kind(0), ObjectKind::Anonymous);
        assert_eq!(kind(1), ObjectKind::Nowhere(Unresolved::ProcessEnded));
    }

    #[test]
    fn a_home_once_found_is_kept() {
        let anonymous = Mapping {
            start: 0x1000,
            end: 0x2000,
            backing: Backing::Anonymous,
        };
        let strays = [stray(NOBODY, 0x1000)];
        let mut objects = Objects::default();
        let mut book = StrayBook::new(NOBODY, vec![anonymous]);
        book.settle(&strays, &mut objects);
        let home = book.home_of(&strays[0].0);
        book.forget();
        book.settle(&strays, &mut objects);
        assert_eq!(book.home_of(&strays[0].0), home);
    }
}
