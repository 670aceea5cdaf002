//! The regions of a session: those of all mappings, or those that were asked for.

use profil_common::{Classic, Dialect, Region};

use super::{
    explicit::{Explicit, Outline},
    layout::Layout,
    mappings::Mapping,
    objects::Objects,
};
use crate::profile::{Buffer, Note, ObjectId};

/// Which bins count which text.
#[derive(Debug)]
pub(crate) enum Plan {
    /// A region for every mapping.
    Mappings(Layout),
    /// Regions that were asked for.
    Asked(Explicit),
}

impl Plan {
    pub(crate) fn regions(&self) -> &[Region] {
        match self {
            Self::Mappings(layout) => layout.regions(),
            Self::Asked(explicit) => explicit.regions(),
        }
    }

    /// Bins of all regions together.
    pub(crate) const fn bins(&self) -> u32 {
        match self {
            Self::Mappings(layout) => layout.bins(),
            Self::Asked(explicit) => explicit.bins(),
        }
    }

    pub(crate) const fn dialect(&self) -> Dialect {
        match self {
            Self::Mappings(_) => Dialect::Modern,
            Self::Asked(explicit) => explicit.dialect(),
        }
    }

    pub(crate) fn notes(&self) -> &[Note] {
        match self {
            Self::Mappings(layout) => layout.notes(),
            Self::Asked(_) => &[],
        }
    }

    /// Marks as retired, and returns, the regions of a process whose text is not among that of
    /// today.
    pub(crate) fn retire_missing(
        &mut self,
        tgid: u32,
        today: &[Mapping],
    ) -> Vec<(usize, ObjectId)> {
        match self {
            Self::Mappings(layout) => layout.retire_missing(tgid, today),
            Self::Asked(explicit) => explicit.retire_missing(today),
        }
    }

    /// The regions that follow the mappings, if they do.
    pub(crate) const fn layout_mut(&mut self) -> Option<&mut Layout> {
        match self {
            Self::Mappings(layout) => Some(layout),
            Self::Asked(_) => None,
        }
    }

    /// Whether these are regions that were asked for.
    pub(crate) const fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }

    /// The process whose bin it is, where there can be several.
    pub(crate) fn tgid_of(&self, bin: u32) -> Option<u32> {
        match self {
            Self::Mappings(layout) => layout.tgid_of(bin),
            Self::Asked(_) => None,
        }
    }

    /// Where the bin numbered `bin` among those of all regions lies: its object and its lowest
    /// link-time address.
    pub(crate) fn address_of(&self, bin: u32, objects: &Objects) -> Option<(ObjectId, u64)> {
        match self {
            Self::Mappings(layout) => layout.address_of(bin, objects),
            Self::Asked(explicit) => explicit.address_of(bin, objects),
        }
    }

    /// The address in the process of the lowest byte of the bin numbered `bin` in a region.
    pub(crate) fn address_in_process(&self, region: usize, bin: u32) -> Option<u64> {
        match self {
            Self::Mappings(layout) => {
                let region = layout.regions().get(region)?;
                (bin < region.bins).then(|| region.address_of(bin))
            }
            Self::Asked(explicit) => explicit.address_in_process(region, bin),
        }
    }

    /// The buffers of regions that were asked for.
    pub(crate) fn buffers(&self, bins: &[(u32, u64)]) -> Vec<Buffer> {
        match self {
            Self::Mappings(_) => Vec::new(),
            Self::Asked(explicit) => explicit.buffers(bins),
        }
    }

    /// What the numbers of all regions mean, whether they were asked for or not.
    pub(crate) fn all_outlines(&self, objects: &Objects) -> Vec<Outline> {
        let Self::Mappings(layout) = self else {
            return self.outlines(objects);
        };
        let outline = |region: &Region| Outline {
            call: Classic {
                offset: region.start,
                bytes: u64::from(region.bins) * 2,
                scale: region.scale,
                added: 0,
            },
            dialect: Dialect::Modern,
            bins: region.bins,
            end: Some(region.address_of(region.bins)),
            object: layout
                .address_of(region.first, objects)
                .map(|(object, link)| (objects.list()[object.index()].name(), link)),
        };
        layout.regions().iter().map(outline).collect()
    }

    /// What the numbers of regions that were asked for mean.
    pub(crate) fn outlines(&self, objects: &Objects) -> Vec<Outline> {
        match self {
            Self::Mappings(_) => Vec::new(),
            Self::Asked(explicit) => explicit.outlines(objects),
        }
    }
}
