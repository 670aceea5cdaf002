//! The kernel: the only room that knows aya, and the only one that makes BPF and perf calls.

mod clock;
mod maps;
mod object;
mod probe;

pub use clock::ClockError;
pub(crate) use clock::{Clock, Follows, PidNamespace, WarmUp};
pub(crate) use maps::Counters;
pub use maps::CountersError;
pub use object::LoadError;
pub(crate) use object::{KernelHalf, LoadPlan};
pub(crate) use probe::max_sample_rate;
pub use probe::{Missing, missing_capabilities};
