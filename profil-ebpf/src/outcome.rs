//! The account of the runs: entered here, left there, in every case.

use profil_common::{Outcome, Tally};

use crate::maps::TALLY;

/// Notes that the program was entered and returns this CPU's account.
#[inline(always)]
pub fn enter() -> Option<&'static mut Tally> {
    let tally = TALLY.get_ptr_mut(0)?;
    // SAFETY: the pointer is to this CPU's slot, which lives as long as the program. Nothing else
    // writes it: a tick cannot interrupt a tick on its own CPU.
    let tally = unsafe { &mut *tally };
    tally.runs += 1;
    Some(tally)
}

/// Notes how the run ended.
#[inline(always)]
pub fn leave(tally: &mut Tally, outcome: Outcome) {
    // The index is below the length by construction, but after optimisation the verifier cannot
    // see that; the comparison here costs one instruction and tells it.
    if let Some(count) = tally.outcomes.get_mut(outcome as usize) {
        *count += 1;
    }
}
