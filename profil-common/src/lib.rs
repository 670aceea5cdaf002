//! What the two halves of profil-bpf must agree on, and nothing else.
//!
//! The kernel half runs on every tick of the clock: it finds the [`Region`] that holds the
//! program counter ([`find_region`]), turns the program counter into a bin ([`Region::bin`]),
//! counts it, and notes what became of the tick ([`Outcome`]). The user half writes the
//! [`Settings`] and the regions before the first tick, and reads the counters after it. Each
//! type, formula and limit that both sides use is written here once.
//!
//! That is how the default [`Dialect`] counts. The others do again what a system of the past
//! did: a [`Classic`] region, [`cell`] for the formula, [`find_cell`] for a process's regions.
//!
//! This crate is `no_std`: the same functions run under the kernel's verifier and in the tests.

#![no_std]
#![warn(missing_docs)]

mod binning;
mod dialect;
mod key;
pub mod limits;
mod outcome;
mod region;
mod settings;
mod trial;

pub use binning::{SCALE_ONE, TEXT_BYTES_PER_BIN, bin_of, first_distance_of};
pub use dialect::{
    Cell, Classic, Dialect, Effect, Exec, Fork, Limit, Lists, Refusal, Rules, cell, find_cell,
};
pub use key::{Mode, StrayKey, StrayTicks};
pub use outcome::{Outcome, Tally};
pub use region::{Place, Region, RegionTable, find_region};
pub use settings::{Charge, Settings, SystemPc, Wanted};
pub use trial::Trial;
