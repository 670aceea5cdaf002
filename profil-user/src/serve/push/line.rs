//! The parcels that wait, the oldest first: in the spool, or in memory where there is none or it is full.

use std::{collections::VecDeque, io, time::SystemTime};

use super::{
    Figures,
    parcel::{Content, FRAME, Parcel},
    spool::{Spool, Stored},
};

/// Bytes that wait in memory at most.
pub(super) const MOST_IN_MEMORY: u64 = 8 << 20;

/// Parcels in the order in which they came.
#[derive(Debug)]
pub(super) struct Line {
    spool: Option<Spool>,
    most_bytes: u64,
    waiting: VecDeque<Waiting>,
    in_spool: u64,
    in_memory: u64,
    next_number: u64,
    dropped: u64,
    skipped: u64,
}

#[derive(Debug)]
enum Waiting {
    File(Stored),
    Memory {
        number: u64,
        parcel: Parcel,
        since: SystemTime,
    },
}

impl Waiting {
    const fn number(&self) -> u64 {
        match self {
            Self::File(stored) => stored.number,
            Self::Memory { number, .. } => *number,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::File(stored) => stored.bytes,
            Self::Memory { parcel, .. } => (FRAME + parcel.body.len()) as u64,
        }
    }
}

impl Line {
    /// Nothing, without a spool.
    pub(super) const fn in_memory() -> Self {
        Self {
            spool: None,
            most_bytes: 0,
            waiting: VecDeque::new(),
            in_spool: 0,
            in_memory: 0,
            next_number: 0,
            dropped: 0,
            skipped: 0,
        }
    }

    /// What waits in a spool that has been opened, and as much of it as may be kept.
    pub(super) fn in_spool(
        spool: Spool,
        stored: Vec<Stored>,
        foreign: u64,
        most_bytes: u64,
    ) -> Self {
        let mut line = Self {
            next_number: stored.last().map_or(0, |last| last.number + 1),
            in_spool: stored.iter().map(|stored| stored.bytes).sum(),
            waiting: stored.into_iter().map(Waiting::File).collect(),
            skipped: foreign,
            spool: Some(spool),
            most_bytes,
            ..Self::in_memory()
        };
        line.make_room();
        line
    }

    /// Adds a parcel as the last one, and drops the first ones if it is too much.
    ///
    /// # Errors
    ///
    /// What the system said where it could not be written: it waits in memory then.
    pub(super) fn add(&mut self, parcel: Parcel) -> io::Result<()> {
        let bytes = (FRAME + parcel.body.len()) as u64;
        let number = self.next_number;
        let written = match &self.spool {
            Some(_) if bytes > self.most_bytes => {
                self.dropped += 1;
                return Ok(());
            }
            Some(spool) => spool.write(number, &parcel.pack()).map(Some),
            None => Ok(None),
        };
        self.next_number += 1;
        let (waiting, said) = match written {
            Ok(Some(stored)) => {
                self.in_spool += bytes;
                (Waiting::File(stored), Ok(()))
            }
            unwritten => {
                self.in_memory += bytes;
                let since = SystemTime::now();
                let waiting = Waiting::Memory {
                    number,
                    parcel,
                    since,
                };
                (waiting, unwritten.map(drop))
            }
        };
        self.waiting.push_back(waiting);
        self.make_room();
        said
    }

    /// Drops the oldest until what is left may be kept.
    fn make_room(&mut self) {
        while self.in_memory > MOST_IN_MEMORY {
            let is_in_memory = |waiting: &Waiting| matches!(waiting, Waiting::Memory { .. });
            let Some(place) = self.waiting.iter().position(is_in_memory) else {
                break;
            };
            self.dropped += 1;
            self.take_out(place);
        }
        while self.in_spool > self.most_bytes {
            let is_file = |waiting: &Waiting| matches!(waiting, Waiting::File(_));
            let Some(place) = self.waiting.iter().position(is_file) else {
                break;
            };
            self.dropped += 1;
            // What cannot be removed now is found again by the next daemon.
            let _ = self.remove_at(place);
        }
    }

