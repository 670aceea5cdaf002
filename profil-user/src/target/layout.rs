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

/// The regions of a session and what each of them shows.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// Sorted as the kernel half wants them.
    regions: Vec<Region>,
    /// What lies behind each region.
    homes: Vec<Home>,
    /// Bins of all regions.
    bins: u32,
    notes: Vec<Note>,
}

#[derive(Debug)]
struct Home {
    object: ObjectId,
    mapping: Mapping,
    /// Whether the mapping has gone, and the region holds nothing any more.
    retired: bool,
}

impl Layout {
    /// Gives every mapping of process `tgid` that has a file or is the vDSO a region of its own,
    /// at one bin for two bytes of text. While they need more than `budget` bytes, the region
    /// with the most bins gets bins twice as wide.
    ///
    /// `executable` is the file that the process was started from, if it is known.
    pub(crate) fn plan(
        tgid: u32,
        mappings: &[Mapping],
        executable: Option<u64>,
        budget: u64,
        objects: &mut Objects,
    ) -> Result<Self, LayoutError> {
        // What would not fit in the budget even in the widest bins is no ordinary text.
        let most = budget / BYTES_PER_BIN;
        let all_text = mappings
            .iter()
            .filter(|mapping| mapping.backing != Backing::Anonymous);
        let with_text: Vec<_> = all_text
            .clone()
            .filter(|mapping| bins_of(mapping.end - mapping.start, WIDEST) <= most)
            .collect();
        let kept = with_text.len().min(MAX_REGIONS as usize);
        let mut layout = Self::default();
        let left_out = all_text.count() - kept;
        if left_out > 0 {
            layout.notes.push(Note::RegionsFull { left_out });
        }
        let with_text = &with_text[..kept];

        let spans: Vec<_> = with_text
            .iter()
            .map(|mapping| mapping.end - mapping.start)
            .collect();
        let widths = widths_within(&spans, budget).ok_or(LayoutError::BudgetTooSmall {
            budget,
            regions: kept,
        })?;
        let main = main_mapping(with_text.iter().copied(), executable);

        for (index, (&mapping, width)) in with_text.iter().zip(widths).enumerate() {
            let object = objects.of_mapping(tgid, mapping);
            layout.add(tgid, mapping, object, width, objects);
            if main == Some(index) {
                objects.get_mut(object).is_main = true;
            }
        }
        Ok(layout)
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
        self.regions.push(Region {
            start: mapping.start,
            tgid,
            scale: scale_of(width),
            bins,
            first: self.bins,
            bytes: 0,
        });
        self.bins += bins;
        self.homes.push(Home {
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

    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Bins of all regions together.
    pub(crate) const fn bins(&self) -> u32 {
        self.bins
    }

    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Marks as retired, and returns, the regions whose mappings are not among those of today:
    /// whatever lies there now is something else.
    pub(crate) fn retire_missing(&mut self, today: &[Mapping]) -> Vec<(usize, ObjectId)> {
        let mut gone = Vec::new();
        for (index, home) in self.homes.iter_mut().enumerate() {
            // Both are in the order of addresses: only the last that starts no higher can show it.
            let place = today.partition_point(|mapping| mapping.start <= home.mapping.start);
            let there = place.checked_sub(1).map(|place| &today[place]);
            if !home.retired && !there.is_some_and(|mapping| mapping.shows(&home.mapping)) {
                home.retired = true;
                gone.push((index, home.object));
            }
        }
        gone
    }

    /// Where the bin numbered `bin` among those of all regions lies: its object and its lowest
    /// link-time address.
    pub(crate) fn address_of(&self, bin: u32, objects: &Objects) -> Option<(ObjectId, u64)> {
        let index = self
            .regions
            .partition_point(|region| region.first <= bin)
            .checked_sub(1)?;
        let region = &self.regions[index];
        let Home {
            object, mapping, ..
        } = &self.homes[index];
        let address = region.address_of(bin - region.first);
        Some((*object, objects.link_address(*object, mapping, address)))
    }

    /// Whether a place lies in one of the regions.
    #[cfg(test)]
    fn holds(&self, place: profil_common::Place) -> bool {
        let count = self.regions.len() as u32;
        profil_common::find_region(place, count, |index| self.regions.get(index as usize)).is_some()
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
        Backing::Vdso | Backing::Anonymous => false,
    })
}

#[cfg(test)]
mod tests {
    use profil_common::Place;

    use super::{BYTES_PER_BIN, Layout, LayoutError, scale_of, widths_within};
    use crate::{
        profile::Note,
        target::{
            mappings::{Backing, Mapping},
            objects::Objects,
        },
    };

    const TGID: u32 = 42;

    fn vdso(start: u64, bytes: u64) -> Mapping {
        Mapping {
            start,
            end: start + bytes,
            backing: Backing::Vdso,
        }
    }

    #[test]
    fn a_budget_that_fits_changes_nothing() {
        assert_eq!(
            widths_within(&[0x1000, 0x2000], 0x1800 * BYTES_PER_BIN),
            Some(vec![2, 2])
        );
        assert_eq!(widths_within(&[], 0), Some(vec![]));
    }

    #[test]
    fn the_largest_is_widened_first_and_only_as_far_as_needed() {
        assert_eq!(
            widths_within(&[0x1000, 0x2000], 0x17ff * BYTES_PER_BIN),
            Some(vec![2, 4])
        );
        assert_eq!(
            widths_within(&[0x100, 0x10_0000], 0x1_0000 * BYTES_PER_BIN),
            Some(vec![2, 32])
        );
    }

    #[test]
    fn an_object_with_many_regions_is_noted_once() {
        let mappings: Vec<_> = (0..100).map(|index| vdso(index << 16, 0x1000)).collect();
        let mut objects = Objects::default();
        let budget = 100 * 0x200 * BYTES_PER_BIN;
        let layout = Layout::plan(TGID, &mappings, None, budget, &mut objects).unwrap();
        assert_eq!(layout.regions().len(), 100);
        assert!(matches!(layout.notes(), [Note::Coarsened { width: 8, .. }]));
    }

    #[test]
    fn a_mapping_beyond_all_measure_is_left_out() {
        let mappings = [vdso(0x1000, 0x1000), vdso(0x10_0000, 1 << 40)];
        let mut objects = Objects::default();
        let layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
        assert_eq!(layout.regions().len(), 1);
        assert_eq!(layout.notes(), [Note::RegionsFull { left_out: 1 }]);
    }

    #[test]
    fn a_mapping_that_has_gone_is_retired_once() {
        let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x3000)];
        let mut objects = Objects::default();
        let mut layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
        assert!(layout.retire_missing(&mappings).is_empty());
        let gone = layout.retire_missing(&mappings[..1]);
        assert_eq!(gone.iter().map(|gone| gone.0).collect::<Vec<_>>(), [1]);
        assert!(layout.retire_missing(&mappings[..1]).is_empty());
    }

