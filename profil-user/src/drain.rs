//! The drain: the only reader of the maps.

use profil_common::{Outcome, StrayKey, Tally};

use crate::kernel::{Counters, CountersError};

/// Everything that was counted up to a moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Every bin that is not zero: its number among those of both planes, and its count.
    pub(crate) bins: Vec<(u32, u64)>,
    /// Every stray and its count.
    pub(crate) strays: Vec<(StrayKey, u64)>,
    /// What became of the runs.
    pub(crate) tally: Tally,
}

/// Reads the counters. They are never reset: a batch holds all ticks since the start.
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

    /// Reads everything and returns it. What the account says has not changed is not read again.
    pub(crate) fn read(&mut self) -> Result<&Batch, CountersError> {
        // The account first: what is counted after it is read is seen by the next call.
        let tally = self.counters.tally()?;
        if tally != self.batch.tally {
            let strays = |tally: &Tally| tally.outcomes[Outcome::Stray as usize];
            let new_strays = strays(&tally) != strays(&self.batch.tally);
            self.read_buffers(new_strays)?;
            self.batch.tally = tally;
        }
        Ok(&self.batch)
    }

    /// Reads everything, whatever the account says: for the last time, when the clock is off.
    pub(crate) fn read_all(&mut self) -> Result<&Batch, CountersError> {
        self.batch.tally = self.counters.tally()?;
        self.read_buffers(true)?;
        Ok(&self.batch)
    }

    fn read_buffers(&mut self, strays: bool) -> Result<(), CountersError> {
        let bins = &mut self.batch.bins;
        bins.clear();
        self.counters
            .for_each_bin(|index, count| bins.push((index, count)));
        if strays {
            self.batch.strays = self.counters.strays()?;
        }
        Ok(())
    }

    /// What was read last.
    pub(crate) const fn last(&self) -> &Batch {
        &self.batch
    }
}