    /// The first parcel of a content, and its number. What cannot be read, or is of another content, is
    /// passed over and left where it is.
    pub(super) fn first(&mut self, content: Content) -> Option<(u64, Parcel)> {
        loop {
            let first = self.waiting.front()?;
            let number = first.number();
            let parcel = match first {
                Waiting::Memory { parcel, .. } => Some(parcel.clone()),
                Waiting::File(stored) => {
                    let bytes = self.spool.as_ref().map(|spool| spool.read(stored));
                    let bytes = bytes.and_then(Result::ok).unwrap_or_default();
                    Parcel::unpack(&bytes).ok()
                }
            };
            match parcel.filter(|parcel| parcel.content == content) {
                Some(parcel) => return Some((number, parcel)),
                None => {
                    self.skipped += 1;
                    self.take_out(0);
                }
            }
        }
    }

    /// Takes out one of a number, for good, if it waits still.
    ///
    /// # Errors
    ///
    /// What the system said where its file could not be removed: the next daemon will send it again.
    pub(super) fn remove(&mut self, number: u64) -> io::Result<()> {
        let has_it = |waiting: &Waiting| waiting.number() == number;
        match self.waiting.iter().position(has_it) {
            Some(place) => self.remove_at(place),
            None => Ok(()),
        }
    }

    /// Counts a profile that is gone before it could wait.
    pub(super) const fn drop_one(&mut self) {
        self.dropped += 1;
    }

    fn remove_at(&mut self, place: usize) -> io::Result<()> {
        match (self.take_out(place), &self.spool) {
            (Some(Waiting::File(stored)), Some(spool)) => spool.remove(&stored),
            _ => Ok(()),
        }
    }

    fn take_out(&mut self, place: usize) -> Option<Waiting> {
        let waiting = self.waiting.remove(place)?;
        let bytes = waiting.bytes();
        match waiting {
            Waiting::File(_) => self.in_spool -= bytes,
            Waiting::Memory { .. } => self.in_memory -= bytes,
        }
        Some(waiting)
    }

    /// Tries once more to write what waits in memory, drops what cannot be written, and says how many
    /// those are.
    pub(super) fn settle(&mut self) -> u64 {
        for place in 0..self.waiting.len() {
            let (Some(spool), Waiting::Memory { parcel, .. }) = (&self.spool, &self.waiting[place])
            else {
                continue;
            };
            let bytes = self.waiting[place].bytes();
            // As the last one: what came after it and is written already keeps its number.
            let Ok(stored) = spool.write(self.next_number, &parcel.pack()) else {
                break;
            };
            self.next_number += 1;
            self.in_memory -= bytes;
            self.in_spool += bytes;
            self.waiting[place] = Waiting::File(stored);
        }
        let all = self.waiting.len();
        self.waiting
            .retain(|waiting| matches!(waiting, Waiting::File(_)));
        self.in_memory = 0;
        let lost = (all - self.waiting.len()) as u64;
        self.dropped += lost;
        lost
    }

    /// Where the spool is, if there is one.
    pub(super) fn place(&self) -> Option<String> {
        let spool = self.spool.as_ref()?;
        Some(crate::export::printable(&spool.path().display().to_string()).into_owned())
    }

    /// Enters what it knows.
    pub(super) fn enter(&self, figures: &mut Figures) {
        figures.dropped = self.dropped;
        figures.skipped = self.skipped;
        figures.waiting = self.waiting.len() as u64;
        figures.spooled_bytes = self.in_spool;
    }

    /// Since when the first has been waiting.
    pub(super) fn oldest(&self) -> Option<SystemTime> {
        match self.waiting.front()? {
            Waiting::File(stored) => Some(stored.since),
            Waiting::Memory { since, .. } => Some(*since),
        }
    }
}
