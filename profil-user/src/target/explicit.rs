//! Regions that somebody asked for: found in the process, checked by the rules of their dialect,
//! and laid out in the order in which it tries them.

#[cfg(test)]
mod tests;

use profil_common::{
    Classic, Dialect, Effect, Lists, Region,
    limits::{MAX_CLASSIC_REGIONS, MAX_REGIONS},
};

use super::{
    layout::{BYTES_PER_BIN, main_mapping},
    layout_error::LayoutError,
    mappings::Mapping,
    objects::Objects,
    places::Places,
};
use crate::{
    options::{RegionAsked, Start},
    profile::{Buffer, ObjectId, Text, Unresolved},
};

/// The regions of a session that was given some, and what lies behind them.
#[derive(Debug)]
pub(crate) struct Explicit {
    dialect: Dialect,
    regions: Vec<Region>,
    /// The calls that gave the regions, in the same order.
    calls: Vec<Classic>,
    bins: u32,
    /// What was mapped at the start.
    mappings: Vec<(Mapping, ObjectId)>,
    /// The object of addresses in no mapping.
    nowhere: ObjectId,
    retired: Vec<bool>,
}

impl Explicit {
    /// Finds and checks the regions `asked` for in process `tgid`, whose bins may use `budget`
    /// bytes.
    pub(crate) fn plan(
        tgid: u32,
        (mappings, executable): (&[Mapping], Option<u64>),
        (asked, dialect): (&[RegionAsked], Dialect),
        budget: u64,
        objects: &mut Objects,
    ) -> Result<Self, LayoutError> {
        let main = main_mapping(mappings.iter(), executable);
        let mappings: Vec<_> = mappings
            .iter()
            .map(|mapping| (mapping.clone(), objects.of_mapping(tgid, mapping)))
            .collect();
        if let Some(main) = main {
            objects.get_mut(mappings[main].1).is_main = true;
        }
        let mut explicit = Self {
            dialect,
            regions: Vec::new(),
            calls: Vec::new(),
            bins: 0,
            nowhere: objects.nowhere(Unresolved::Unmapped),
            retired: vec![false; asked.len()],
            mappings,
        };
        for asked in asked {
            let call = explicit.call(asked, objects)?;
            explicit.calls.push(call);
        }
        explicit.order()?;
        explicit.lay_out(tgid, budget)?;
        explicit.note_text(objects);
        Ok(explicit)
    }

    /// The call of `profil` that a region stands for.
    fn call(&self, asked: &RegionAsked, objects: &Objects) -> Result<Classic, LayoutError> {
        let places = Places {
            mappings: &self.mappings,
            objects,
        };
        let offset = places.address(&asked.start)?;
        let scale = asked.scale.0;
        let bytes = match asked.bytes {
            Some(bytes) => bytes,
            None => self.bytes_to_the_end(offset, scale, &asked.start)?,
        };
        let call = Classic {
            offset,
            bytes,
            scale,
            added: u32::from(!self.calls.is_empty()),
        };
        match self.dialect.call(&call) {
            Effect::On => Ok(call),
            effect => Err(LayoutError::CountsNothing {
                region: asked.start.to_string(),
                dialect: self.dialect.word(),
                why: why_nothing(effect, &call),
            }),
        }
    }

