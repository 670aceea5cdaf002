//! The GNU format: a header, then records of three kinds in any order.

use std::num::NonZeroU32;

use super::{Block, CallArc, Clock, Gmon, GmonError, Histogram, Variant};
use super::{cursor::Cursor, histogram::Histograms};
use crate::profile::ElfClass;

/// What a file begins with.
pub(super) const COOKIE: &[u8] = b"gmon";

/// Bytes after the version that mean nothing; gprof leaves what happens to be there.
const SPARE: u64 = 12;

/// The version of the files that glibc's dynamic loader writes, which are something else.
const LOADER_VERSION: u32 = 0x0001_ffff;

const TAG_HISTOGRAM: u8 = 0;
const TAG_ARC: u8 = 1;
const TAG_BLOCKS: u8 = 2;

pub(super) fn read(mut from: Cursor<'_>, class: ElfClass) -> Result<Gmon, GmonError> {
    let what = "the header";
    from.take(COOKIE.len() as u64, what)?;
    let at = from.offset();
    let version = from.u32(what)?;
    match version {
        0 | 1 => {}
        LOADER_VERSION => return Err(GmonError::Loader),
        _ if version.swap_bytes() == 1 => return Err(GmonError::BigEndian { offset: at }),
        _ => return Err(GmonError::Version { version }),
    }
    from.take(SPARE, what)?;

    let mut gmon = Gmon {
        variant: Variant::Gnu,
        class,
        clock: None,
        histograms: Vec::new(),
        arcs: Vec::new(),
        blocks: Vec::new(),
    };
    let mut histograms = Histograms::default();
    while from.left() > 0 {
        let offset = from.offset();
        match from.byte("a record")? {
            TAG_HISTOGRAM => {
                let record = histogram(&mut from, offset, &mut gmon.clock)?;
                histograms.add(record, offset);
            }
            TAG_ARC => gmon.arcs.push(arc(&mut from)?),
            // Version 0 has another layout there, with names in it.
            TAG_BLOCKS if version == 1 => blocks(&mut from, &mut gmon.blocks)?,
            tag => return Err(GmonError::Tag { offset, tag }),
        }
    }
    gmon.histograms = histograms
        .finish()
        .map_err(|(address, offset)| GmonError::Overlap { offset, address })?;
    Ok(gmon)
}

fn histogram(
    from: &mut Cursor<'_>,
    offset: usize,
    clock: &mut Option<Clock>,
) -> Result<Histogram, GmonError> {
    let what = "a histogram";
    let range = from.range(what)?;
    let bins = from.u32(what)?;
    let at = from.offset();
    let rate = from.u32(what)?;
    let mut unit = [0; 15];
    unit.copy_from_slice(from.take(15, what)?);
    let abbreviation = from.byte(what)?;
    range.holds(bins, offset)?;
    let bins = from.bins(bins, "the bins of a histogram")?;
    let this = Clock {
        rate: NonZeroU32::new(rate).ok_or(GmonError::NoRate { offset: at })?,
        unit,
        abbreviation,
    };
    if *clock.get_or_insert(this) != this {
        return Err(GmonError::Clock { offset: at });
    }
    Ok(Histogram {
        low: range.low,
        bytes: range.bytes,
        bins,
    })
}

fn arc(from: &mut Cursor<'_>) -> Result<CallArc, GmonError> {
    let what = "a call";
    Ok(CallArc {
        from: from.word(what)?,
        to: from.word(what)?,
        count: from.u32(what)?.into(),
    })
}

/// The number of blocks has 32 bits, as gprof reads it, not the 64 that glibc would write.
fn blocks(from: &mut Cursor<'_>, blocks: &mut Vec<Block>) -> Result<(), GmonError> {
    let what = "counts of basic blocks";
    for _ in 0..from.u32(what)? {
        blocks.push(Block {
            address: from.word(what)?,
            count: from.word(what)?,
        });
    }
    Ok(())
}
