//! The table of strays: two halves, of which one is written while the other is emptied.
//!
//! An entry must not be removed while a tick may still add to it: the tick would be lost. So the
//! drain turns to the other half, waits until every tick that was under way is done, and takes what
//! no one can change any more.
//!
//! Halves are numbered on and on (and around, after 65,536 of them): whoever keeps the number of the last one
//! that it has safely written down can tell, after a crash, what is still to be read from what is only
//! still to be removed.

use std::{io, os::fd::AsFd as _};

use aya::maps::{Array, MapData};
use profil_common::{StrayKey, StrayTicks};

use super::{bpf, maps::CountersError};

/// Entries that are read or removed at once.
const BATCH: usize = 4096;

/// The table, and which half is written.
pub(super) struct StrayTable {
    /// From [`StrayKey`] to [`StrayTicks`].
    table: MapData,
    written: Array<MapData, u32>,
    half: u16,
    /// Entries that there are at most.
    capacity: u32,
    /// Entries that were found last, and the most that ever were.
    found: u32,
    fullest: u32,
}

/// Strays and when they ticked.
pub(crate) type Strays = Vec<(StrayKey, StrayTicks)>;

impl StrayTable {
    /// A table that nobody has written to yet, or whose last reader has gone.
    pub(super) fn new(table: MapData, written: Array<MapData, u32>) -> Result<Self, CountersError> {
        let info = table.info()?;
        let sizes = (info.key_size(), info.value_size());
        if sizes != (size_of::<StrayKey>() as u32, size_of::<StrayTicks>() as u32) {
            return Err(CountersError::OtherLayout("strays"));
        }
        let half = written.get(&0, 0)? as u16;
        Ok(Self {
            capacity: info.max_entries(),
            table,
            written,
            half,
            found: 0,
            fullest: 0,
        })
    }

    /// Writes go to the other half from now on, but for those of ticks that are under way.
    pub(super) fn turn(&mut self) -> Result<(), CountersError> {
        let half = self.half.wrapping_add(1);
        self.written.set(0, u32::from(half), 0)?;
        self.half = half;
        Ok(())
    }

    /// Takes what is in the half that is not written. No tick may be under way that began before
    /// [`StrayTable::turn`].
    pub(super) fn take(&mut self) -> Result<Strays, CountersError> {
        let strays = self.settled()?;
        self.remove(&strays)?;
        Ok(strays)
    }

    /// What is in halves that are not written, and stays there until it is removed. As for
    /// [`StrayTable::take`].
    pub(super) fn settled(&mut self) -> Result<Strays, CountersError> {
        let mut strays = self.read()?;
        let half = self.half;
        strays.retain(|(key, _)| key.half != half);
        Ok(strays)
    }

    /// The number of the half that is written.
    pub(super) const fn half(&self) -> u16 {
        self.half
    }

    /// Takes everything. No tick may be under way, and none may come.
    pub(super) fn take_all(&mut self) -> Result<Strays, CountersError> {
        let strays = self.read()?;
        self.remove(&strays)?;
        Ok(strays)
    }

    /// Everything that is in the table, and stays there.
    pub(super) fn all(&self) -> Result<Strays, CountersError> {
        let empty_key = StrayKey {
            pc: 0,
            task: 0,
            mode: 0,
            half: 0,
        };
        let mut strays = Vec::new();
        let mut keys = vec![empty_key; BATCH];
        let mut values = vec![StrayTicks::default(); BATCH];
        let mut place = None;
        loop {
            let map = self.table.fd().as_fd();
            let (count, last) = match bpf::read_batch(map, &mut place, &mut keys, &mut values) {
                Ok(read) => read,
                // A bucket has more entries than there is room for.
                Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {
                    let room = keys.len() * 2;
                    keys.resize(room, empty_key);
                    values.resize(room, StrayTicks::default());
                    continue;
                }
                Err(error) => return Err(CountersError::Strays(error)),
            };
            let read = keys.iter().zip(&values).take(count);
            strays.extend(read.map(|(&key, &ticks)| (key, ticks)));
            if last {
                return Ok(strays);
            }
        }
    }

    /// The most entries that were ever found in the table, and how many it can hold.
    pub(super) const fn fill(&self) -> (u32, u32) {
        (self.fullest, self.capacity)
    }

    /// Entries that were found last, and how many there can be.
    pub(super) const fn last_fill(&self) -> (u32, u32) {
        (self.found, self.capacity)
    }

    fn read(&mut self) -> Result<Strays, CountersError> {
        let strays = self.all()?;
        self.found = strays.len() as u32;
        self.fullest = self.fullest.max(self.found);
        Ok(strays)
    }

    /// Removes entries, all of which are there.
    pub(super) fn remove(&self, strays: &Strays) -> Result<(), CountersError> {
        for some in strays.chunks(BATCH) {
            let keys: Vec<_> = some.iter().map(|&(key, _)| key).collect();
            let map = self.table.fd().as_fd();
            bpf::delete_batch(map, &keys).map_err(CountersError::Strays)?;
        }
        Ok(())
    }
}

/// Waits until every tick that was under way when it was called is done. Takes as long as the
/// kernel needs to see every CPU leave what it does, a few milliseconds.
///
/// # Errors
///
/// If the kernel cannot tell: one that runs CPUs without a timer (`nohz_full`). See membarrier(2).
pub(crate) fn wait_for_ticks_under_way() -> io::Result<()> {
    const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
    const NO_FLAGS: libc::c_uint = 0;
    // The kernel waits for RCU, and a BPF program is a reader from its entry to its end.
    // SAFETY: the call takes nothing by reference.
    let done = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, NO_FLAGS, 0) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
