//! What a profile has and `profile.proto` has no field for, as comments.
//!
//! A comment of ours begins with `#`, so that `go tool pprof` does not print it, then has a word that
//! says what it is, and then what that needs: numbers and words between blanks, and at most one text,
//! which is the rest. They come in this order:
//!
//! | comment | what it tells |
//! | --- | --- |
//! | `#process`, `#thread`, `#command`, `#cgroup`, `#matching-comm`, `#matching-exe`, `#everything` | whom the profile is of |
//! | `#rate HZ NANOSECONDS` | what was asked for, and the period |
//! | `#elapsed NANOSECONDS` | how long the clock was on |
//! | `#balance KEY=NUMBER…` | the account, but for the outcomes |
//! | `#outcome TICKS NAME` | one outcome of it |
//! | `#object SLIDE main\|- BUILD-ID\|- KIND …` | an object, and how far its addresses were moved |
//! | `#text OBJECT START END WIDTH` | a profiled range of it |
//! | `#mappings OBJECT…` | whose the mappings are, in their order |
//! | `#starts ADDRESS…` | where the functions start, in their order; `-` for what was inlined |
//! | `#odd LOCATION…` | locations that look like the second address of a bin, and are exact |
//! | `#task TGID TID\|- INNER\|- NAME` | a process or thread whose ticks are kept apart |
//! | `#buffer DIALECT OFFSET BYTES SCALE ADDED BINS BIN:TICKS…` | the buffer of a region |
//! | `#note KIND …` | a note |
//!
//! Addresses, and what they are moved by, are hexadecimal. What is not known is refused: the version
//! in the seal changes when something is added.

mod account;
mod notes;
mod objects;
mod subject;
mod words;

use std::time::Duration;

use crate::{
    options::Rate,
    profile::{Balance, Buffer, Note, Object, Subject, Task},
};
pub(super) use words::Damaged;
use words::Words;

/// All that is in the comments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Extension {
    pub(super) subject: Subject,
    pub(super) rate: Rate,
    pub(super) elapsed: Duration,
    pub(super) balance: Balance,
    pub(super) objects: Vec<Object>,
    /// How far the addresses of each object were moved.
    pub(super) slides: Vec<u64>,
    /// The objects of the mappings.
    pub(super) mappings: Vec<usize>,
    /// Where the functions start, unless they were inlined.
    pub(super) starts: Vec<Option<u64>>,
    /// Locations that are where a bin would have its second address, and mean that address alone.
    pub(super) odd: Vec<u64>,
    pub(super) tasks: Vec<Task>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) notes: Vec<Note>,
}

impl Extension {
    /// The comments.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = subject::lines(&self.subject);
        lines.push(format!(
            "#rate {} {}",
            self.rate.asked(),
            self.rate.period_ns()
        ));
        lines.push(format!("#elapsed {}", self.elapsed.as_nanos()));
        lines.extend(account::lines(&self.balance));
        for (number, (object, slide)) in self.objects.iter().zip(&self.slides).enumerate() {
            lines.extend(objects::lines(number, object, *slide));
        }
        let list = |word: &str, items: &mut dyn Iterator<Item = String>| {
            items.fold(word.to_owned(), |line, item| line + " " + &item)
        };
        let mut mappings = self.mappings.iter().map(ToString::to_string);
        lines.push(list("#mappings", &mut mappings));
        let mut starts = self
            .starts
            .iter()
            .map(|start| words::or_dash(start.as_ref(), |start| format!("{start:x}")));
        lines.push(list("#starts", &mut starts));
        if !self.odd.is_empty() {
            lines.push(list("#odd", &mut self.odd.iter().map(ToString::to_string)));
        }
        lines.extend(self.tasks.iter().map(objects::task_line));
        lines.extend(self.buffers.iter().map(account::buffer_line));
        lines.extend(self.notes.iter().map(notes::line));
        lines
    }

    /// Reads the comments.
    ///
    /// # Errors
    ///
    /// If one is not understood, or one is missing.
    pub(super) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, Damaged> {
        let mut subject = subject::Reader::default();
        let mut balance = account::Reader::default();
        let (mut rate, mut elapsed) = (None, None);
        let mut all = Self {
            subject: Subject::Everything,
            rate: Rate::DEFAULT,
            elapsed: Duration::ZERO,
            balance: Balance::default(),
            objects: Vec::new(),
            slides: Vec::new(),
            mappings: Vec::new(),
            starts: Vec::new(),
            odd: Vec::new(),
            tasks: Vec::new(),
            buffers: Vec::new(),
            notes: Vec::new(),
        };
        for line in lines {
            let mut words = Words::of(line);
            match words.word()? {
                "#rate" => rate = Some(notes::rate(&mut words)?),
                "#elapsed" => elapsed = Some(words.nanoseconds()?),
                "#balance" => balance.numbers(&mut words)?,
                "#outcome" => balance.outcome(&mut words)?,
                "#object" => {
                    let (object, slide) = objects::object(&mut words)?;
                    all.objects.push(object);
                    all.slides.push(slide);
                }
                "#text" => objects::text(&mut words, &mut all.objects)?,
                "#mappings" => {
                    while !words.is_empty() {
                        all.mappings.push(words.index(all.objects.len())?);
                    }
                }
                "#starts" => {
                    while !words.is_empty() {
                        all.starts.push(words.optional(Words::address)?);
                    }
                }
                "#odd" => {
                    while !words.is_empty() {
                        all.odd.push(words.number()?);
                    }
                }
                "#task" => all.tasks.push(objects::task(&mut words)?),
                "#buffer" => all.buffers.push(account::buffer(&mut words)?),
                "#note" => all.notes.push(notes::note(&mut words, all.objects.len())?),
                word => subject.line(word, &mut words)?,
            }
            words.end()?;
        }
        all.subject = subject.subject()?;
        all.balance = balance.balance()?;
        all.rate = rate.ok_or(Damaged::Missing("#rate"))?;
        all.elapsed = elapsed.ok_or(Damaged::Missing("#elapsed"))?;
        Ok(all)
    }
}
