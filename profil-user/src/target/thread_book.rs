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
            same.push(Thread {
                from_ns: time,
                tgid,
                names: name.into_iter().map(|name| (time, name)).collect(),
            });
            same.sort_by_key(|thread| thread.from_ns);
        }
    }

    /// A thread is called `name` from `time` on.
    pub(crate) fn named(&mut self, tid: u32, time: u64, name: &str) {
        if let Some(threads) = self.threads.get_mut(&tid)
            && let Some(thread) = threads.iter_mut().rfind(|thread| thread.from_ns <= time)
        {
            thread.names.push((time, name.to_owned()));
            thread.names.sort_by_key(|&(from, _)| from);
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
    fn what_nobody_wants_is_not_kept() {
        let mut book = ThreadBook::new(false);
        book.started(11, 10, 5);
        assert_eq!(book.process_of(11, 10), 11);
    }
}
