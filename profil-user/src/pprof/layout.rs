//! Where objects are in a file: link-time addresses, moved only where two objects would be taken for one.
//!
//! Most shared objects are linked at 0, and `go tool pprof -disasm` takes every tick whose address
//! a function has for one of that function, whatever mapping it is in. So where functions that
//! ticked share a page, all objects but one are moved. No more of them, because older
//! versions of it (that of Go 1.19) take addresses for link-time addresses, and find no function in what is moved
//! (<https://github.com/golang/go/issues/46639>).

use std::collections::BTreeMap;

use super::schema::Mapping;
use crate::{
    profile::{Object, ObjectId, ObjectKind, Profile},
    symbolize::{Name, Names},
    target::ObjectFile,
};

/// The kernel maps whole pages of this size, or of a multiple.
const PAGE: u64 = 4096;

/// Objects that are moved go here: no process has addresses like this, nor has a kernel.
const FREE: u64 = 1 << 60;
const FREE_END: u64 = 1 << 62;

/// Objects that are moved are that far apart, at least.
const GAP: u64 = 1 << 20;

/// What is farther apart is not one part of a file: no text is that large.
const APART: u64 = 1 << 30;

/// A part of an object that is mapped as one, by link-time addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Where in the file the start is.
    pub(super) offset: u64,
}

impl Piece {
    /// The same parts, as few as they are where some overlap or follow one another.
    pub(crate) fn united(mut pieces: Vec<Self>) -> Vec<Self> {
        pieces.sort_unstable_by_key(|piece| (piece.start, piece.end));
        let mut all: Vec<Self> = Vec::new();
        for piece in pieces {
            let far = piece.offset.wrapping_sub(piece.start);
            match all.last_mut() {
                Some(last)
                    if last.offset.wrapping_sub(last.start) == far && piece.start <= last.end =>
                {
                    last.end = last.end.max(piece.end);
                }
                _ => all.push(piece),
            }
        }
        all
    }
}

/// The parts of an object that have ticks or are profiled.
pub(super) fn pieces(profile: &Profile, id: ObjectId, file: Option<&ObjectFile>) -> Vec<Piece> {
    let object = profile.object(id);
    let offset_of = |address: u64| match (&object.kind, file) {
        (ObjectKind::File { class: Some(_), .. } | ObjectKind::Vdso, Some(file)) => {
            file.offset_of(address)
        }
        _ => None,
    };
    let ticks = profile.counts_in(id).iter();
    let ticks = ticks.map(|count| (count.address, count.address.saturating_add(2)));
    let ranges = object.text.iter().map(|text| (text.start, text.end));
    let mut spans: Vec<_> = ranges.chain(ticks).collect();
    spans.sort_unstable();
    let mut pieces: Vec<Piece> = Vec::new();
    for (start, end) in spans {
        let (low, high) = (start - start % PAGE, end.checked_next_multiple_of(PAGE));
        // Where the file does not tell, the offset is the address: it is, in many files.
        let offset = offset_of(start).map_or(low, |offset| offset.saturating_sub(start - low));
        let (end, far) = (high.unwrap_or(u64::MAX), offset.wrapping_sub(low));
        match pieces.last_mut() {
            Some(last)
                if last.offset.wrapping_sub(last.start) == far
                    && low.saturating_sub(last.end) <= APART =>
            {
                last.end = last.end.max(end);
            }
            _ => pieces.push(Piece {
                start: low,
                end,
                offset,
            }),
        }
    }
    pieces
}

