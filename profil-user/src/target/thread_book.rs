//! Which process threads are of, where they are kept apart.

use std::{collections::HashMap, fs};

use super::threads;
use crate::options::Tgid;

/// Threads by number; each may have been given several times.
#[derive(Debug, Default)]
pub(crate) struct ThreadBook {
    /// Whether anybody wants to know.
    kept: bool,
    threads: HashMap<u32, Vec<Thread>>,
}

#[derive(Debug)]
struct Thread {
    from_ns: u64,
    tgid: u32,
    /// Its name, and since when.
    names: Vec<(u64, String)>,
}

impl ThreadBook {
    pub(crate) fn new(kept: bool) -> Self {
        Self {
            kept,
            threads: HashMap::new(),
        }
    }

    /// Notes the threads that a process has at the start.
    pub(crate) fn observe(&mut self, tgid: u32) {
        let Some(process) = Tgid::new(tgid).filter(|_| self.kept) else {
            return;
        };
        for tid in threads::list(process).unwrap_or_default() {
            self.started(tid, tgid, 0);
            if let Ok(name) = fs::read(format!("/proc/{tgid}/task/{tid}/comm")) {
                let name = String::from_utf8_lossy(&name);
                self.named(tid, 0, name.trim_end_matches('\n'));
            }
        }
    }

    /// A thread of a process has started at `time`.
    pub(crate) fn started(&mut self, tid: u32, tgid: u32, time: u64) {
        if self.kept {
            let name = self.name_of(tgid, time);
            let same = self.threads.entry(tid).or_default();
            let index = same.partition_point(|thread| thread.from_ns <= time);
            let names = name.into_iter().map(|name| (time, name)).collect();
            let thread = Thread {
                from_ns: time,
                tgid,
                names,
            };
            same.insert(index, thread);
        }
    }

    /// A thread is called `name` from `time` on.
    pub(crate) fn named(&mut self, tid: u32, time: u64, name: &str) {
        if let Some(threads) = self.threads.get_mut(&tid)
            && let Some(thread) = threads.iter_mut().rfind(|thread| thread.from_ns <= time)
        {
            let index = thread.names.partition_point(|&(from, _)| from <= time);
            thread.names.insert(index, (time, name.to_owned()));
        }
    }

    /// The process that a thread was of at a time; its own number if that is not known.
    pub(crate) fn process_of(&self, tid: u32, time: u64) -> u32 {
        self.get(tid, time).map_or(tid, |thread| thread.tgid)
    }

    /// When the thread that had this number at a time started; 0 if that was before we came.
    pub(crate) fn start_of(&self, tid: u32, time: u64) -> u64 {
        self.get(tid, time).map_or(0, |thread| thread.from_ns)
    }

    /// What a thread was called at a time.
    pub(crate) fn name_of(&self, tid: u32, time: u64) -> Option<String> {
        let names = &self.get(tid, time)?.names;
        let name = names.iter().rfind(|&&(from, _)| from <= time);
        name.or(names.first()).map(|(_, name)| name.clone())
    }

    /// Forgets what no tick since `time` can be of: those that had a number before, and earlier names.
    pub(crate) fn forget(&mut self, time: u64) {
        for threads in self.threads.values_mut() {
            let later = threads.partition_point(|thread| thread.from_ns <= time);
            threads.drain(..later.saturating_sub(1));
            for thread in threads {
                let later = thread.names.partition_point(|&(from, _)| from <= time);
                thread.names.drain(..later.saturating_sub(1));
            }
        }
    }

    fn get(&self, tid: u32, time: u64) -> Option<&Thread> {
        let threads = self.threads.get(&tid)?;
        threads.iter().rfind(|thread| thread.from_ns <= time)
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadBook;

    #[test]
    fn a_number_is_of_one_process_and_then_of_another() {
        let mut book = ThreadBook::new(true);
        book.started(11, 10, 5);
        book.named(11, 6, "worker");
        book.started(11, 20, 50);
        assert_eq!(book.process_of(11, 10), 10);
        assert_eq!(book.process_of(11, 50), 20);
        assert_eq!(book.process_of(12, 50), 12);
        assert_eq!(book.name_of(11, 7).as_deref(), Some("worker"));
        assert_eq!(book.name_of(11, 51), None);
        assert_eq!(book.start_of(11, 60), 50);
    }

    #[test]
    fn what_was_before_is_forgotten() {
        let mut book = ThreadBook::new(true);
        for time in 0..10_000 {
            book.started(11, 10, 2 * time);
            book.named(11, 2 * time + 1, "restless");
            book.named(12, 2 * time, "nobody");
        }
        book.forget(15_000);
        let threads = &book.threads[&11];
        assert_eq!(threads.len(), 2500);
        assert_eq!(book.start_of(11, 15_000), 15_000);
        for time in 20_000..30_000 {
            book.named(11, time, "still");
        }
        book.forget(29_000);
        assert_eq!(book.threads[&11].len(), 1);
        assert_eq!(book.threads[&11][0].names.len(), 1000);
        assert_eq!(book.name_of(11, 29_000).as_deref(), Some("still"));
    }

    #[test]
    fn what_nobody_wants_is_not_kept() {
        let mut book = ThreadBook::new(false);
        book.started(11, 10, 5);
        assert_eq!(book.process_of(11, 10), 11);
    }
}
