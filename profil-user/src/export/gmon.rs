//! gmon.out, version 1, as gprof(1) reads it (glibc `gmon/sys/gmon_out.h`, binutils `gprof/`).
//!
//! One file holds the histogram of one object. gprof knows only the range and the number of bins
//! of a record, takes their width from that, and adds up records of the same range: so wide
//! counts are written as several records, and only the parts of the text that were hit are
//! written at all.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use crate::profile::{ElfClass, ObjectId, Profile};

/// Bytes of text that one record covers, unless its bins are wider.
const RECORD_SPAN: u64 = 4096;

/// The most that one 16-bit bin holds.
const BIN_MAX: u64 = u16::MAX as u64;

const TAG_HISTOGRAM: u8 = 0;
const TAG_ARC: u8 = 1;

/// Writes the histogram of one object: user and system ticks together, as `profil` counts.
///
/// gprof takes seconds as ticks / rate, with the rate of the clock as a whole number.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(profile: &Profile, object: ObjectId, out: &mut impl Write) -> io::Result<()> {
    let writer = Writer {
        class: class_of(profile, object),
        rate: profile.rate.asked(),
        width: width_of(profile, object),
    };
    out.write_all(b"gmon")?;
    out.write_all(&1_u32.to_le_bytes())?;
    out.write_all(&[0; 12])?;
    for (start, bins) in writer.records(profile, object) {
        let highest = bins.iter().copied().max().unwrap_or(0);
        for repeat in 0..highest.div_ceil(BIN_MAX).max(1) {
            writer.histogram(start, &bins, repeat, out)?;
        }
    }
    writer.no_arc(out)
}

fn class_of(profile: &Profile, object: ObjectId) -> ElfClass {
    match profile.object(object).kind {
        crate::profile::ObjectKind::File {
            class: Some(class), ..
        } => class,
        _ => ElfClass::Elf64,
    }
}

/// gprof wants one width in all records: that of the object's coarsest region.
fn width_of(profile: &Profile, object: ObjectId) -> u64 {
    let text = &profile.object(object).text;
    text.iter()
        .map(|text| text.width)
        .max()
        .unwrap_or(profil_common::TEXT_BYTES_PER_BIN)
}

struct Writer {
    class: ElfClass,
    rate: u32,
    width: u64,
}

impl Writer {
    fn span(&self) -> u64 {
        RECORD_SPAN.max(self.width)
    }

    /// The parts of the text that were hit, by their first address. If none was, one part of the
    /// text without ticks: a file without a histogram is an error to gprof.
    fn records(&self, profile: &Profile, object: ObjectId) -> BTreeMap<u64, Vec<u64>> {
        let empty = vec![0; (self.span() / self.width) as usize];
        let mut records = BTreeMap::new();
        for count in profile.counts_in(object) {
            let start = count.address - count.address % self.span();
            let bins: &mut Vec<u64> = records.entry(start).or_insert_with(|| empty.clone());
            bins[((count.address - start) / self.width) as usize] += count.ticks();
        }
        if records.is_empty() {
            let text = profile.object(object).text.first();
            let start = text.map_or(0, |text| text.start - text.start % self.span());
            records.insert(start, empty);
        }
        records
    }

    /// Writes one record: of each bin, what earlier repeats have left, as far as it fits.
    fn histogram(
        &self,
        start: u64,
        bins: &[u64],
        repeat: u64,
        out: &mut impl Write,
    ) -> io::Result<()> {
        out.write_all(&[TAG_HISTOGRAM])?;
        self.address(start, out)?;
        // A hostile file can claim to be linked at the very end of the address space.
        self.address(start.wrapping_add(self.span()), out)?;
        out.write_all(&(bins.len() as u32).to_le_bytes())?;
        out.write_all(&self.rate.to_le_bytes())?;
        out.write_all(b"seconds\0\0\0\0\0\0\0\0")?;
        out.write_all(b"s")?;
        for &ticks in bins {
            let left = ticks.saturating_sub(repeat * BIN_MAX).min(BIN_MAX);
            out.write_all(&(left as u16).to_le_bytes())?;
        }
        Ok(())
    }

    /// An arc from nowhere to nowhere, never taken: older versions of gprof refuse a file without
    /// arcs, and none shows this one.
    fn no_arc(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&[TAG_ARC])?;
        self.address(0, out)?;
        self.address(0, out)?;
        out.write_all(&0_u32.to_le_bytes())
    }

    fn address(&self, address: u64, out: &mut impl Write) -> io::Result<()> {
        match self.class {
            ElfClass::Elf64 => out.write_all(&address.to_le_bytes()),
            // An address of a 32-bit file; the end of its highest page wraps to 0.
            ElfClass::Elf32 => out.write_all(&(address as u32).to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
