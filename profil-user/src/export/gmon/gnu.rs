//! The GNU format. gprof adds up records of the same range: so wide counts are written as several
//! records, and only the parts of the text that were hit are written at all.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{BIN_MAX, Image};

/// Bytes of text that one record covers, unless its bins are wider.
const RECORD_SPAN: u64 = 4096;

const TAG_HISTOGRAM: u8 = 0;
const TAG_ARC: u8 = 1;

pub(super) fn write(image: &Image<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"gmon")?;
    out.write_all(&1_u32.to_le_bytes())?;
    out.write_all(&[0; 12])?;
    for (start, bins) in records(image) {
        let highest = bins.iter().copied().max().unwrap_or(0);
        for repeat in 0..highest.div_ceil(BIN_MAX).max(1) {
            histogram(image, start, &bins, repeat, out)?;
        }
    }
    no_arc(image, out)
}

fn span(image: &Image<'_>) -> u64 {
    RECORD_SPAN.max(image.width)
}

/// The parts of the text that were hit, by their first address. If none was, one part of the
/// text without ticks: a file without a histogram is an error to gprof.
fn records(image: &Image<'_>) -> BTreeMap<u64, Vec<u64>> {
    let span = span(image);
    let empty = vec![0; (span / image.width) as usize];
    let mut records = BTreeMap::new();
    for count in image.counts {
        let start = count.address - count.address % span;
        let bins: &mut Vec<u64> = records.entry(start).or_insert_with(|| empty.clone());
        bins[((count.address - start) / image.width) as usize] += count.ticks();
    }
    if records.is_empty() {
        records.insert(image.text - image.text % span, empty);
    }
    records
}

/// Writes one record: of each bin, what earlier repeats have left, as far as it fits.
fn histogram(
    image: &Image<'_>,
    start: u64,
    bins: &[u64],
    repeat: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&[TAG_HISTOGRAM])?;
    image.word(start, out)?;
    // A hostile file can claim to be linked at the very end of the address space.
    image.word(start.wrapping_add(span(image)), out)?;
    out.write_all(&(bins.len() as u32).to_le_bytes())?;
    out.write_all(&image.rate.to_le_bytes())?;
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
fn no_arc(image: &Image<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[TAG_ARC])?;
    image.word(0, out)?;
    image.word(0, out)?;
    out.write_all(&0_u32.to_le_bytes())
}
