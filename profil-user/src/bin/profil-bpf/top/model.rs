//! What the view knows: ticks by process and function, since the start and second by second.
//!
//! Plain values, and bounded: as many cells as there is room for, and what ticked in each of the last
//! seconds. It is fed with what snapshots add, and is a function of that alone.

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
    ops::AddAssign,
    sync::Arc,
    time::Duration,
};

use profil_user::{Balance, Object, ObjectId, Task, symbolize::WhyUnnamed};

/// Seconds that are remembered one by one.
pub(crate) const SECONDS: usize = 60;

/// The longer of the two windows that rates are shown for; the other is the last second.
const LONG: Duration = Duration::from_secs(10);

/// Snapshots come about once a second, and more often where much is to be taken out of the kernel: a
/// second is over when this much of it is.
const ALMOST_A_SECOND: Duration = Duration::from_millis(900);

/// Most pairs of a process and a function that are kept apart; beyond, those with least are added up.
const MAX_CELLS: usize = 20_000;

/// Ticks, by mode.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Ticks {
    pub(crate) user: u64,
    pub(crate) system: u64,
}

impl Ticks {
    pub(crate) const fn all(self) -> u64 {
        self.user + self.system
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, more: Self) {
        self.user += more.user;
        self.system += more.system;
    }
}

/// A function in an object, or an address there that has no name.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Spot {
    pub(crate) object: ObjectId,
    /// Link-time address of the function, or the one without a name.
    pub(crate) address: u64,
    /// Demangled, untrusted; or why there is none.
    pub(crate) name: Result<Arc<str>, WhyUnnamed>,
}

/// What ticks are added up by.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Cell {
    /// Functions for which there was no room, of whatever process.
    Rest,
    /// A function of a process.
    At {
        /// Index of the process in [`Labels::tasks`]; `None` where nobody knows whose ticks they are.
        process: Option<usize>,
        spot: Spot,
    },
}

/// What numbers stand for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Labels {
    /// By [`ObjectId`].
    pub(crate) objects: Vec<Object>,
    pub(crate) tasks: Vec<Task>,
}

/// What a snapshot says.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    /// Wall-clock time that the clock was on.
    pub(crate) elapsed: Duration,
    pub(crate) paused: bool,
    pub(crate) balance: Balance,
    /// CPU time of this process by wall-clock time, since the last update.
    pub(crate) own: f64,
    pub(crate) labels: Arc<Labels>,
    /// Whether what was said before is void.
    pub(crate) anew: bool,
    /// Ticks that were not in the snapshot before.
    pub(crate) gains: Vec<(Cell, Ticks)>,
}

/// Ticks of one cell.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Sums {
    /// In the last second.
    pub(crate) now: Ticks,
    /// In the last ten seconds.
    pub(crate) ten: Ticks,
    /// Since the start.
    pub(crate) all: Ticks,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, more: Self) {
        self.now += more.now;
        self.ten += more.ten;
        self.all += more.all;
    }
}

/// Lengths of the windows that [`Sums`] are of, in seconds of wall-clock time with the clock on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Windows {
    pub(crate) now: f64,
    pub(crate) ten: f64,
    pub(crate) all: f64,
}

/// About a second that is not over: what ticked in it, by the number of the cell.
#[derive(Clone, Debug, Default)]
struct Open {
    time: Duration,
    gains: HashMap<usize, Ticks>,
}

/// One that is over. There are many, so they are small.
#[derive(Clone, Debug)]
struct Second {
    time: Duration,
    gains: Box<[Gain]>,
}

#[derive(Clone, Copy, Debug)]
struct Gain {
    cell: u32,
    user: u32,
    system: u32,
}

impl Gain {
    fn of((cell, ticks): (usize, Ticks)) -> Self {
        // No machine ticks four thousand million times in a second, nor has as many cells.
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            cell: small(cell as u64),
            user: small(ticks.user),
            system: small(ticks.system),
        }
    }

    fn ticks(self) -> (usize, Ticks) {
        let ticks = Ticks {
            user: self.user.into(),
            system: self.system.into(),
        };
        (self.cell as usize, ticks)
    }
}

impl Second {
    fn gains(&self) -> impl Iterator<Item = (usize, Ticks)> {
        self.gains.iter().map(|gain| gain.ticks())
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    cells: Vec<Cell>,
    sums: Vec<Sums>,
    /// Where a cell is.
    numbers: HashMap<Cell, usize>,
    /// The last seconds, latest first.
    seconds: VecDeque<Second>,
    /// The one that is not over.
    open: Open,
    room: usize,
    pub(crate) windows: Windows,
    pub(crate) labels: Arc<Labels>,
    pub(crate) balance: Balance,
    pub(crate) elapsed: Duration,
    pub(crate) paused: bool,
    pub(crate) own: f64,
}

impl Default for Model {
    fn default() -> Self {
        Self::with_room(MAX_CELLS)
    }
}

impl Model {
    /// One for so many cells, and the rest.
    pub(crate) fn with_room(room: usize) -> Self {
        Self {
            cells: vec![Cell::Rest],
            sums: vec![Sums::default()],
            numbers: HashMap::from([(Cell::Rest, 0)]),
            seconds: VecDeque::new(),
            open: Open::default(),
            room: room.max(1),
            windows: Windows::default(),
            labels: Arc::default(),
            balance: Balance::default(),
            elapsed: Duration::ZERO,
            paused: false,
            own: 0.0,
        }
    }