    /// As much buffer as it takes to count the mapping at `offset` to its end.
    fn bytes_to_the_end(&self, offset: u64, scale: u32, start: &Start) -> Result<u64, LayoutError> {
        let (mapping, _) = self
            .mapping_at(offset)
            .ok_or_else(|| LayoutError::NoText(start.to_string()))?;
        let text = u128::from(mapping.end - offset);
        let counter = self.dialect.rules().counter_bits / 8;
        // Two bytes of buffer for `0x20000 / scale` bytes of text, however wide counters are.
        let bytes = (text * u128::from(scale)).div_ceil(0x1_0000);
        let bytes = bytes.next_multiple_of(u128::from(counter.min(4)));
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Brings the calls into the order of the dialect, and refuses what its lists do not hold.
    fn order(&mut self) -> Result<(), LayoutError> {
        let lists = self.dialect.rules().lists;
        let most = match lists {
            Lists::One => 1,
            Lists::Disjoint => MAX_REGIONS,
            Lists::FirstThatCounts | Lists::HighestOffset => MAX_CLASSIC_REGIONS,
        };
        if self.calls.len() > most as usize {
            return Err(LayoutError::TooManyRegions {
                dialect: self.dialect.word(),
                most,
            });
        }
        match lists {
            Lists::Disjoint => {
                self.calls.sort_by_key(|call| call.offset);
                for pair in self.calls.windows(2) {
                    if pair[1].offset < self.end_of(&pair[0]) {
                        return Err(LayoutError::Overlap {
                            first: pair[0].offset,
                            second: pair[1].offset,
                        });
                    }
                }
            }
            _ => {
                let dialect = self.dialect;
                self.calls.sort_by(|one, other| dialect.order(one, other));
            }
        }
        Ok(())
    }

    /// The address after the last that a call counts, if there is one.
    fn end_of(&self, call: &Classic) -> u64 {
        call.address_of(self.dialect, call.bins(self.dialect))
            .unwrap_or(u64::MAX)
    }

    fn lay_out(&mut self, tgid: u32, budget: u64) -> Result<(), LayoutError> {
        let most = (budget / BYTES_PER_BIN).min(u64::from(u32::MAX) / 2);
        let wanted = self.calls.iter().fold(0, |sum: u64, call| {
            sum.saturating_add(call.bins(self.dialect))
        });
        if wanted > most {
            return Err(LayoutError::TooManyBins { wanted, budget });
        }
        for call in &self.calls {
            // Not more than all of them.
            let bins = call.bins(self.dialect) as u32;
            self.regions.push(Region {
                start: call.offset,
                tgid,
                scale: call.scale,
                bins,
                first: self.bins,
                bytes: call.bytes,
            });
            self.bins += bins;
        }
        Ok(())
    }

    /// Tells the objects which of their text is profiled.
    fn note_text(&self, objects: &mut Objects) {
        for call in &self.calls {
            let Some((mapping, object)) = self.mapping_at(call.offset) else {
                continue;
            };
            let end = self.end_of(call).min(mapping.end);
            if end <= call.offset {
                continue;
            }
            let start = objects.link_address(*object, mapping, call.offset);
            let range = Text {
                start,
                end: start.saturating_add(end - call.offset),
                width: self.width_of(call),
            };
            let text = &mut objects.get_mut(*object).text;
            let apart = |other: &Text| other.end <= range.start || range.end <= other.start;
            if text.iter().all(apart) {
                text.push(range);
                text.sort_unstable();
            }
        }
    }

    /// Bytes of text for a counter, rounded up to a power of two.
    fn width_of(&self, call: &Classic) -> u64 {
        let second = call.address_of(self.dialect, 2);
        let third = call.address_of(self.dialect, 3);
        match (second, third) {
            (Some(second), Some(third)) => (third - second).next_power_of_two().max(2),
            _ => 2,
        }
    }

    fn mapping_at(&self, address: u64) -> Option<&(Mapping, ObjectId)> {
        let place = self
            .mappings
            .partition_point(|(mapping, _)| mapping.start <= address);
        let found = &self.mappings[place.checked_sub(1)?];
        (address < found.0.end).then_some(found)
    }

    pub(crate) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }

    pub(crate) const fn bins(&self) -> u32 {
        self.bins
    }

    /// The regions by the numbers, for people.
    pub(crate) fn outlines(&self, objects: &Objects) -> Vec<Outline> {
        let outline = |(call, region): (&Classic, &Region)| Outline {
            call: *call,
            dialect: self.dialect,
            bins: region.bins,
            end: call.address_of(self.dialect, region.bins.into()),
            object: self.mapping_at(call.offset).map(|(mapping, object)| {
                let link = objects.link_address(*object, mapping, call.offset);
                (objects.list()[object.index()].name(), link)
            }),
        };
        self.calls.iter().zip(&self.regions).map(outline).collect()
    }

