//! The maps of counters that a profiler holds.

use aya::maps::{Array, Map, MapData, MapInfo};

use crate::fdinfo;

/// Bytes of a counter.
const COUNTER_BYTES: u64 = 8;

/// The size of the counters of a profiler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// How many there are.
    pub(crate) count: u64,
    /// How many of them are in pages that were ever used; no others are read.
    pub(crate) in_use: u64,
}

impl Counters {
    /// The counters of the profiler `pid`.
    ///
    /// # Panics
    ///
    /// If it has none, or the kernel does not tell.
    pub(crate) fn of(pid: u32) -> Self {
        let count = u64::from(map(pid, "BINS").max_entries());
        let touched = MapData::from_id(map(pid, "TOUCHED").id())
            .map(Map::Array)
            .and_then(Array::<MapData, u64>::try_from)
            .unwrap_or_else(|error| panic!("cannot read the map TOUCHED: {error}"));
        let pages = u64::from(touched.len());
        let is_used = |page: &Result<u64, _>| page.as_ref().is_ok_and(|&used| used != 0);
        let used = touched.iter().filter(is_used).count() as u64;
        Self {
            count,
            in_use: count * used / pages,
        }
    }

    /// Bytes of all counters.
    pub(crate) const fn bytes(self) -> u64 {
        self.count * COUNTER_BYTES
    }
}

/// The map of that name that a process holds.
fn map(pid: u32, name: &str) -> MapInfo {
    fdinfo::map_ids_of(pid)
        .filter_map(|id| MapInfo::from_id(id).ok())
        .find(|map| map.name_as_str() == Some(name))
        .unwrap_or_else(|| panic!("process {pid} has no map {name}"))
}