/// How far each object is moved.
pub(super) fn slides(profile: &Profile, names: &Names, pieces: &[Vec<Piece>]) -> Vec<u64> {
    let claims: Vec<_> = (0..profile.objects.len())
        .map(|index| claims(profile, names, ObjectId::new(index)))
        .collect();
    let mut taken = Taken::default();
    let (movable, fixed): (Vec<_>, Vec<_>) =
        (0..claims.len()).partition(|&index| is_movable(&profile.objects[index].kind));
    for index in fixed {
        taken.take(&claims[index]);
    }
    let (main, others): (Vec<_>, Vec<_>) = movable
        .into_iter()
        .partition(|&index| profile.objects[index].is_main);
    let mut slides = vec![0; claims.len()];
    let mut free = FREE;
    for index in main.into_iter().chain(others) {
        let pieces = pieces.get(index).map_or(&[][..], |pieces| pieces);
        // A function can begin before the first part that is mapped here.
        let functions = claims[index]
            .iter()
            .map(|claim| claim.0.saturating_mul(PAGE));
        let starts = pieces.iter().map(|piece| piece.start);
        let (Some(start), Some(end)) = (
            starts.chain(functions).min(),
            pieces.iter().map(|piece| piece.end).max(),
        ) else {
            continue;
        };
        let room = (end - start).saturating_add(GAP) / GAP * GAP;
        if taken.is_free(&claims[index]) {
            taken.take(&claims[index]);
        } else if room <= FREE_END - free {
            slides[index] = free.wrapping_sub(start);
            free += room;
        }
    }
    slides
}

/// Pages of functions that ticked, from the first byte of each to its last tick, and one more.
fn claims(profile: &Profile, names: &Names, id: ObjectId) -> Vec<(u64, u64)> {
    let mut claims: Vec<(u64, u64)> = Vec::new();
    for count in profile.counts_in(id) {
        let start = match names.name_of(id, count.address) {
            Name::Function { start, .. } => (*start).min(count.address),
            Name::Unnamed(_) => count.address,
        };
        let (low, high) = (start / PAGE, count.address / PAGE + 2);
        match claims.last_mut() {
            Some(last) if low <= last.1 => *last = (last.0.min(low), last.1.max(high)),
            _ => claims.push((low, high)),
        }
    }
    claims
}

/// Ranges of pages that are taken: where each begins and ends, without overlap.
#[derive(Debug, Default)]
struct Taken(BTreeMap<u64, u64>);

impl Taken {
    fn is_free(&self, claims: &[(u64, u64)]) -> bool {
        claims.iter().all(|&(low, high)| {
            let before = self.0.range(..high).next_back();
            before.is_none_or(|(_, &end)| end <= low)
        })
    }

    fn take(&mut self, claims: &[(u64, u64)]) {
        for &(mut low, mut high) in claims {
            while let Some((&start, &end)) = self.0.range(..=high).next_back()
                && end >= low
            {
                (low, high) = (low.min(start), high.max(end));
                self.0.remove(&start);
            }
            self.0.insert(low, high);
        }
    }
}

/// Whether the addresses are those of a file.
const fn is_movable(kind: &ObjectKind) -> bool {
    match kind {
        ObjectKind::File { .. } | ObjectKind::Vdso => true,
        ObjectKind::Kernel | ObjectKind::Anonymous { .. } | ObjectKind::Nowhere(_) => false,
    }
}

/// Where a count is in a file. A bin holds two addresses, and where an instruction begins at the second,
/// that is the one that ticked; else the second is in the middle of the one that begins at the
/// first. What is in no profiled range was not counted by a bin: its address is exact.
pub(super) fn written(object: &Object, address: u64) -> u64 {
    if in_bins(object, address) {
        address | 1
    } else {
        address
    }
}

/// The address that was written so, if it was even.
pub(super) fn even(object: &Object, written: u64) -> u64 {
    if in_bins(object, written & !1) {
        written & !1
    } else {
        written
    }
}

fn in_bins(object: &Object, address: u64) -> bool {
    let after = object.text.partition_point(|text| text.end <= address);
    object
        .text
        .get(after)
        .is_some_and(|text| text.start <= address)
}

/// Whether a mapping holds an address. One that reaches the end of the address space holds the last, too.
pub(super) fn holds(mapping: &Mapping, address: u64) -> bool {
    let limit = mapping.memory_limit;
    mapping.memory_start <= address && (address < limit || limit == u64::MAX)
}