    #[test]
    fn one_bin_a_region_is_the_least() {
        assert_eq!(widths_within(&[0x1000, 0x1000], BYTES_PER_BIN), None);
        assert_eq!(
            widths_within(&[0x1000, 0x1000], 2 * BYTES_PER_BIN),
            Some(vec![0x1000, 0x1000])
        );
        let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x1000)];
        let budget = BYTES_PER_BIN;
        let error = Layout::plan(TGID, &mappings, None, budget, &mut Objects::default());
        assert_eq!(
            error.unwrap_err(),
            LayoutError::BudgetTooSmall { budget, regions: 2 }
        );
    }

    #[test]
    fn a_width_is_a_scale() {
        for (width, scale) in [(2, 0x1_0000), (4, 0x8000), (8, 0x4000), (0x2_0000, 1)] {
            assert_eq!(scale_of(width), scale);
        }
    }

    #[test]
    fn every_byte_of_every_mapping_has_a_bin() {
        let mappings = [vdso(0x1000, 0x1000), vdso(0x5000, 0x3000)];
        let mut objects = Objects::default();
        let layout = Layout::plan(TGID, &mappings, None, 1 << 20, &mut objects).unwrap();
        assert_eq!(layout.bins(), 0x2000);
        for (pc, inside) in [
            (0x0fff, false),
            (0x1000, true),
            (0x1fff, true),
            (0x2000, false),
            (0x5000, true),
            (0x7fff, true),
            (0x8000, false),
        ] {
            assert_eq!(layout.holds(Place { tgid: TGID, pc }), inside, "pc {pc:#x}");
            assert!(!layout.holds(Place { tgid: TGID + 1, pc }));
        }
        // The vDSO is linked at 0: addresses are distances from its start.
        let address = |bin| layout.address_of(bin, &objects).map(|(_, address)| address);
        assert_eq!(address(0), Some(0));
        assert_eq!(address(0x7ff), Some(0xffe));
        assert_eq!(address(0x800), Some(0));
        assert_eq!(address(0x801), Some(2));
    }

    #[test]
    fn a_short_budget_is_noted() {
        let mut objects = Objects::default();
        let layout = Layout::plan(
            TGID,
            &[vdso(0x1000, 0x1000)],
            None,
            0x200 * BYTES_PER_BIN,
            &mut objects,
        )
        .unwrap();
        assert!(matches!(layout.notes(), [Note::Coarsened { width: 8, .. }]));
        assert_eq!(layout.bins(), 0x200);
        assert_eq!(objects.list()[0].text[0].width, 8);
    }
}
