//! From mappings to regions: which bins count which text, within a memory budget.

use std::collections::BinaryHeap;

use profil_common::{Region, SCALE_ONE, TEXT_BYTES_PER_BIN, limits::MAX_REGIONS};

use super::{
    layout_error::LayoutError,
    mappings::{Backing, Mapping},
    objects::Objects,
};
use crate::profile::{Note, ObjectId, Text};

/// Bytes of kernel memory for one bin: a 64-bit counter for user and one for system time.
pub(crate) const BYTES_PER_BIN: u64 = 2 * 8;

/// The widest bins, at scale 1, the smallest that there is: 128 KiB of text.
const WIDEST: u64 = TEXT_BYTES_PER_BIN * SCALE_ONE as u64;

/// The widest bins for what is mapped while we run: in wider ones functions run together, and as
/// strays they do not.
const WIDEST_LATER: u64 = 16;

/// The regions of a session and what each of them shows.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// What lies behind every region that there ever was, in the order of their bins.
    homes: Vec<Home>,
    /// The regions in use, as the kernel half wants them: sorted by process and start.
    table: Vec<Region>,
    /// The number of each of these among the homes.
    order: Vec<usize>,
    /// Bins of all regions.
    used: u32,
    /// Bins for regions that are yet to come.
    spare: u32,
    notes: Vec<Note>,
}

#[derive(Debug)]
struct Home {
    region: Region,
    object: ObjectId,
    mapping: Mapping,
    /// Whether the mapping has gone, and the region holds nothing any more.
    retired: bool,
}

impl Layout {
    /// [`Layout::plan_all`] for one process.
    pub(crate) fn plan(
        tgid: u32,
        mappings: &[Mapping],
        executable: Option<u64>,
        budget: u64,
        objects: &mut Objects,
    ) -> Result<Self, LayoutError> {
        Self::plan_all(&[(tgid, mappings, executable)], budget, objects)
    }

    /// Gives every mapping that has a file or is the vDSO a region of its own, at one bin for two
    /// bytes of text. While they need more than `budget` bytes, the region with the most bins gets
    /// bins twice as wide.
    ///
    /// Each process comes with its mappings and the inode of the file that it was started from, if
    /// that is known.
    pub(crate) fn plan_all(
        processes: &[(u32, &[Mapping], Option<u64>)],
        budget: u64,
        objects: &mut Objects,
    ) -> Result<Self, LayoutError> {
        // What would not fit in the budget even in the widest bins is no ordinary text.
        let most = budget / BYTES_PER_BIN;
        let all_text = processes.iter().flat_map(|&(tgid, mappings, _)| {
            let text = mappings
                .iter()
                .filter(|mapping| mapping.backing != Backing::Anonymous);
            text.map(move |mapping| (tgid, mapping))
        });
        let with_text: Vec<_> = all_text
            .clone()
            .filter(|(_, mapping)| bins_of(mapping.end - mapping.start, WIDEST) <= most)
            .collect();
        let kept = with_text.len().min(MAX_REGIONS as usize);
        let mut layout = Self::default();
        let left_out = all_text.count() - kept;
        if left_out > 0 {
            layout.notes.push(Note::RegionsFull { left_out });
        }
        let mut with_text = with_text;
        with_text.truncate(kept);
        with_text.sort_by_key(|(tgid, mapping)| (*tgid, mapping.start));

        let spans: Vec<_> = with_text
            .iter()
            .map(|(_, mapping)| mapping.end - mapping.start)
            .collect();
        let widths = widths_within(&spans, budget).ok_or(LayoutError::BudgetTooSmall {
            budget,
            regions: kept,
        })?;
        for ((tgid, mapping), width) in with_text.iter().zip(widths) {
            let object = objects.of_mapping(*tgid, mapping);
            layout.add(*tgid, mapping, object, width, objects);
        }
        for &(tgid, _, executable) in processes {
            let of_one = with_text.iter().filter(|(other, _)| *other == tgid);
            let mappings = || of_one.clone().map(|&(_, mapping)| mapping);
            if let Some(main) = main_mapping(mappings(), executable)
                && let Some(mapping) = mappings().nth(main)
            {
                let object = objects.of_mapping(tgid, mapping);
                objects.get_mut(object).is_main = true;
            }
        }
        layout.draw();
        Ok(layout)
    }

