//! The story of one tick, in order: whose is it, where was it, did we count it?

use aya_ebpf::programs::PerfEventContext;
use profil_common::{Outcome, Tally};

use crate::{
    filter, outcome, pc,
    record::{self, Tick},
};

/// Counts one tick and notes what became of it.
#[inline(always)]
pub fn tick(ctx: &PerfEventContext) {
    let Some(tally) = outcome::enter() else {
        // The one slot of a one-slot map is always there; the verifier wants to be told.
        return;
    };
    let outcome = outcome_of(ctx, tally);
    outcome::leave(tally, outcome);
}

#[inline(always)]
fn outcome_of(ctx: &PerfEventContext, tally: &Tally) -> Outcome {
    let owner = match filter::wanted() {
        Ok(owner) => owner,
        Err(outcome) => return outcome,
    };
    let (pc, mode) = match pc::program_counter(ctx) {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    record::count(ctx, tally, Tick { owner, pc, mode })
}
