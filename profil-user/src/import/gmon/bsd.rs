//! The 4.4BSD format: a header, the bins of one histogram, then calls up to the end.

use std::num::NonZeroU32;

use super::{CallArc, Clock, Gmon, GmonError, Histogram, Variant};
use super::{cursor::Cursor, histogram::Histograms};
use crate::profile::ElfClass;

/// What the format can be known by, though it is not at the beginning.
const VERSION: u32 = 0x0005_1879;

/// Bits of a counter, by FreeBSD's number; 0 is from before there was a choice.
const COUNTERS_OF_16_BITS: [u32; 2] = [0, 16];

pub(super) fn read(mut from: Cursor<'_>, class: ElfClass) -> Result<Gmon, GmonError> {
    // A file that is too short for the version cannot be known at all.
    let what = "the header";
    let unknown = |_| GmonError::Unknown;
    let range = from.range(what).map_err(unknown)?;
    let length_at = from.offset();
    let length = from.u32(what).map_err(unknown)?;
    let version_at = from.offset();
    match from.u32(what).map_err(unknown)? {
        VERSION => {}
        other if other.swap_bytes() == VERSION => {
            return Err(GmonError::BigEndian { offset: version_at });
        }
        _ => return Err(GmonError::Unknown),
    }
    let rate_at = from.offset();
    let rate = from.u32(what)?;
    let kind_at = from.offset();
    let kind = from.u32(what)?;
    from.take(8, what)?;
    if !COUNTERS_OF_16_BITS.contains(&kind) {
        return Err(GmonError::Counters {
            offset: kind_at,
            kind,
        });
    }
    let rate = NonZeroU32::new(rate).ok_or(GmonError::NoRate { offset: rate_at })?;

    // The length counts the header too.
    let damaged = |offset, what| GmonError::Damaged { offset, what };
    let bins_bytes = length
        .checked_sub(from.offset() as u32)
        .filter(|bytes| bytes.is_multiple_of(2))
        .ok_or_else(|| damaged(length_at, "not a length that header and bins can have"))?;
    let bins = bins_bytes / 2;
    range.holds(bins, 0)?;
    let bins = from.bins(bins, "the bins of the histogram")?;
    let mut histograms = Histograms::default();
    let record = Histogram {
        low: range.low,
        bytes: range.bytes,
        bins,
    };
    histograms.add(record, 0);

    let mut arcs = Vec::new();
    while from.left() > 0 {
        let what = "a call";
        arcs.push(CallArc {
            from: from.word(what)?,
            to: from.word(what)?,
            count: from.word(what)?,
        });
    }
    Ok(Gmon {
        variant: Variant::Bsd44,
        class,
        clock: Some(Clock::seconds(rate)),
        histograms: histograms
            .finish()
            .map_err(|(address, offset)| GmonError::Overlap { offset, address })?,
        arcs,
        blocks: Vec::new(),
    })
}