    /// Keeps `bytes` of bins for regions that are yet to come.
    pub(crate) fn keep_spare(&mut self, bytes: u64) {
        let bins = (bytes / BYTES_PER_BIN).min(u64::from((u32::MAX / 2).saturating_sub(self.used)));
        self.spare = bins as u32;
    }

    /// Gives a mapping that is new a region, if there is room for one. Nothing may lie there any
    /// more: see [`Layout::retire_under`].
    pub(crate) fn grow(
        &mut self,
        tgid: u32,
        mapping: &Mapping,
        object: ObjectId,
        objects: &mut Objects,
    ) -> bool {
        if mapping.backing == Backing::Anonymous || self.table.len() >= MAX_REGIONS as usize {
            return false;
        }
        let span = mapping.end - mapping.start;
        let mut width = TEXT_BYTES_PER_BIN;
        while bins_of(span, width) > u64::from(self.spare) {
            width *= 2;
            if width > WIDEST_LATER {
                return false;
            }
        }
        self.spare -= bins_of(span, width) as u32;
        self.add(tgid, mapping, object, width, objects);
        self.draw();
        true
    }

    fn add(
        &mut self,
        tgid: u32,
        mapping: &Mapping,
        object: ObjectId,
        width: u64,
        objects: &mut Objects,
    ) {
        let span = mapping.end - mapping.start;
        // Below 2^32 because the budget was kept.
        let bins = bins_of(span, width) as u32;
        let region = Region {
            start: mapping.start,
            tgid,
            scale: scale_of(width),
            bins,
            first: self.used,
            bytes: 0,
        };
        self.used += bins;
        self.homes.push(Home {
            region,
            object,
            mapping: mapping.clone(),
            retired: false,
        });

        let start = objects.link_address(object, mapping, mapping.start);
        let text = &mut objects.get_mut(object).text;
        let range = Text {
            start,
            end: start.saturating_add(u64::from(bins) * width),
            width,
        };
        // The same file can be mapped twice; its text is still the same.
        if !text.contains(&range) {
            text.push(range);
            text.sort_unstable();
        }
        let note = Note::Coarsened { object, width };
        if width > TEXT_BYTES_PER_BIN && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Puts the regions that are not retired in the order of the table.
    fn draw(&mut self) {
        let homes = &self.homes;
        self.order = (0..homes.len())
            .filter(|&index| !homes[index].retired)
            .collect();
        self.order.sort_by_key(|&index| {
            let region = &homes[index].region;
            (region.tgid, region.start)
        });
        self.table = self
            .order
            .iter()
            .map(|&index| homes[index].region)
            .collect();
    }

    /// The regions in use, sorted by process and start; those that were retired since the table was
    /// drawn are still among them.
    pub(crate) fn regions(&self) -> &[Region] {
        &self.table
    }

    /// Bins of all regions together, with those for regions that are yet to come.
    pub(crate) const fn bins(&self) -> u32 {
        self.used + self.spare
    }

    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Marks as retired the regions of a process that are not among its mappings of today: whatever
    /// lies there now is something else. Returns their places in the table.
    pub(crate) fn retire_missing(
        &mut self,
        tgid: u32,
        today: &[Mapping],
    ) -> Vec<(usize, ObjectId)> {
        self.retire(tgid, |home| {
            // Those of today are in the order of addresses. A loader may map a whole file as text, and
            // then lay its data over a part of it, of which nobody is told.
            let first = today.partition_point(|mapping| mapping.end <= home.start);
            let mut there = today[first..]
                .iter()
                .take_while(|mapping| mapping.start < home.end)
                .peekable();
            there.peek().is_none() || !there.all(|mapping| mapping.agrees(home))
        })
    }

    /// Marks as retired the regions of a process that lie somewhere in `start..end`. Returns their
    /// places in the table.
    pub(crate) fn retire_under(
        &mut self,
        tgid: u32,
        start: u64,
        end: u64,
    ) -> Vec<(usize, ObjectId)> {
        self.retire(tgid, |home| home.start < end && start < home.end)
    }

    /// Whether a process has this mapping in a region.
    pub(crate) fn shows(&self, tgid: u32, mapping: &Mapping) -> bool {
        self.homes
            .iter()
            .any(|home| !home.retired && home.region.tgid == tgid && home.mapping.shows(mapping))
    }

    fn retire(&mut self, tgid: u32, is_gone: impl Fn(&Mapping) -> bool) -> Vec<(usize, ObjectId)> {
        let mut gone = Vec::new();
        for (place, &index) in self.order.iter().enumerate() {
            let home = &mut self.homes[index];
            if home.region.tgid == tgid && !home.retired && is_gone(&home.mapping) {
                home.retired = true;
                gone.push((place, home.object));
            }
        }
        gone
    }

    /// Where the bin numbered `bin` among those of all regions lies: its object and its lowest
    /// link-time address.
    pub(crate) fn address_of(&self, bin: u32, objects: &Objects) -> Option<(ObjectId, u64)> {
        let home = self.home_of(bin)?;
        let address = home.region.address_of(bin - home.region.first);
        let link = objects.link_address(home.object, &home.mapping, address);
        Some((home.object, link))
    }

    /// The process whose bin it is.
    pub(crate) fn tgid_of(&self, bin: u32) -> Option<u32> {
        self.home_of(bin).map(|home| home.region.tgid)
    }

    fn home_of(&self, bin: u32) -> Option<&Home> {
        let index = self
            .homes
            .partition_point(|home| home.region.first <= bin)
            .checked_sub(1)?;
        Some(&self.homes[index])
    }

    /// Whether a place lies in one of the regions.
    #[cfg(test)]
    fn holds(&self, place: profil_common::Place) -> bool {
        let count = self.table.len() as u32;
        profil_common::find_region(place, count, |index| self.table.get(index as usize)).is_some()
    }
}

/// Bins for `span` bytes at `width` bytes a bin.
const fn bins_of(span: u64, width: u64) -> u64 {
    span.div_ceil(width)
}

/// The scale that gives `width` bytes of text a bin, for a width that is a power of two.
const fn scale_of(width: u64) -> u32 {
    (SCALE_ONE as u64 * TEXT_BYTES_PER_BIN / width) as u32
}

/// Chooses a width for each span so that all bins fit in `budget` bytes, or `None` if they
/// cannot. Only the largest are widened: the bins of small objects stay exact.
fn widths_within(spans: &[u64], budget: u64) -> Option<Vec<u64>> {
    // Both planes are numbered by one u32.
    let most = (budget / BYTES_PER_BIN).min(u64::from(u32::MAX) / 2);
    let mut widths = vec![TEXT_BYTES_PER_BIN; spans.len()];
    let mut total: u64 = spans
        .iter()
        .map(|&span| bins_of(span, TEXT_BYTES_PER_BIN))
        .sum();
    let mut by_bins: BinaryHeap<_> = spans
        .iter()
        .enumerate()
        .map(|(index, &span)| (bins_of(span, TEXT_BYTES_PER_BIN), index))
        .collect();
    while total > most {
        let (bins, index) = by_bins.pop()?;
        if widths[index] == WIDEST || bins <= 1 {
            return None;
        }
        widths[index] *= 2;
        let fewer = bins_of(spans[index], widths[index]);
        total -= bins - fewer;
        by_bins.push((fewer, index));
    }
    Some(widths)
}

/// The mapping of the executable: the one with its inode or, when the kernel would not tell which
/// that is, the lowest one with a file, which it nearly always is.
pub(super) fn main_mapping<'a>(
    mut mappings: impl Iterator<Item = &'a Mapping>,
    executable: Option<u64>,
) -> Option<usize> {
    mappings.position(|mapping| match &mapping.backing {
        Backing::File(file) => executable.is_none_or(|inode| file.id.inode == inode),
        Backing::Vdso | Backing::Anonymous | Backing::Kernel => false,
    })
}

#[cfg(test)]
mod tests;
