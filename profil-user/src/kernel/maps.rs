//! Typed handles on the maps that the drain reads. Sizes are checked when they are opened.

use std::{
    fs, io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use aya::maps::{Array, Map, MapData, MapError, PerCpuArray};
use profil_common::{Tally, limits::BINS_PER_PAGE};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::strays::{StrayTable, Strays};

/// The counters of a session.
pub(crate) struct Counters {
    bins: Bins,
    strays: StrayTable,
    tally: PerCpuArray<MapData, Tally>,
}

/// Why the counters cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// The embedded object is not the one that this code was written for.
    #[error("the BPF object has no map {0}; it was built from other sources")]
    Absent(&'static str),
    /// A map of another kind than this code was written for.
    #[error("a BPF map is not an array; the object was built from other sources")]
    NotAnArray,
    /// Entries of another size than this code was written for.
    #[error("the BPF map of {0} has another layout; it was made by another version")]
    OtherLayout(&'static str),
    /// A map call failed.
    #[error("a BPF map call failed")]
    Map(#[from] MapError),
    /// The strays cannot be read or removed.
    #[error("cannot read the table of strays (BPF_MAP_LOOKUP_BATCH, Linux 5.6)")]
    Strays(#[source] io::Error),
    /// It is not known which CPUs there may be.
    #[error("cannot read which CPUs there may be (/sys/devices/system/cpu/possible)")]
    Cpus(#[source] io::Error),
    /// The bins cannot be mapped.
    #[error("cannot map the bins (BPF_F_MMAPABLE, Linux 5.5)")]
    Mapping(#[source] io::Error),
}

impl Counters {
    /// Takes its maps out of those of the object.
    pub(super) fn take(maps: &mut Maps) -> Result<Self, CountersError> {
        let mut take = |name| maps.remove(name).ok_or(CountersError::Absent(name));
        Ok(Self {
            bins: Bins {
                counters: MappedArray::open(Map::Array(take("BINS")?))?,
                touched: MappedArray::open(Map::Array(take("TOUCHED")?))?,
            },
            strays: StrayTable::new(take("STRAYS")?, Map::Array(take("STRAY_HALF")?).try_into()?)?,
            tally: Map::PerCpuArray(take("TALLY")?).try_into()?,
        })
    }

    /// Calls `visit` with every bin that is not zero: its index in both planes, and its count.
    pub(crate) fn for_each_bin(&self, visit: impl FnMut(u32, u64)) {
        self.bins.for_each(visit);
    }

    /// The count of one bin, by its index in both planes; 0 past the last. No system call.
    pub(crate) fn bin(&self, index: u32) -> u64 {
        self.bins.get(index)
    }

    /// Calls `visit` with every bin that is not zero in both planes of `bins` together: its number
    /// and its counts for user and for system time. No system call, and no memory of its own.
    pub(crate) fn for_each_pair(&self, bins: u32, visit: impl FnMut(u32, u64, u64)) {
        self.bins.for_each_pair(bins, visit);
    }

    /// Every stray that is in the table, and stays there.
    pub(crate) fn strays(&self) -> Result<Strays, CountersError> {
        self.strays.all()
    }

    /// Strays go to the other half of the table from now on. What is in this one can be taken
    /// once no tick is under way any more.
    pub(crate) fn turn_strays(&mut self) -> Result<(), CountersError> {
        self.strays.turn()
    }

    /// Takes the strays of the half that is not written, out of the table.
    pub(crate) fn take_strays(&mut self) -> Result<Strays, CountersError> {
        self.strays.take()
    }

    /// Takes all strays out of the table, once the clock is off.
    pub(crate) fn take_all_strays(&mut self) -> Result<Strays, CountersError> {
        self.strays.take_all()
    }

    /// The strays that nobody can add to any more, which stay in the table; and the number of the half
    /// that is written.
    pub(crate) fn settled_strays(&mut self) -> Result<(Strays, u16), CountersError> {
        Ok((self.strays.settled()?, self.strays.half()))
    }

    /// Removes strays that were settled.
    pub(crate) fn remove_strays(&self, strays: &Strays) -> Result<(), CountersError> {
        self.strays.remove(strays)
    }

    /// Most entries that the table of strays was found to have, and how many it can hold.
    pub(crate) const fn stray_fill(&self) -> (u32, u32) {
        self.strays.fill()
    }

    /// Entries that it was found to have last, and how many it can hold.
    pub(crate) const fn last_stray_fill(&self) -> (u32, u32) {
        self.strays.last_fill()
    }

    /// The account of all CPUs together.
    pub(crate) fn tally(&self) -> Result<Tally, CountersError> {
        let mut sum = Tally::default();
        for cpu in self.tally.get(&0, 0)?.iter() {
            sum.runs += cpu.runs;
            for (total, count) in sum.outcomes.iter_mut().zip(cpu.outcomes) {
                *total += count;
            }
        }
        Ok(sum)
    }
}

#[cfg(feature = "serve")]
impl Counters {
    /// CPUs, and the runs of each.
    pub(crate) fn runs(&self) -> Result<Vec<(u32, u64)>, CountersError> {
        let tallies = self.tally.get(&0, 0)?;
        let cpus = super::cpus::possible().map_err(CountersError::Cpus)?;
        let runs = tallies.iter().map(|tally| tally.runs);
        Ok(cpus.into_iter().zip(runs).collect())
    }
}

/// The bins, and which of them were ever used. Reading them takes no system call.
struct Bins {
    counters: MappedArray,
    touched: MappedArray,
}

impl Bins {
    fn for_each(&self, mut visit: impl FnMut(u32, u64)) {
        let pages = self.counters.values().chunks(BINS_PER_PAGE as usize);
        let mut first = 0;
        for (page, touched) in pages.zip(self.touched.values()) {
            // A page that another CPU notes just now is found by the next drain; the last one comes
            // when the clock is off.
            if touched.load(Ordering::Relaxed) != 0 {
                for (offset, counter) in (0..).zip(page) {
                    let count = counter.load(Ordering::Relaxed);
                    if count != 0 {
                        visit(first + offset, count);
                    }
                }
            }
            first += BINS_PER_PAGE;
        }
    }
}

impl Bins {
    /// What was never used is not even looked at: its page need not be there.
    fn get(&self, index: u32) -> u64 {
        if self.is_used(index) {
            load(self.counters.values(), index)
        } else {
            0
        }
    }

    fn is_used(&self, index: u32) -> bool {
        load(self.touched.values(), index / BINS_PER_PAGE) != 0
    }

    fn for_each_pair(&self, bins: u32, mut visit: impl FnMut(u32, u64, u64)) {
        let mut first = 0;
        while first < bins {
            let end = first.saturating_add(BINS_PER_PAGE).min(bins);
            let user = self.is_used(first);
            // The other plane begins anywhere, so that as many lie in two pages.
            let system = self.is_used(bins + first) || self.is_used(bins + end - 1);
            if user || system {
                for number in first..end {
                    let user = load(self.counters.values(), number);
                    let system = load(self.counters.values(), bins + number);
                    if user | system != 0 {
                        visit(number, user, system);
                    }
                }
            }
            first = end;
        }
    }
}

fn load(values: &[AtomicU64], index: u32) -> u64 {
    let value = values.get(index as usize);
    value.map_or(0, |value| value.load(Ordering::Relaxed))
}

/// An array of 64-bit values, mapped into our own memory.
struct MappedArray {
    address: NonNull<AtomicU64>,
    length: usize,
    /// Keeps the map alive.
    _map: MapData,
}

// SAFETY: the values are only ever loaded atomically, from memory that stays mapped for the life
// of `self`.
unsafe impl Send for MappedArray {}
// SAFETY: as above; a shared reference allows no more than such loads.
unsafe impl Sync for MappedArray {}

impl MappedArray {
    fn open(map: Map) -> Result<Self, CountersError> {
        let length = Array::<&MapData, u64>::try_from(&map)?.len() as usize;
        let Map::Array(map) = map else {
            return Err(CountersError::NotAnArray);
        };
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                length * size_of::<u64>(),
                ProtFlags::READ,
                MapFlags::SHARED,
                map.fd().as_fd(),
                0,
            )
        };
        let address = address.map_err(|errno| CountersError::Mapping(errno.into()))?;
        let address = NonNull::new(address.cast())
            .ok_or_else(|| CountersError::Mapping(io::ErrorKind::InvalidData.into()))?;
        Ok(Self {
            address,
            length,
            _map: map,
        })
    }

    fn values(&self) -> &[AtomicU64] {
        // SAFETY: the kernel mapped `length` values here, page aligned, until drop unmaps them.
        // The kernel half changes them while we look, which is what atomics are for.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }
}

impl Drop for MappedArray {
    fn drop(&mut self) {
        // SAFETY: the range is the one that was mapped, and no reference to it outlives `self`.
        let result =
            unsafe { munmap(self.address.as_ptr().cast(), self.length * size_of::<u64>()) };
        debug_assert!(result.is_ok(), "{result:?}");
    }
}

/// Maps by the names that the object gives them.
pub(super) type Maps = std::collections::HashMap<String, MapData>;

/// Kernel memory of maps, in bytes, as the kernel accounts for it in each one's `fdinfo`.
pub(super) fn memory_of(maps: &Maps) -> u64 {
    maps.values()
        .map(|map| memlock_of(map.fd().as_fd()).unwrap_or(0))
        .sum()
}

fn memlock_of(fd: BorrowedFd<'_>) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("memlock:"))?;
    value.trim().parse().ok()
}
