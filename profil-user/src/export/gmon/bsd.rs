//! The 4.4BSD format (`sys/sys/gmon.h` there): one header, one histogram, calls (of which we have
//! none). gprof reads it by the version inside the header.

use std::io::{self, Write};

use super::{BIN_MAX, Image};
use crate::profile::ElfClass;

/// The version, by which the format is known.
const VERSION: u32 = 0x0005_1879;

/// The one histogram covers everything between the first and the last hit. Beyond this many bins
/// (32 MiB), they get wider.
const MAX_BINS: u64 = 1 << 24;

/// What the format cannot say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shortfall {
    /// Ticks beyond what 16-bit counters hold.
    pub ticks: u64,
    /// Bytes of text per bin, where they are more than in the profile.
    pub widened: Option<u64>,
}

pub(super) fn write(image: &Image<'_>, out: &mut impl Write) -> io::Result<()> {
    let grid = Grid::of(image);
    let (words, unused) = match image.class {
        ElfClass::Elf32 => (8, 12),
        ElfClass::Elf64 => (16, 12),
    };
    let header = words + 4 + 4 + 4 + unused;
    image.word(grid.low, out)?;
    image.word(grid.low.wrapping_add(grid.bins * grid.width), out)?;
    // The length counts the header too.
    out.write_all(&(header + 2 * grid.bins as u32).to_le_bytes())?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&image.rate.to_le_bytes())?;
    out.write_all(&[0; 12])?;
    for ticks in grid.ticks(image) {
        out.write_all(&(ticks.min(BIN_MAX) as u16).to_le_bytes())?;
    }
    Ok(())
}

pub(super) fn shortfall(image: &Image<'_>) -> Shortfall {
    let grid = Grid::of(image);
    let ticks = grid.ticks(image);
    Shortfall {
        ticks: ticks.map(|ticks| ticks.saturating_sub(BIN_MAX)).sum(),
        widened: (grid.width > image.width).then_some(grid.width),
    }
}

/// The bins of the one histogram.
struct Grid {
    low: u64,
    width: u64,
    bins: u64,
}

impl Grid {
    fn of(image: &Image<'_>) -> Self {
        let first = image.counts.first().map_or(image.text, |one| one.address);
        let last = image.counts.last().map_or(first, |one| one.address);
        let mut width = image.width;
        // Aligned, so that they stay what they were, only fewer.
        while last / width - first / width >= MAX_BINS {
            width *= 2;
        }
        Self {
            low: first - first % width,
            width,
            bins: last / width - first / width + 1,
        }
    }

    /// The ticks of every bin, in order.
    fn ticks(&self, image: &Image<'_>) -> impl Iterator<Item = u64> {
        let mut counts = image.counts.iter().peekable();
        let bin_of = |address: u64| (address - self.low) / self.width;
        (0..self.bins).map(move |bin| {
            let mut ticks = 0;
            while let Some(count) = counts.next_if(|count| bin_of(count.address) == bin) {
                ticks += count.ticks();
            }
            ticks
        })
    }
}
