//! Find the region, count the bin; or keep the address as a stray.

use aya_ebpf::{bindings::BPF_NOEXIST, helpers::bpf_ktime_get_ns, programs::PerfEventContext};
use aya_log_ebpf::{info, warn};
use profil_common::{
    Charge, Dialect, Mode, Outcome, Place, Region, RegionTable, StrayKey, StrayTicks, Tally,
    find_region, limits::BINS_PER_PAGE,
};

use crate::{
    classic,
    filter::Owner,
    maps::{BINS, REGION_TABLE, REGIONS, STRAY_HALF, STRAYS, TOUCHED},
    settings,
};

/// Linux's "argument list too long": what a full hash map answers.
const E2BIG: i32 = 7;

/// A wanted tick.
#[derive(Clone, Copy)]
pub struct Tick {
    pub owner: Owner,
    pub pc: u64,
    pub mode: Mode,
}

impl Tick {
    /// Where its region would be. The kernel's text is the same for all.
    #[inline(always)]
    pub fn place(&self) -> Place {
        let in_kernel =
            Charge::by_kernel_pc(settings::charge()) && self.mode as u32 == Mode::System as u32;
        Place {
            tgid: if in_kernel {
                Region::OF_KERNEL
            } else {
                self.owner.tgid
            },
            pc: self.pc,
        }
    }
}

/// Counts a tick of a wanted process where it belongs.
#[inline(always)]
pub fn count(ctx: &PerfEventContext, tally: &Tally, tick: Tick) -> Outcome {
    // The verifier knows the answer and drops one of the ways.
    if settings::dialect() != Dialect::Modern as u32 {
        return classic::count(ctx, tally, tick.owner.to_number(), tick.pc, tick.mode);
    }
    let table = region_table();
    let found = find_region(tick.place(), table.count, |index| {
        REGIONS.get(table.first.wrapping_add(index))
    });
    match found {
        Some((region, bin)) => count_bin(plane(tick.mode) + region.first + bin),
        None => count_stray(ctx, tally, tick),
    }
}

/// Which regions there are. Read at once: it changes as a whole.
#[inline(always)]
pub fn region_table() -> RegionTable {
    match REGION_TABLE.get_ptr(0) {
        // SAFETY: the pointer came from a map lookup and is not null; it is aligned to eight bytes.
        Some(table) => RegionTable::from_number(unsafe { table.cast::<u64>().read_volatile() }),
        None => RegionTable::default(),
    }
}

/// How many regions there are, where they are never drawn anew.
#[inline(always)]
pub fn region_count() -> u32 {
    match REGION_TABLE.get(0) {
        Some(table) => table.count,
        None => 0,
    }
}

/// Where the counters for ticks in a mode begin.
#[inline(always)]
pub fn plane(mode: Mode) -> u32 {
    if mode as u32 == Mode::System as u32 {
        settings::bins()
    } else {
        0
    }
}

/// Adds a tick to the counter with this place among all of them.
#[inline(always)]
pub fn count_bin(index: u32) -> Outcome {
    let (Some(page), Some(bin)) = (
        TOUCHED.get_ptr_mut(index / BINS_PER_PAGE),
        BINS.get_ptr_mut(index),
    ) else {
        return Outcome::NoBin;
    };
    // SAFETY: the pointer came from a map lookup and is not null; everybody writes the same.
    unsafe { page.write_volatile(1) };
    add_one(bin);
    Outcome::Binned
}

/// Keeps the address of a tick that no region is for.
#[inline(always)]
pub fn count_stray(ctx: &PerfEventContext, tally: &Tally, tick: Tick) -> Outcome {
    let key = StrayKey {
        pc: tick.pc,
        task: tick.owner.task,
        mode: tick.mode as u16,
        half: STRAY_HALF.get(0).copied().unwrap_or(0) as u16,
    };
    // SAFETY: the helper takes nothing and always has an answer.
    let now = unsafe { bpf_ktime_get_ns() };
    let stray = match STRAYS.get_ptr_mut(key) {
        Some(stray) => stray,
        None => {
            let first = StrayTicks {
                ticks: 1,
                first_ns: now,
                last_ns: now,
            };
            let Err(error) = STRAYS.insert(key, first, u64::from(BPF_NOEXIST)) else {
                if tally.outcomes[Outcome::Stray as usize] == 0 {
                    info!(
                        ctx,
                        "first stray on this CPU: task {} pc 0x{:x}", key.task, key.pc
                    );
                }
                return Outcome::Stray;
            };
            // Another CPU was first, or there is no room. Only a second look can tell.
            match STRAYS.get_ptr_mut(key) {
                Some(stray) => stray,
                None if error == -E2BIG => {
                    if tally.outcomes[Outcome::StraysFull as usize] == 0 {
                        warn!(
                            ctx,
                            "strays table full: task {} pc 0x{:x}", key.task, key.pc
                        );
                    }
                    return Outcome::StraysFull;
                }
                None => return Outcome::StraysBusy,
            }
        }
    };
    add_stray(stray, now);
    Outcome::Stray
}

/// Adds a tick to strays that are there.
#[inline(always)]
fn add_stray(stray: *mut StrayTicks, now: u64) {
    // SAFETY: the pointer came from a map lookup and is not null. Another CPU may write its own
    // time at this moment: one of the two stays, and either will do.
    unsafe {
        (&raw mut (*stray).last_ns).write_volatile(now);
        add_one(&raw mut (*stray).ticks);
    }
}

/// Adds one to a counter that other CPUs add to as well.
#[inline(always)]
fn add_one(counter: *mut u64) {
    // SAFETY: the pointer came from a map lookup and is not null.
    unsafe {
        core::intrinsics::atomic_xadd::<u64, u64, { core::intrinsics::AtomicOrdering::Relaxed }>(
            counter, 1,
        );
    }
}