    /// Takes in what a snapshot says.
    pub(crate) fn ingest(&mut self, update: Update) {
        if update.anew {
            *self = Self::with_room(self.room);
        }
        self.open.time += update.elapsed.saturating_sub(self.elapsed);
        self.elapsed = update.elapsed;
        self.windows.all = update.elapsed.as_secs_f64();
        self.paused = update.paused;
        self.balance = update.balance;
        self.own = update.own;
        self.labels = update.labels;
        for (cell, ticks) in update.gains {
            let number = self.number_of(cell);
            self.sums[number].all += ticks;
            *self.open.gains.entry(number).or_default() += ticks;
        }
        if self.open.time >= ALMOST_A_SECOND {
            let over = std::mem::take(&mut self.open);
            self.seconds.push_front(Second {
                time: over.time,
                gains: over.gains.into_iter().map(Gain::of).collect(),
            });
            self.seconds.truncate(SECONDS);
            self.sum_windows();
        }
    }

    /// Every cell and its ticks, the rest first.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (usize, &Cell, Sums)> {
        let with_sums = self.cells.iter().zip(&self.sums).enumerate();
        with_sums.map(|(number, (cell, &sums))| (number, cell, sums))
    }

    /// Ticks of everything.
    pub(crate) fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.sums.iter().for_each(|&sums| total += sums);
        total
    }

    /// Ticks a second by cell in each of the last seconds, latest first.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = impl Iterator<Item = (usize, f64)>> {
        self.seconds.iter().map(|second| {
            let time = second.time.as_secs_f64();
            let gains = second.gains();
            gains.map(move |(number, ticks)| (number, ticks.all() as f64 / time))
        })
    }

    /// CPUs that so many ticks in so many seconds kept busy.
    pub(crate) fn cpus(&self, ticks: Ticks, seconds: f64) -> f64 {
        if seconds > 0.0 {
            self.cpu_seconds(ticks) / seconds
        } else {
            0.0
        }
    }

    /// CPU time that so many ticks stand for, in seconds.
    pub(crate) fn cpu_seconds(&self, ticks: Ticks) -> f64 {
        ticks.all() as f64 * self.balance.period_ns / 1e9
    }

    fn sum_windows(&mut self) {
        for sums in &mut self.sums {
            (sums.now, sums.ten) = (Ticks::default(), Ticks::default());
        }
        let mut time = Duration::ZERO;
        for (age, second) in self.seconds.iter().enumerate() {
            // Seconds are not all of one length: a little more than ten is ten.
            // And the last one is in both, however long it was: names can take long to look up.
            if age > 0 && time + second.time / 2 >= LONG {
                break;
            }
            time += second.time;
            for (number, ticks) in second.gains() {
                if age == 0 {
                    self.sums[number].now += ticks;
                }
                self.sums[number].ten += ticks;
            }
        }
        self.windows.now = self
            .seconds
            .front()
            .map_or(0.0, |last| last.time.as_secs_f64());
        self.windows.ten = time.as_secs_f64();
    }

    fn number_of(&mut self, cell: Cell) -> usize {
        if let Some(&number) = self.numbers.get(&cell) {
            return number;
        }
        if self.cells.len() > self.room {
            self.make_room();
        }
        let number = self.cells.len();
        self.cells.push(cell.clone());
        self.sums.push(Sums::default());
        self.numbers.insert(cell, number);
        number
    }

    /// Adds half of the cells to the rest: those that ticked least in the last ten seconds, and of these
    /// those that ticked least.
    fn make_room(&mut self) {
        let mut order: Vec<usize> = (1..self.cells.len()).collect();
        let in_open = |number: usize| self.open.gains.get(&number).map_or(0, |ticks| ticks.all());
        order.sort_by_key(|&number| {
            let sums = self.sums[number];
            Reverse((sums.ten.all() + in_open(number), sums.all.all()))
        });
        order.truncate(self.room / 2);
        let mut moved = vec![0; self.cells.len()];
        let (mut cells, mut sums) = (vec![Cell::Rest], vec![Sums::default()]);
        for number in order {
            moved[number] = cells.len();
            cells.push(self.cells[number].clone());
            sums.push(Sums::default());
        }
        for (old, &new) in moved.iter().enumerate() {
            sums[new] += self.sums[old];
        }
        let add_up = |gains: &mut dyn Iterator<Item = (usize, Ticks)>| {
            let mut added: HashMap<usize, Ticks> = HashMap::new();
            gains.for_each(|(old, ticks)| *added.entry(moved[old]).or_default() += ticks);
            added
        };
        for second in &mut self.seconds {
            let added = add_up(&mut second.gains());
            second.gains = added.into_iter().map(Gain::of).collect();
        }
        let open = std::mem::take(&mut self.open.gains);
        self.open.gains = add_up(&mut open.into_iter());
        let numbered = cells.iter().cloned().enumerate();
        self.numbers = numbered.map(|(number, cell)| (cell, number)).collect();
        (self.cells, self.sums) = (cells, sums);
    }
}

#[cfg(test)]
pub(crate) mod tests;
