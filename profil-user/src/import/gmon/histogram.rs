//! Histograms, and how records become histograms.

use std::collections::BTreeMap;

/// Counters of one range of text, all of one width.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Histogram {
    /// Link-time address of the first byte.
    pub low: u64,
    /// Bytes of text. No multiple of the number of bins, as a rule, in what glibc writes.
    pub bytes: u64,
    /// The counters; never more than bytes.
    pub bins: Vec<u64>,
}

impl Histogram {
    /// Bytes of text per bin.
    pub fn width(&self) -> f64 {
        self.bytes as f64 / self.bins.len() as f64
    }

    /// The last address that it counts.
    const fn last(&self) -> u64 {
        // Histograms have at least one bin, and so at least one byte.
        self.low.saturating_add(self.bytes - 1)
    }
}

/// Histograms that are being collected: ranges that are the same are added up.
#[derive(Debug, Default)]
pub(super) struct Histograms {
    by_shape: BTreeMap<Shape, (Vec<u64>, usize)>,
}

/// First address, bytes, bins.
type Shape = (u64, u64, usize);

impl Histograms {
    /// Adds a record that begins at `offset` of the file. One without bins says nothing.
    pub(super) fn add(&mut self, record: Histogram, offset: usize) {
        let Histogram { low, bytes, bins } = record;
        if bins.is_empty() {
            return;
        }
        match self.by_shape.get_mut(&(low, bytes, bins.len())) {
            None => {
                self.by_shape
                    .insert((low, bytes, bins.len()), (bins, offset));
            }
            Some((sum, _)) => {
                for (sum, ticks) in sum.iter_mut().zip(bins) {
                    *sum = sum.saturating_add(ticks);
                }
            }
        }
    }

    /// The histograms by address; or, if two overlap, the first address that is in both and the
    /// later of the offsets at which they begin.
    pub(super) fn finish(self) -> Result<Vec<Histogram>, (u64, usize)> {
        let mut histograms: Vec<Histogram> = Vec::with_capacity(self.by_shape.len());
        let mut before = 0;
        for ((low, bytes, _), (bins, offset)) in self.by_shape {
            if histograms.last().is_some_and(|last| last.last() >= low) {
                return Err((low, offset.max(before)));
            }
            before = offset;
            histograms.push(Histogram { low, bytes, bins });
        }
        Ok(histograms)
    }
}
