//! Every map, in the order in which a tick meets them. Sizes given as 1 are set before load.

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use profil_common::{Region, RegionTable, StrayKey, StrayTicks, Tally};

/// What became of the ticks. One slot with one writer a CPU, so plain addition is right; the
/// price is a copy a CPU. Read by the drain.
#[map]
pub static TALLY: PerCpuArray<Tally> = PerCpuArray::with_max_entries(1, 0);

/// The profiled ranges, sorted by process and start, or in the order in which the dialect tries
/// them. Written by the user half before the first tick and, in another part than the one in use,
/// while we run; and here to stop a dialect that stops.
#[map]
pub static REGIONS: Array<Region> = Array::with_max_entries(1, 0);

/// Which of the ranges are in use. A map and not a setting: if the verifier knew the number, it would
/// know every step of the search and walk each way through it apart, which takes it minutes for
/// a few hundred ranges. Written by the user half, as a whole, before the first tick and while we run.
#[map]
pub static REGION_TABLE: Array<RegionTable> = Array::with_max_entries(1, 0);

/// Which pages of counters were ever used, so that the drain reads only those: most text is
/// never executed. Written here with the same value by all, read by the drain through a mapping.
#[map]
pub static TOUCHED: Array<u64> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// The counters: the user plane, then the system plane, each with every region's bins one after
/// the other. Written here by atomic addition, read by the drain through a mapping; sized by the
/// ranges and the memory budget.
#[map]
pub static BINS: Array<u64> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Ticks in no region, by address. Written here, emptied by the drain, half by half; sized by the
/// user half. Preallocated, because a tick may not allocate.
#[map]
pub static STRAYS: HashMap<StrayKey, StrayTicks> = HashMap::with_max_entries(1, 0);

/// Which half of the strays is written. Turned by the drain, which then reads the other.
#[map]
pub static STRAY_HALF: Array<u32> = Array::with_max_entries(1, 0);
