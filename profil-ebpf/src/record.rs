//! Find the region, count the bin; or keep the address as a stray.

use aya_ebpf::{bindings::BPF_NOEXIST, programs::PerfEventContext};
use aya_log_ebpf::{info, warn};
use profil_common::{
    Dialect, Mode, Outcome, Place, StrayKey, Tally, find_region, limits::BINS_PER_PAGE,
};

use crate::{
    classic,
    maps::{BINS, REGION_COUNT, REGIONS, STRAYS, TOUCHED},
    settings,
};

/// Linux's "argument list too long": what a full hash map answers.
const E2BIG: i32 = 7;

/// Counts a tick of a wanted process where it belongs.
#[inline(always)]
pub fn count(ctx: &PerfEventContext, tally: &Tally, place: Place, mode: Mode) -> Outcome {
    // The verifier knows the answer and drops one of the ways.
    if settings::dialect() != Dialect::Modern as u32 {
        return classic::count(ctx, tally, place, mode);
    }
    let found = find_region(place, region_count(), |index| REGIONS.get(index));
    match found {
        Some((region, bin)) => count_bin(plane(mode) + region.first + bin),
        None => count_stray(ctx, tally, place, mode),
    }
}

/// How many regions there are.
#[inline(always)]
pub fn region_count() -> u32 {
    REGION_COUNT.get(0).copied().unwrap_or(0)
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
pub fn count_stray(ctx: &PerfEventContext, tally: &Tally, place: Place, mode: Mode) -> Outcome {
    let key = StrayKey {
        pc: place.pc,
        tgid: place.tgid,
        mode: mode as u32,
    };
    if let Some(count) = STRAYS.get_ptr_mut(key) {
        add_one(count);
        return Outcome::Stray;
    }
    match STRAYS.insert(key, 1, u64::from(BPF_NOEXIST)) {
        Ok(()) => {
            if tally.outcomes[Outcome::Stray as usize] == 0 {
                info!(
                    ctx,
                    "first stray on this CPU: tgid {} pc 0x{:x}", key.tgid, key.pc
                );
            }
            Outcome::Stray
        }
        // Another CPU was first, or there is no room. Only a second look can tell.
        Err(error) => match STRAYS.get_ptr_mut(key) {
            Some(count) => {
                add_one(count);
                Outcome::Stray
            }
            None if error == -E2BIG => {
                if tally.outcomes[Outcome::StraysFull as usize] == 0 {
                    warn!(
                        ctx,
                        "strays table full: tgid {} pc 0x{:x}", key.tgid, key.pc
                    );
                }
                Outcome::StraysFull
            }
            None => Outcome::StraysBusy,
        },
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
