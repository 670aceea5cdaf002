//! The kernel: the only room that knows aya, and the only one that makes BPF and perf calls.

mod beat;
mod bpf;
mod clock;
#[cfg(feature = "session")]
mod cpus;
mod features;
mod loader;
mod maps;
mod memlock;
mod object;
mod probe;
#[cfg(feature = "session")]
#[allow(dead_code, reason = "no session listens to it yet")]
mod sideband;

pub(crate) use beat::Beat;
pub use clock::ClockError;
pub(crate) use clock::{Clock, Follows, PidNamespace, WarmUp};
pub use features::{Feature, Presence};
pub use loader::Figures;
pub(crate) use maps::Counters;
pub use maps::CountersError;
pub use object::LoadError;
pub(crate) use object::{KernelHalf, LoadPlan, PROGRAM};
pub use probe::{Missing, missing_capabilities};
pub(crate) use probe::{max_sample_rate, paranoid};
#[cfg(feature = "session")]
#[allow(unused_imports, reason = "no session listens to it yet")]
pub(crate) use sideband::{Event, Mapped, MappedFile, Record, SideBand, SideBandError};
