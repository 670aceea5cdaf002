//! The ledger: every stray tick, under the object and the address where it belongs.

use std::{collections::HashMap, fs, io};

use profil_common::{Mode, StrayKey, StrayTicks};

use super::{
    history::{History, Life, Span},
    mappings,
    objects::Objects,
    selection::Selection,
    thread_book::ThreadBook,
};
use crate::{
    options::Split,
    profile::{ObjectId, Task, TaskId, Unresolved},
};

/// The lowest address of the kernel's half, on every 64-bit machine that we run on.
const KERNEL_HALF: u64 = 1 << 63;

/// What ticks are added up by.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Line {
    /// Whose they are, where that is kept apart.
    pub(crate) task: TaskId,
    pub(crate) object: ObjectId,
    /// As in [`Count::address`](crate::profile::Count::address).
    pub(crate) address: u64,
    pub(crate) mode: Mode,
}

/// Stray ticks so far.
#[derive(Debug)]
pub(crate) struct Ledger {
    split: Split,
    selection: Selection,
    lines: HashMap<Line, u64>,
    tasks: Vec<Task>,
    /// The number of the life or the thread that began at that time.
    by_life: HashMap<(u32, u64), TaskId>,
    /// Our own process, whose ticks are the price of the profile.
    own: u32,
    own_ticks: u64,
    /// Ticks that were taken in, wanted or not.
    total: u64,
    /// Ticks of processes that are not wanted.
    unwanted: u64,
    /// Wanted ticks by process number.
    by_tgid: HashMap<u32, u64>,
    /// Processes whose mappings were read in this round, in vain or not.
    read: HashMap<u32, Result<(), Unresolved>>,
}

/// What gives strays a home.
pub(crate) struct Known<'a> {
    pub(crate) history: &'a mut History,
    pub(crate) threads: &'a ThreadBook,
    pub(crate) objects: &'a mut Objects,
}

impl Ledger {
    pub(crate) fn new(split: Split, selection: Selection) -> Self {
        Self {
            split,
            selection,
            lines: HashMap::new(),
            tasks: Vec::new(),
            by_life: HashMap::new(),
            own: std::process::id(),
            own_ticks: 0,
            total: 0,
            unwanted: 0,
            by_tgid: HashMap::new(),
            read: HashMap::new(),
        }
    }

    /// Enters strays that were taken at `now`.
    pub(crate) fn enter(
        &mut self,
        strays: &[(StrayKey, StrayTicks)],
        now: u64,
        known: &mut Known<'_>,
    ) {
        self.read.clear();
        for (key, ticks) in strays {
            self.total += ticks.ticks;
            let tgid = match self.split {
                Split::ByThread => known.threads.process_of(key.task, ticks.last_ns),
                Split::Summed | Split::ByProcess => key.task,
            };
            let Some(mode) = Mode::from_number(u32::from(key.mode)) else {
                continue;
            };
            self.learn(tgid, key, ticks, now, known);
            let life = known.history.life(tgid, ticks.last_ns);
            if !self
                .selection
                .wants(tgid, life, ticks.last_ns, known.objects)
            {
                self.unwanted += ticks.ticks;
                continue;
            }
            if tgid == self.own {
                self.own_ticks += ticks.ticks;
            }
            *self.by_tgid.entry(tgid).or_default() += ticks.ticks;
            let task = self.task_of(tgid, key.task, life, ticks.last_ns, known.threads);
            for (object, address, ticks) in self.homes(tgid, key, ticks, known) {
                let line = Line {
                    task,
                    object,
                    address,
                    mode,
                };
                *self.lines.entry(line).or_default() += ticks;
            }
        }
    }

    /// Looks at the mappings of a process where what is known of it says nothing about a stray.
    fn learn(
        &mut self,
        tgid: u32,
        key: &StrayKey,
        ticks: &StrayTicks,
        now: u64,
        known: &mut Known<'_>,
    ) {
        let in_kernel = key.pc >= KERNEL_HALF;
        let history = &mut *known.history;
        let missing = if in_kernel {
            !history.knows(tgid, ticks.last_ns)
        } else {
            place_of(history, tgid, key, ticks.last_ns).is_none()
        };
        if !missing || self.read.contains_key(&tgid) {
            return;
        }
        let found = match mappings::read(tgid) {
            // A kernel thread has none either, and is there.
            Ok(mappings) if mappings.is_empty() && !in_kernel => Err(Unresolved::ProcessEnded),
            Ok(mappings) => {
                history.observed(tgid, (ticks.first_ns, now), mappings, known.objects);
                Ok(())
            }
            Err(error) => Err(reason_of(&error)),
        };
        if found.is_ok()
            && history
                .life(tgid, now)
                .is_none_or(|life| life.name(now).is_none())
            && let Ok(name) = fs::read(format!("/proc/{tgid}/comm"))
        {
            let name = String::from_utf8_lossy(&name);
            history.named(tgid, ticks.first_ns, name.trim_end_matches('\n'));
        }
        self.read.insert(tgid, found);
    }

    /// Where ticks at one address belong: one place, or two if what lies there has changed.
    fn homes(
        &self,
        tgid: u32,
        key: &StrayKey,
        ticks: &StrayTicks,
        known: &mut Known<'_>,
    ) -> Vec<(ObjectId, u64, u64)> {
        if key.pc >= KERNEL_HALF {
            return vec![(known.objects.kernel(), key.pc, ticks.ticks)];
        }
        let history = &*known.history;
        let Some(last) = place_of(history, tgid, key, ticks.last_ns) else {
            let reason = match self.read.get(&tgid) {
                Some(Err(reason)) => *reason,
                _ => Unresolved::Unmapped,
            };
            return vec![(known.objects.nowhere(reason), key.pc, ticks.ticks)];
        };
        let home = |object, mapping, objects: &Objects| {
            (object, objects.link_address(object, mapping, key.pc))
        };
        let (object, address) = home(last.object, &last.mapping, known.objects);
        let before = before(ticks, last.from_ns);
        if before == 0 {
            return vec![(object, address, ticks.ticks)];
        }
        let (old_object, old_address) = match place_of(history, tgid, key, ticks.first_ns) {
            Some(first) => home(first.object, &first.mapping, known.objects),
            None => (known.objects.nowhere(Unresolved::Unmapped), key.pc),
        };
        vec![
            (old_object, old_address, before),
            (object, address, ticks.ticks - before),
        ]
    }

