//! What every process was and had mapped, and since when: a tick is of what lay at its address at
//! its time.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC`. What was there when we came has time 0.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{mappings::Mapping, objects::Objects};
use crate::profile::ObjectId;

/// Spans that are kept of one program: more than any program maps text. What maps and unmaps without
/// end is remembered in part; the rest is looked up again when it ticks.
const MOST_SPANS: usize = 8192;

/// Everything that is known about processes, by number.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The lives of processes that had a number one after the other, by their starts.
    processes: HashMap<u32, Vec<Life>>,
}

/// One process, from its start to its end.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    from_ns: u64,
    until_ns: Option<u64>,
    /// The kernel's 15-byte names of it, and since when.
    names: Vec<(u64, Arc<str>)>,
    /// The programs that it ran one after the other; not empty.
    images: Vec<Image>,
}

/// One program that a process ran.
#[derive(Clone, Debug, Default)]
struct Image {
    from_ns: u64,
    /// In the order in which they became known. A child begins with its parent's.
    spans: Arc<Vec<Span>>,
}

/// What lay at some addresses.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// Since when.
    pub(crate) from_ns: u64,
    /// Where.
    pub(crate) mapping: Arc<Mapping>,
    /// What.
    pub(crate) object: ObjectId,
}

impl Span {
    fn holds(&self, pc: u64) -> bool {
        self.mapping.start <= pc && pc < self.mapping.end
    }
}

impl History {
    /// A process has started at `time`, as a copy of its parent.
    pub(crate) fn started(&mut self, tgid: u32, parent: u32, time: u64) {
        let mut life = self.life(parent, time).map_or_else(
            || Life::new(time),
            |parent| Life {
                names: parent
                    .name(time)
                    .cloned()
                    .map(|name| (time, name))
                    .into_iter()
                    .collect(),
                images: vec![Image {
                    from_ns: time,
                    spans: Arc::clone(&parent.image(time).spans),
                }],
                ..Life::new(time)
            },
        );
        life.from_ns = time;
        let lives = self.processes.entry(tgid).or_default();
        insert_by(lives, life, |life| life.from_ns);
    }

    /// A process has ended at `time`, or its first thread has.
    pub(crate) fn ended(&mut self, tgid: u32, time: u64) {
        if let Some(life) = self.life_mut(tgid, time) {
            life.until_ns = Some(time);
        }
    }

    /// A process is called `name` from `time` on.
    pub(crate) fn named(&mut self, tgid: u32, time: u64, name: &str) {
        let life = self.life_or_new(tgid, time);
        insert_by(&mut life.names, (time, name.into()), |&(from, _)| from);
    }

    /// A process runs another program from `time` on, and has mapped nothing yet.
    pub(crate) fn exec(&mut self, tgid: u32, time: u64) {
        let image = Image {
            from_ns: time,
            spans: Arc::default(),
        };
        let life = self.life_or_new(tgid, time);
        // Where a thread calls exec, its first thread ends before, and the process goes on.
        life.until_ns = None;
        insert_by(&mut life.images, image, |image| image.from_ns);
    }

    /// A process has mapped something at `time`.
    pub(crate) fn mapped(&mut self, tgid: u32, time: u64, mapping: Mapping, object: ObjectId) {
        let life = self.life_or_new(tgid, time);
        // What changes its protection to and fro is reported each time.
        let there = life.place(mapping.start, time);
        if there.is_some_and(|span| span.object == object && span.mapping.shows(&mapping)) {
            return;
        }
        let spans = Arc::make_mut(&mut life.image_mut(time).spans);
        spans.push(Span {
            from_ns: time,
            mapping: Arc::new(mapping),
            object,
        });
        if spans.len() >= MOST_SPANS {
            thin(spans);
        }
    }

    /// These are a process's mappings at this moment. Those that are not known yet are taken to be
    /// there since `since`.
    pub(crate) fn observed(
        &mut self,
        tgid: u32,
        (since, now): (u64, u64),
        mappings: Vec<Mapping>,
        objects: &mut Objects,
    ) {
        for mapping in mappings {
            let known = self.place(tgid, mapping.start, now);
            if known.is_some_and(|span| span.mapping.shows(&mapping)) {
                continue;
            }
            let object = objects.of_mapping(tgid, &mapping);
            self.mapped(tgid, since, mapping, object);
        }
    }

    /// Whether anything is known about a process at a time.
    pub(crate) fn knows(&self, tgid: u32, time: u64) -> bool {
        self.life(tgid, time).is_some()
    }

    /// The life of the process that had a number at a time.
    pub(crate) fn life(&self, tgid: u32, time: u64) -> Option<&Life> {
        let lives = self.processes.get(&tgid)?;
        // What has no earlier beginning is known from later on only.
        lives
            .iter()
            .rev()
            .find(|life| life.from_ns <= time)
            .or_else(|| lives.first())
    }

    /// What lay at an address of a process at a time.
    pub(crate) fn place(&self, tgid: u32, pc: u64, time: u64) -> Option<&Span> {
        self.life(tgid, time)?.place(pc, time)
    }

    /// As [`History::place`], of the address at which the kernel will go on: while it executes
    /// another program, that is still the one of the call, in the program before.
    pub(crate) fn place_of_call(&self, tgid: u32, pc: u64, time: u64) -> Option<&Span> {
        let life = self.life(tgid, time)?;
        life.place(pc, time).or_else(|| {
            let exec = life.image(time).from_ns;
            life.place(pc, exec.checked_sub(1)?)
        })
    }

