//! The drain: the only reader of the maps.

use profil_common::Tally;

use crate::kernel::{Counters, CountersError, Strays};

/// Everything that was counted up to a moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Every bin that is not zero: its number among those of both planes, and its count.
    pub(crate) bins: Vec<(u32, u64)>,
    /// What became of the runs.
    pub(crate) tally: Tally,
}

/// Reads the counters. Bins are never reset: a batch holds all ticks since the start. Strays are
/// taken out, half a table at a time: their table never fills because of what was read.
pub(crate) struct Drain {
    counters: Counters,
    batch: Batch,
}

impl Drain {
    pub(crate) fn new(counters: Counters) -> Self {
        Self {
            counters,
            batch: Batch::default(),
        }
    }

    /// Begins to read, if anything has ticked since the last time: strays go to the other half of
    /// their table, and once no tick is under way any more, [`Drain::read`] may follow.
    pub(crate) fn turn(&mut self) -> Result<bool, CountersError> {
        let new = self.counters.tally()? != self.batch.tally;
        if new {
            self.counters.turn_strays()?;
        }
        Ok(new)
    }

    /// Reads everything, and returns the strays that were counted before [`Drain::turn`].
    pub(crate) fn read(&mut self) -> Result<Strays, CountersError> {
        self.read_bins()?;
        self.counters.take_strays()
    }

    /// Reads everything for the last time, when the clock is off.
    pub(crate) fn read_all(&mut self) -> Result<Strays, CountersError> {
        self.read_bins()?;
        self.counters.take_all_strays()
    }

    fn read_bins(&mut self) -> Result<(), CountersError> {
        // The account first: what is counted after it is read is seen by the next call.
        self.batch.tally = self.counters.tally()?;
        let bins = &mut self.batch.bins;
        bins.clear();
        self.counters
            .for_each_bin(|index, count| bins.push((index, count)));
        Ok(())
    }

    /// What was read last.
    pub(crate) const fn last(&self) -> &Batch {
        &self.batch
    }

    /// Most entries that the table of strays was found to have, and how many it can hold.
    pub(crate) const fn stray_fill(&self) -> (u32, u32) {
        self.counters.stray_fill()
    }

    /// Entries that it was found to have last, and how many it can hold.
    pub(crate) const fn last_fill(&self) -> (u32, u32) {
        self.counters.last_stray_fill()
    }
}
