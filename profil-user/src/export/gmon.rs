//! gmon.out, as gprof(1) reads it: histograms of one object, by its link-time addresses.
//!
//! gprof knows only the range and the number of bins, and takes their width from that, in whole
//! units of two bytes: so bins are always a power of two wide, whatever the regions had.

mod bsd;
mod gnu;

use std::io::{self, Write};

use profil_common::TEXT_BYTES_PER_BIN;

use crate::profile::{Count, ElfClass, ObjectId, ObjectKind, Profile};

pub use bsd::Shortfall;

/// The most that one 16-bit bin holds.
const BIN_MAX: u64 = u16::MAX as u64;

/// Whose gmon.out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Variant {
    /// GNU's, version 1: as many records as it takes, so that no count is too large and only text
    /// that was hit takes room (glibc `gmon/sys/gmon_out.h`).
    #[default]
    Gnu,
    /// 4.4BSD's: one histogram, as wide as the text that was hit, with 16-bit counters.
    Bsd,
}

/// Writes the histogram of one object: user and system ticks together, as `profil` counts.
///
/// gprof takes seconds as ticks / rate, with the rate of the clock as a whole number.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profile: &Profile,
    object: ObjectId,
    variant: Variant,
    out: &mut impl Write,
) -> io::Result<()> {
    let image = Image::of(profile, object);
    match variant {
        Variant::Gnu => gnu::write(&image, out),
        Variant::Bsd => bsd::write(&image, out),
    }
}

/// What the 4.4BSD format cannot say of an object.
pub fn bsd_shortfall(profile: &Profile, object: ObjectId) -> Shortfall {
    bsd::shortfall(&Image::of(profile, object))
}

/// What both formats tell of an object.
struct Image<'a> {
    class: ElfClass,
    rate: u32,
    /// Bytes of text per bin, a power of two: that of the coarsest region. gprof wants one width
    /// for all.
    width: u64,
    /// Where its text begins, as far as is known.
    text: u64,
    counts: &'a [Count],
}

impl<'a> Image<'a> {
    fn of(profile: &'a Profile, object: ObjectId) -> Self {
        let text = &profile.object(object).text;
        let class = match profile.object(object).kind {
            ObjectKind::File {
                class: Some(class), ..
            } => class,
            _ => ElfClass::Elf64,
        };
        let widest = text.iter().map(|text| text.width).max().unwrap_or_default();
        Self {
            class,
            rate: profile.rate.asked(),
            width: widest.max(TEXT_BYTES_PER_BIN).next_power_of_two(),
            text: text.first().map_or(0, |text| text.start),
            counts: profile.counts_in(object),
        }
    }

    /// Writes a number as wide as an address.
    fn word(&self, number: u64, out: &mut impl Write) -> io::Result<()> {
        match self.class {
            ElfClass::Elf64 => out.write_all(&number.to_le_bytes()),
            // An address of a 32-bit file; the end of its highest page wraps to 0.
            ElfClass::Elf32 => out.write_all(&(number as u32).to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