    /// Forgets what no tick since `time` can be of: processes that had ended, and what the others were
    /// and were called before.
    pub(crate) fn forget(&mut self, time: u64) {
        self.processes.retain(|_, lives| {
            lives.retain(|life| life.until_ns.is_none_or(|until| until >= time));
            for life in &mut *lives {
                drop_before(&mut life.names, time, 1, |&(from, _)| from);
                // A call of exec is of the program before.
                drop_before(&mut life.images, time, 2, |image| image.from_ns);
            }
            !lives.is_empty()
        });
    }

    /// Takes processes that are not there any more to have ended by `time`, which is before `is_there` is asked:
    /// of some nobody was told that they did.
    #[cfg(feature = "serve")]
    pub(crate) fn sweep(&mut self, time: u64, is_there: impl Fn(u32) -> bool) {
        for (&tgid, lives) in &mut self.processes {
            let count = lives.len();
            // Whoever had the number before the last has gone, too.
            for (number, life) in lives.iter_mut().enumerate() {
                let is_over = number + 1 < count || !is_there(tgid);
                if life.until_ns.is_none() && life.from_ns < time && is_over {
                    life.until_ns = Some(time);
                }
            }
        }
    }

    fn life_mut(&mut self, tgid: u32, time: u64) -> Option<&mut Life> {
        let lives = self.processes.get_mut(&tgid)?;
        let index = lives.iter().rposition(|life| life.from_ns <= time);
        lives.get_mut(index.unwrap_or(0))
    }

    fn life_or_new(&mut self, tgid: u32, time: u64) -> &mut Life {
        let lives = self.processes.entry(tgid).or_default();
        if lives.is_empty() {
            // It was there before we could know.
            lives.push(Life::new(0));
        }
        let index = lives.iter().rposition(|life| life.from_ns <= time);
        &mut lives[index.unwrap_or(0)]
    }
}

impl Life {
    fn new(from_ns: u64) -> Self {
        Self {
            from_ns,
            until_ns: None,
            names: Vec::new(),
            images: vec![Image {
                from_ns,
                spans: Arc::default(),
            }],
        }
    }

    /// When it started; 0 if that was before we came.
    pub(crate) const fn start_ns(&self) -> u64 {
        self.from_ns
    }

    /// What it was called at a time. Untrusted: escape it before display.
    pub(crate) fn name(&self, time: u64) -> Option<&Arc<str>> {
        let names = &self.names;
        let name = names.iter().rev().find(|&&(from, _)| from <= time);
        name.or(names.first()).map(|(_, name)| name)
    }

    /// The program that it ran at a time: the kernel maps it before all else.
    pub(crate) fn executable(&self, time: u64) -> Option<ObjectId> {
        self.image(time).spans.first().map(|span| span.object)
    }

    fn image(&self, time: u64) -> &Image {
        let image = self.images.iter().rev().find(|image| image.from_ns <= time);
        image.unwrap_or(&self.images[0])
    }

    fn image_mut(&mut self, time: u64) -> &mut Image {
        let index = self.images.iter().rposition(|image| image.from_ns <= time);
        &mut self.images[index.unwrap_or(0)]
    }

    /// What lay at an address at a time: of what was mapped there until then, the last.
    fn place(&self, pc: u64, time: u64) -> Option<&Span> {
        let spans = self.image(time).spans.iter();
        spans
            .filter(|span| span.from_ns <= time && span.holds(pc))
            .max_by_key(|span| span.from_ns)
    }
}

/// Drops what lies wholly under something later: a program that generates code for hours maps the
/// same addresses again and again. Ticks there were long given away. Where that is not half of all,
/// what has been known for longest goes, too.
fn thin(spans: &mut Vec<Span>) {
    let mut later = BTreeMap::new();
    let mut index = spans.len();
    spans.reverse();
    spans.retain(|span| {
        index -= 1;
        let Mapping { start, end, .. } = *span.mapping;
        // None of those is in another: the last that begins no later ends last.
        let covering = later.range(..=start).next_back();
        // The executable stays the first.
        if index > 0 && covering.is_some_and(|(_, &until)| end <= until) {
            return false;
        }
        while let Some((&under, _)) = later
            .range(start..)
            .next()
            .filter(|(_, until)| **until <= end)
        {
            later.remove(&under);
        }
        later.insert(start, end);
        true
    });
    spans.reverse();
    let excess = spans.len().saturating_sub(MOST_SPANS / 2);
    spans.drain(1..=excess);
}

/// Drops all but the `kept` last of those that are no later than `time`, from a sorted list.
fn drop_before<T>(list: &mut Vec<T>, time: u64, kept: usize, number: impl Fn(&T) -> u64) {
    let until = list.partition_point(|item| number(item) <= time);
    list.drain(..until.saturating_sub(kept));
}

/// Inserts into a list that is sorted by a number, after those with the same one.
fn insert_by<T>(list: &mut Vec<T>, item: T, number: impl Fn(&T) -> u64) {
    let index = list.partition_point(|other| number(other) <= number(&item));
    list.insert(index, item);
}

#[cfg(test)]
mod tests;
