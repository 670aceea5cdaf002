//! The table of regions: two parts, of which one is in use while the other is written.

use aya::maps::{Array, MapData};
use profil_common::{Region, RegionTable};

use super::object::LoadError;

/// Parts of the table.
pub(super) const PARTS: usize = 2;

/// The table, and which part of it is in use.
pub(super) struct RegionMaps {
    regions: Array<MapData, Region>,
    table: Array<MapData, RegionTable>,
    in_use: RegionTable,
}

impl RegionMaps {
    /// A table that nobody has written to.
    pub(super) fn new(regions: Array<MapData, Region>, table: Array<MapData, RegionTable>) -> Self {
        Self {
            regions,
            table,
            in_use: RegionTable::default(),
        }
    }

    /// Writes regions into the part that is not in use, and then uses that one. A tick that began
    /// before still looks through the other, which stays as it is until the next call.
    pub(super) fn write(&mut self, regions: &[Region]) -> Result<(), LoadError> {
        let half = self.regions.len() / PARTS as u32;
        let first = match self.in_use {
            // Nothing was ever written.
            RegionTable { count: 0, first: 0 } => 0,
            in_use => half - in_use.first,
        };
        for (index, region) in (first..).zip(regions) {
            self.regions.set(index, region, 0)?;
        }
        let table = RegionTable {
            count: regions.len() as u32,
            first,
        };
        self.table.set(0, table, 0)?;
        self.in_use = table;
        Ok(())
    }

    /// Empties the regions with these indices.
    pub(super) fn retire(&mut self, indices: &[usize]) -> Result<(), LoadError> {
        for &index in indices {
            let index = self.in_use.first + index as u32;
            let mut region = self.regions.get(&index, 0)?;
            region.bins = 0;
            self.regions.set(index, region, 0)?;
        }
        Ok(())
    }
}