    /// Marks as retired, and returns, the regions whose text has gone. Only ours care: the
    /// dialects of old count whatever lies there.
    pub(crate) fn retire_missing(&mut self, today: &[Mapping]) -> Vec<(usize, ObjectId)> {
        let mut gone = Vec::new();
        if self.dialect != Dialect::Modern {
            return gone;
        }
        for (index, call) in self.calls.iter().enumerate() {
            let Some((mapping, object)) = self.mapping_at(call.offset) else {
                continue;
            };
            if !self.retired[index] && !today.iter().any(|there| there.shows(mapping)) {
                gone.push((index, *object));
            }
        }
        for &(index, _) in &gone {
            self.retired[index] = true;
        }
        gone
    }

    /// Where the bin numbered `bin` among those of all regions lies.
    pub(crate) fn address_of(&self, bin: u32, objects: &Objects) -> Option<(ObjectId, u64)> {
        let (index, region) = self.region_of(bin)?;
        let address = self.address_in_process(index, bin - region.first)?;
        Some(match self.mapping_at(address) {
            Some((mapping, object)) => (*object, objects.link_address(*object, mapping, address)),
            None => (self.nowhere, address),
        })
    }

    /// The address in the process of the lowest byte of the bin numbered `bin` in a region.
    pub(crate) fn address_in_process(&self, region: usize, bin: u32) -> Option<u64> {
        let call = self.calls.get(region)?;
        let in_word = call.address_of(self.dialect, u64::from(bin))?;
        // A word of fewer bits is the low part of the address; the rest is that of the offset.
        let bits = self.dialect.rules().word_bits;
        let low = u64::MAX >> (u64::BITS - bits);
        Some(call.offset & !low | in_word)
    }

    fn region_of(&self, bin: u32) -> Option<(usize, &Region)> {
        let place = self.regions.partition_point(|region| region.first <= bin);
        let index = place.checked_sub(1)?;
        Some((index, &self.regions[index]))
    }

    /// The buffers, from the ticks of all bins by number: user bins first, then as many for
    /// system time.
    pub(crate) fn buffers(&self, bins: &[(u32, u64)]) -> Vec<Buffer> {
        let mut buffers: Vec<_> = self
            .calls
            .iter()
            .zip(&self.regions)
            .map(|(call, region)| Buffer {
                region: *call,
                dialect: self.dialect,
                bins: region.bins,
                counts: Vec::new(),
            })
            .collect();
        for &(bin, ticks) in bins {
            let bin = bin.checked_sub(self.bins).unwrap_or(bin);
            if let Some((index, region)) = self.region_of(bin) {
                buffers[index].counts.push((bin - region.first, ticks));
            }
        }
        for buffer in &mut buffers {
            buffer.counts.sort_unstable();
            buffer.counts.dedup_by(|later, first| {
                let same = later.0 == first.0;
                if same {
                    first.1 += later.1;
                }
                same
            });
        }
        buffers
    }
}

/// What the numbers of a region mean.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The call, with the address in the process.
    pub call: Classic,
    /// By whose rules.
    pub dialect: Dialect,
    /// Number of counters.
    pub bins: u32,
    /// The address after the last that is counted, if there is one.
    pub end: Option<u64>,
    /// The object at the start and the link-time address there. Untrusted: escape it before
    /// display.
    pub object: Option<(String, u64)>,
}

fn why_nothing(effect: Effect, call: &Classic) -> &'static str {
    match effect {
        Effect::Refused(_) if call.scale == 0 => "a scale of 0 counts nothing",
        Effect::Refused(_) => "the scale is above 1.0 (65536)",
        Effect::Off => "that scale turns profiling off",
        Effect::Ineffective => "the buffer has no room for a counter",
        Effect::On => "it counts",
    }
}
