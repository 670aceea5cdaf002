//! gmon.out files: those of GNU (glibc's `-pg` start-up code, gprof's own sums, ours) and those
//! of 4.4BSD, of little-endian machines with 32 or 64 bits.
//!
//! A GNU file does not tell the width of its addresses: whoever reads it has to know the program.
//! The BSD format from before 4.4 has nothing to be known by, and is not read.

mod bsd;
mod cursor;
mod error;
mod gnu;
mod histogram;

use std::num::NonZeroU32;

pub use error::{GmonError, MergeError};
pub use histogram::Histogram;

use crate::profile::ElfClass;
use cursor::Cursor;
use histogram::Histograms;

/// What a gmon.out file holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Gmon {
    /// Whose format it is.
    pub variant: Variant,
    /// The width of its addresses.
    pub class: ElfClass,
    /// What a tick stands for; `None` without a histogram.
    pub clock: Option<Clock>,
    /// The histograms, by address, without overlap. Records of one range are added up.
    pub histograms: Vec<Histogram>,
    /// Calls, in the order of the file.
    pub arcs: Vec<CallArc>,
    /// Executions of basic blocks, in the order of the file.
    pub blocks: Vec<Block>,
}

/// Whose format a file has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Variant {
    /// Begins with `gmon`; records of several kinds.
    Gnu,
    /// 4.4BSD: a header, one histogram, and calls up to the end.
    Bsd44,
}

/// What a tick stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clock {
    /// Ticks in one unit.
    pub rate: NonZeroU32,
    /// The unit: zero-padded bytes of the file, `seconds` as a rule. Untrusted.
    unit: [u8; 15],
    /// Its one letter.
    abbreviation: u8,
}

impl Clock {
    const fn seconds(rate: NonZeroU32) -> Self {
        Self {
            rate,
            unit: *b"seconds\0\0\0\0\0\0\0\0",
            abbreviation: b's',
        }
    }

    /// The unit as text. Untrusted: escape it before display.
    pub fn unit(&self) -> String {
        let end = self.unit.iter().position(|&byte| byte == 0);
        String::from_utf8_lossy(&self.unit[..end.unwrap_or(self.unit.len())]).into_owned()
    }
}

/// How often one function called another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CallArc {
    /// An address in the caller.
    pub from: u64,
    /// An address in what was called.
    pub to: u64,
    /// How often.
    pub count: u64,
}

/// How often a basic block was executed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block {
    /// An address in the block.
    pub address: u64,
    /// How often.
    pub count: u64,
}

/// Reads a file whose addresses are as wide as `class` says.
///
/// # Errors
///
/// With the byte at which it is not, or no longer, a file that can be believed.
pub fn read(bytes: &[u8], class: ElfClass) -> Result<Gmon, GmonError> {
    let cursor = Cursor::new(bytes, class);
    if bytes.starts_with(gnu::COOKIE) {
        gnu::read(cursor, class)
    } else {
        bsd::read(cursor, class)
    }
}

impl Gmon {
    /// All ticks of all histograms.
    pub fn ticks(&self) -> u64 {
        let bins = self.histograms.iter().flat_map(|one| &one.bins);
        bins.fold(0, |sum, &ticks| sum.saturating_add(ticks))
    }

    /// Adds another file of the same program: histograms of one range bin by bin, everything
    /// else beside what is there.
    ///
    /// # Errors
    ///
    /// If ticks of the two do not stand for the same, or their ranges overlap without being the
    /// same. Nothing is added then.
    pub fn add(&mut self, other: Self) -> Result<(), MergeError> {
        let clock = match (self.clock, other.clock) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                return Err(MergeError::Clock {
                    ours: (ours.rate.get(), ours.unit()),
                    theirs: (theirs.rate.get(), theirs.unit()),
                });
            }
            (ours, theirs) => ours.or(theirs),
        };
        let mut all = Histograms::default();
        for histogram in self.histograms.iter().cloned().chain(other.histograms) {
            // Only messages about bytes need an offset.
            all.add(histogram, 0);
        }
        self.histograms = all
            .finish()
            .map_err(|(address, _)| MergeError::Overlap { address })?;
        self.clock = clock;
        self.arcs.extend(other.arcs);
        self.blocks.extend(other.blocks);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
