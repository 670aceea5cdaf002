//! Things that many minutes speak of: each is held once, as long as somebody holds it.

use std::{collections::HashMap, hash::Hash, sync::Arc};

/// Things by number.
#[derive(Debug)]
pub(super) struct Table<T> {
    numbers: HashMap<Arc<T>, u32>,
    things: Vec<Option<Held<T>>>,
    /// Numbers of nothing.
    free: Vec<u32>,
    /// Numbers that may have nobody that holds them.
    loose: Vec<u32>,
    /// What all of them take.
    bytes: usize,
}

#[derive(Debug)]
struct Held<T> {
    thing: Arc<T>,
    bytes: usize,
    holders: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            things: Vec::new(),
            free: Vec::new(),
            loose: Vec::new(),
            bytes: 0,
        }
    }
}

/// What a thing takes in a table, beside its texts: about.
const OVERHEAD: usize = 160;

impl<T: Eq + Hash> Table<T> {
    /// The number of a thing, which takes so many bytes. It is good until the next [`sweep`](Self::sweep), or
    /// as long as it is held.
    pub(super) fn number(&mut self, thing: &Arc<T>, bytes: usize) -> u32 {
        if let Some(&number) = self.numbers.get(thing) {
            return number;
        }
        let held = Held {
            thing: Arc::clone(thing),
            bytes: bytes + OVERHEAD,
            holders: 0,
        };
        self.bytes += held.bytes;
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.things.push(None);
                self.things.len() as u32 - 1
            }
        };
        self.things[number as usize] = Some(held);
        self.numbers.insert(Arc::clone(thing), number);
        self.loose.push(number);
        number
    }

    /// The thing of a number.
    pub(super) fn get(&self, number: u32) -> Option<&Arc<T>> {
        let held = self.things.get(number as usize)?.as_ref()?;
        Some(&held.thing)
    }

    /// What a thing takes.
    pub(super) fn bytes_of(&self, number: u32) -> usize {
        let held = self.things.get(number as usize).and_then(Option::as_ref);
        held.map_or(0, |held| held.bytes)
    }

    pub(super) fn hold(&mut self, number: u32) {
        if let Some(Some(held)) = self.things.get_mut(number as usize) {
            held.holders += 1;
        }
    }

    pub(super) fn release(&mut self, number: u32) {
        if let Some(Some(held)) = self.things.get_mut(number as usize) {
            held.holders = held.holders.saturating_sub(1);
            if held.holders == 0 {
                self.loose.push(number);
            }
        }
    }

    /// Forgets what nobody holds.
    pub(super) fn sweep(&mut self) {
        for number in std::mem::take(&mut self.loose) {
            let Some(place) = self.things.get_mut(number as usize) else {
                continue;
            };
            if let Some(held) = place.take_if(|held| held.holders == 0) {
                self.numbers.remove(&held.thing);
                self.bytes -= held.bytes;
                self.free.push(number);
            }
        }
    }

    /// What all of it takes: about.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many numbers there have been at once, at most.
    pub(super) const fn most(&self) -> usize {
        self.things.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Table;

    #[test]
    fn a_thing_is_there_as_long_as_it_is_held() {
        let mut table = Table::default();
        let one = Arc::new("one");
        let number = table.number(&one, 3);
        assert_eq!(table.number(&Arc::new("one"), 3), number);
        table.hold(number);
        table.hold(number);
        table.sweep();
        table.release(number);
        table.sweep();
        assert_eq!(table.get(number), Some(&one));
        table.release(number);
        assert_eq!(table.get(number), Some(&one));
        table.sweep();
        assert_eq!((table.get(number), table.bytes()), (None, 0));
        // What is never held goes with the next sweep, and numbers are used again.
        assert_eq!(table.number(&Arc::new("two"), 3), number);
        table.sweep();
        assert_eq!((table.bytes(), table.most()), (0, 1));
    }
}
