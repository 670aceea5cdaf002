//! What ticked on this machine in the last day, by the minute: a ring in bounded memory, and on disk if a
//! directory is given.
//!
//! A minute has cells: ticks of an [`Owner`] (processes of one name in one cgroup) in a function, by address. Of
//! those there are at most [`Limits::cells`]; the lightest are added up (`fold.rs`), so that the sum of a minute is the sum
//! of what was entered, exactly. Names are held once for all minutes, as long as one of these speaks of them.

mod cell;
mod compare;
mod cost;
mod fold;
mod journal;
mod names;
mod record;
mod select;
mod table;
#[cfg(test)]
mod tests;
mod timeline;

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, VecDeque},
    path::Path,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use cell::{Cells, Holds, Key, Packed, Tables, Ticks};
pub use cell::{OTHER, Owner};
pub use compare::Change;
pub use cost::Cost;
use fold::Others;
use journal::Journal;
pub use journal::JournalError;
use names::NamesOfProcesses;
pub use select::{Filter, Grouping, Item, Selection, Span};
pub use timeline::{Moment, Strip, Timeline};

use super::{Spot, Window};

/// Seconds of a minute.
pub const MINUTE: u64 = 60;

/// What a history may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// How many minutes are kept.
    pub minutes: usize,
    /// Cells of a minute.
    pub cells: usize,
    /// Owners of a minute; all others are one.
    pub processes: usize,
    /// Bytes of memory, about: the oldest minutes are forgotten where that is too little.
    pub bytes: usize,
    /// Bytes on disk: the oldest files are removed.
    pub disk: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            minutes: 1440,
            cells: 2000,
            processes: 200,
            bytes: 128 << 20,
            disk: 256 << 20,
        }
    }
}

/// What a history had to do without.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Losses {
    /// Places in files at which a minute was damaged and is skipped.
    pub damaged: u64,
    /// Minutes that could not be written to disk.
    pub unwritten: u64,
    /// Minutes that were forgotten early, because memory was short.
    pub forgotten: u64,
}

/// The last day, by the minute.
#[derive(Debug)]
pub struct History {
    limits: Limits,
    tables: Tables,
    /// In the order in which they came, which is that of time unless the clock was set back.
    minutes: VecDeque<Packed>,
    bytes: usize,
    open: Open,
    /// What came in the last minute, window by window.
    recent: VecDeque<Packed>,
    other_owner: Arc<Owner>,
    other_spot: Arc<Spot>,
    journal: Option<Journal>,
    losses: Losses,
}

/// The minute that is not over.
#[derive(Debug, Default)]
struct Open {
    /// Minutes since 1970.
    minute: u64,
    covered: Duration,
    cells: Cells,
    holds: Holds,
    names: NamesOfProcesses,
}