    fn task_of(
        &mut self,
        tgid: u32,
        task: u32,
        life: Option<&Life>,
        time: u64,
        threads: &ThreadBook,
    ) -> TaskId {
        let started = match self.split {
            Split::Summed => return TaskId::ALL,
            Split::ByProcess => life.map_or(0, Life::start_ns),
            Split::ByThread => threads.start_of(task, time),
        };
        let by_thread = self.split == Split::ByThread;
        let name = if by_thread {
            threads.name_of(task, time)
        } else {
            None
        };
        let name = name.or_else(|| {
            life.and_then(|life| life.name(time))
                .map(ToString::to_string)
        });
        let next = TaskId::new(self.tasks.len() + 1);
        let id = *self.by_life.entry((task, started)).or_insert(next);
        if id == next {
            self.tasks.push(Task {
                tgid,
                tid: by_thread.then_some(task),
                name: String::new(),
                inner: inner_number(task),
            });
        }
        // Its last name is the one that it is known by.
        if let (Some(name), Some(known)) = (name, self.tasks.get_mut(id.index().unwrap_or(0))) {
            known.name = name;
        }
        id
    }

    /// Notes a process that has regions of its own, before its first tick.
    pub(crate) fn add_target(&mut self, tgid: u32, name: &str) {
        if self.split == Split::ByProcess {
            self.tasks.push(Task {
                tgid,
                tid: None,
                name: name.to_owned(),
                inner: inner_number(tgid),
            });
            let id = TaskId::new(self.tasks.len());
            self.by_life.insert((tgid, 0), id);
        }
    }

    /// Such a process has become another program.
    pub(crate) fn rename_target(&mut self, tgid: u32, name: &str) {
        let id = self.task_of_target(tgid);
        if let Some(task) = id.index().and_then(|index| self.tasks.get_mut(index)) {
            name.clone_into(&mut task.name);
        }
    }

    /// The task that a process with regions of its own is.
    pub(crate) fn task_of_target(&self, tgid: u32) -> TaskId {
        let id = self.by_life.get(&(tgid, 0)).copied();
        id.unwrap_or(TaskId::ALL)
    }

    /// Every tick that was entered and is wanted.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (Line, u64)> {
        self.lines.iter().map(|(&line, &ticks)| (line, ticks))
    }

    /// Those that ticks are kept apart by, in the order of their numbers.
    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// All ticks that were entered, wanted or not.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// Ticks of processes that are not wanted.
    pub(crate) const fn unwanted(&self) -> u64 {
        self.unwanted
    }

    /// Ticks of this process itself.
    pub(crate) const fn own_ticks(&self) -> u64 {
        self.own_ticks
    }

    /// Wanted ticks of processes that are none of these, and how many such processes.
    pub(crate) fn others_than(&self, targets: &[u32]) -> (u64, usize) {
        let others = self
            .by_tgid
            .iter()
            .filter(|(tgid, _)| !targets.contains(tgid));
        others.fold((0, 0), |(ticks, processes), (_, more)| {
            (ticks + more, processes + 1)
        })
    }
}

/// What a stray's address was of at a time.
fn place_of<'a>(history: &'a History, tgid: u32, key: &StrayKey, time: u64) -> Option<&'a Span> {
    if key.mode == Mode::System as u16 {
        history.place_of_call(tgid, key.pc, time)
    } else {
        history.place(tgid, key.pc, time)
    }
}

/// How many ticks were probably counted before `time`: as large a share as the time until then,
/// though the first one certainly was, and the last one was not.
fn before(ticks: &StrayTicks, time: u64) -> u64 {
    if time <= ticks.first_ns {
        return 0;
    }
    if time > ticks.last_ns {
        return ticks.ticks;
    }
    let share = (time - ticks.first_ns) as f64 / (ticks.last_ns - ticks.first_ns) as f64;
    let before = (ticks.ticks as f64 * share).round() as u64;
    before.clamp(1, ticks.ticks.saturating_sub(1).max(1))
}

/// The number of a task in its own PID namespace, if that is below ours.
fn inner_number(task: u32) -> Option<u32> {
    let status = fs::read(format!("/proc/{task}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers
        .split_ascii_whitespace()
        .skip(1)
        .last()?
        .parse()
        .ok()
}

fn reason_of(error: &io::Error) -> Unresolved {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => Unresolved::ProcessEnded,
        _ => Unresolved::Refused,
    }
}

#[cfg(test)]
mod tests {
    use profil_common::StrayTicks;

    use super::before;

    #[test]
    fn ticks_are_shared_out_by_time() {
        let stray = StrayTicks {
            ticks: 10,
            first_ns: 1000,
            last_ns: 2000,
        };
        for (time, ticks) in [
            (0, 0),
            (1000, 0),
            (1001, 1),
            (1500, 5),
            (2000, 9),
            (2001, 10),
        ] {
            assert_eq!(before(&stray, time), ticks, "{time}");
        }
        let one = StrayTicks {
            ticks: 1,
            first_ns: 7,
            last_ns: 7,
        };
        assert_eq!((before(&one, 7), before(&one, 8)), (0, 1));
    }
}
