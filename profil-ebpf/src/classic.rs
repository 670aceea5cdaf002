//! Count as a system of the past did: the regions in their order, and the limit of a counter.

use aya_ebpf::programs::PerfEventContext;
use profil_common::{Cell, Dialect, Mode, Outcome, Tally, find_cell};

use crate::{
    filter::Owner,
    maps::{BINS, REGIONS},
    record::{self, Tick},
    settings,
};

/// Counts a tick of a wanted process in the session's dialect.
///
/// A function of its own, so that the compiler does not mix it with the way that most sessions
/// go: there the verifier drops the call and all that lies behind it.
#[inline(never)]
pub fn count(ctx: &PerfEventContext, tally: &Tally, owner: u64, pc: u64, mode: Mode) -> Outcome {
    // As many as there are registers for: what is passed in memory the verifier knows less of, and
    // walks ways apart that are one.
    let tick = Tick {
        owner: Owner::from_number(owner),
        pc,
        mode,
    };
    let Some(dialect) = Dialect::from_number(settings::dialect()) else {
        return Outcome::OutOfRange;
    };
    // They are never drawn anew, so that the first is always the first.
    let count = record::region_count();
    match find_cell(dialect, tick.place(), count, |index| REGIONS.get(index)) {
        Ok(cell) => match dialect.stops_at() {
            Some(limit) => count_up_to(limit, cell, tick.mode),
            None => record::count_bin(record::plane(tick.mode) + cell.counter),
        },
        Err(Outcome::Stray) => record::count_stray(ctx, tally, tick),
        Err(outcome) => outcome,
    }
}

/// Counts a tick unless that takes its counter, user and system time together, past `limit`.
///
/// Two CPUs that add the last tick at the same time both find room for it. Then each of them sees
/// what came of it and stops the rest, and the dialect's view of the counter has only one.
#[inline(always)]
fn count_up_to(limit: u64, cell: Cell, mode: Mode) -> Outcome {
    if ticks_of(cell) >= limit {
        stop(cell);
        return Outcome::Stopped;
    }
    let outcome = record::count_bin(record::plane(mode) + cell.counter);
    if ticks_of(cell) > limit {
        stop(cell);
    }
    outcome
}

/// What both planes have counted for a counter.
#[inline(always)]
fn ticks_of(cell: Cell) -> u64 {
    let read = |index| match BINS.get_ptr(index) {
        // SAFETY: the pointer came from a map lookup and is not null. Others add to what it
        // points to at any time, so it is read once and as a whole.
        Some(counter) => unsafe { counter.read_volatile() },
        None => 0,
    };
    read(cell.counter) + read(settings::bins() + cell.counter)
}

#[inline(always)]
fn stop(cell: Cell) {
    if let Some(region) = REGIONS.get_ptr_mut(cell.region) {
        // SAFETY: the pointer came from a map lookup and is not null. Whoever else writes to a
        // region stops or empties it as well.
        unsafe { (*region).stop() };
    }
}