impl Default for History {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl History {
    /// One in memory alone.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            tables: Tables::default(),
            minutes: VecDeque::new(),
            bytes: 0,
            open: Open::default(),
            recent: VecDeque::new(),
            other_owner: Arc::new(Owner::other()),
            other_spot: Arc::new(cell::other_spot()),
            journal: None,
            losses: Losses::default(),
        }
    }

    /// One that goes on where the last one in a directory ended. What is damaged there is skipped and counted.
    ///
    /// # Errors
    ///
    /// If the directory cannot be made or read.
    pub fn open(dir: &Path, limits: Limits) -> Result<Self, JournalError> {
        let mut history = Self::new(limits);
        let (journal, minutes) = Journal::open(dir, limits.disk, limits.minutes)?;
        history.losses.damaged = journal.damaged;
        for minute in minutes {
            let cells = minute.cells(&mut history.tables);
            let cells = history.folded(cells);
            history.keep(minute.began, minute.covered(), &cells);
            history.tables.sweep();
        }
        history.journal = Some(journal);
        Ok(history)
    }

    /// Adds what ticked to the minute that it belongs to, which is that of the window's middle.
    pub fn enter(&mut self, window: &Window) {
        let since = window.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let middle = since.saturating_add(window.elapsed / 2).as_secs();
        let minute = middle / MINUTE;
        // What comes a little late is of the open minute; if the clock was set back, a new one begins.
        let is_late = minute + 1 == self.open.minute;
        if minute != self.open.minute && !is_late {
            self.close();
            self.open.minute = minute;
        }
        let others = self.others();
        let mut cells = Cells::new();
        for row in window.rows.iter().filter(|row| row.ticks() > 0) {
            let (owner, is_renamed) = self.open.names.owner_of(&row.process);
            let spot = match is_renamed {
                true => others.spot,
                false => self.tables.spot(&cell::cut_spot(&row.spot)),
            };
            let key = Key {
                owner: owner.map_or(others.owner, |owner| self.tables.owner(&owner)),
                spot,
                address: (!is_renamed).then_some(row.address),
                period_ns: window.period_ns,
            };
            cell::add(&mut cells, key, [row.user, row.system]);
        }
        let cells = fold::fold(cells, &self.limits, others);
        let covered = window.elapsed;
        let recent = Packed::new(since.as_secs(), covered, &cells, &mut self.tables);
        self.recent.push_back(recent);
        self.forget_recent(since.saturating_add(covered).as_secs());
        self.add_to_open(cells, covered);
        self.tables.sweep();
    }

    /// Ends the minute that is open, as at the end of the program: it is kept, and written to disk.
    pub fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.open.minute = open.minute;
        if open.cells.is_empty() {
            open.holds.release(&mut self.tables);
            self.tables.sweep();
            return;
        }
        let cells = self.with_few_new_names(open.cells);
        let began = open.minute * MINUTE;
        let covered = open.covered.min(Duration::from_secs(MINUTE));
        if let Some(journal) = &mut self.journal
            && journal.write(began, covered, &cells, &self.tables).is_err()
        {
            self.losses.unwritten += 1;
        }
        self.keep(began, covered, &cells);
        open.holds.release(&mut self.tables);
        self.tables.sweep();
    }

    /// What it had to do without.
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Bytes of memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let recent: usize = self.recent.iter().map(Packed::bytes).sum();
        let open = self.open.cells.capacity() * size_of::<(Key, Ticks)>();
        self.bytes + recent + open + self.tables.bytes()
    }

    /// How many minutes it holds, the open one included.
    pub fn minutes(&self) -> usize {
        self.minutes.len() + usize::from(!self.open.cells.is_empty())
    }

    fn others(&mut self) -> Others {
        Others {
            owner: self.tables.owner(&self.other_owner),
            spot: self.tables.spot(&self.other_spot),
        }
    }

    fn folded(&mut self, cells: Cells) -> Cells {
        let others = self.others();
        fold::fold(cells, &self.limits, others)
    }

    fn add_to_open(&mut self, cells: Cells, covered: Duration) {
        let mut all = std::mem::take(&mut self.open.cells);
        for (key, ticks) in cells {
            cell::add(&mut all, key, ticks);
        }
        // Not with each window, so that what is light at first may become heavy.
        if all.len() > 2 * self.limits.cells {
            all = self.folded(all);
        }
        let holds = Holds::take(all.keys(), &mut self.tables);
        std::mem::replace(&mut self.open.holds, holds).release(&mut self.tables);
        self.open.cells = all;
        self.open.covered = self.open.covered.saturating_add(covered);
    }

    /// As many cells as a minute may have. While much of the memory is names, no owner may add many.
    fn with_few_new_names(&mut self, cells: Cells) -> Cells {
        /// Bytes of new names of an owner in a minute.
        const MOST_NEW: usize = 16 << 10;

        let cells = self.folded(cells);
        if self.tables.bytes() < self.limits.bytes / 4 {
            return cells;
        }
        let others = self.others();
        let known: HashSet<u32> = self.known_spots();
        let mut heavy: Vec<_> = cells.into_iter().collect();
        heavy.sort_unstable_by_key(|&(key, ticks)| {
            (Reverse(ticks[0].saturating_add(ticks[1])), key)
        });
        let mut new: HashMap<u32, (usize, HashSet<u32>)> = HashMap::new();
        let mut few = Cells::new();
        for (mut key, ticks) in heavy {
            if !known.contains(&key.spot) && key.spot != others.spot {
                let (bytes, spots) = new.entry(key.owner).or_default();
                let more = self.tables.spots.bytes_of(key.spot);
                if spots.contains(&key.spot) || *bytes + more <= MOST_NEW {
                    *bytes += if spots.insert(key.spot) { more } else { 0 };
                } else {
                    (key.spot, key.address) = (others.spot, None);
                }
            }
            cell::add(&mut few, key, ticks);
        }
        few
    }

    /// The places that the last minutes speak of.
    fn known_spots(&self) -> HashSet<u32> {
        let last = self.minutes.iter().rev().take(10);
        last.flat_map(|minute| minute.columns().spot).collect()
    }

    fn keep(&mut self, began: u64, covered: Duration, cells: &Cells) {
        let minute = Packed::new(began, covered, cells, &mut self.tables);
        self.bytes += minute.bytes();
        self.minutes.push_back(minute);
        while self.minutes.len() > self.limits.minutes {
            self.forget();
        }
        while self.minutes.len() > 1 && self.bytes() > self.limits.bytes {
            self.losses.forgotten += 1;
            self.forget();
            self.tables.sweep();
        }
    }

    fn forget(&mut self) {
        if let Some(minute) = self.minutes.pop_front() {
            self.bytes -= minute.bytes();
            minute.release(&mut self.tables);
        }
    }

    /// Forgets windows that began more than a minute ago, or in the future.
    fn forget_recent(&mut self, now: u64) {
        /// There are no more, whatever the clock does.
        const MOST: usize = 120;

        let is_recent =
            |window: &Packed| (now.saturating_sub(MINUTE)..=now).contains(&window.began);
        let (recent, old): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.recent)
            .into_iter()
            .partition(is_recent);
        self.recent = recent;
        old.into_iter()
            .for_each(|window| window.release(&mut self.tables));
        while self.recent.len() > MOST
            && let Some(oldest) = self.recent.pop_front()
        {
            oldest.release(&mut self.tables);
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.close();
    }
}
