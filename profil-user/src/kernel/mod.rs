//! The kernel: the only room that knows aya, and the only one that makes BPF and perf calls.

mod beat;
mod bpf;
mod clock;
mod clock_error;
mod cpus;
mod event;
mod features;
mod loader;
mod maps;
mod memlock;
mod object;
mod pid_namespace;
#[cfg(feature = "serve")]
mod pins;
mod probe;
mod regions;
#[cfg(feature = "session")]
mod sideband;
mod strays;

pub(crate) use beat::Beat;
pub(crate) use clock::{Clock, Follows, Whom};
pub use clock_error::ClockError;
pub(crate) use event::WarmUp;
pub use features::{Feature, Presence};
pub use loader::Figures;
pub(crate) use maps::Counters;
pub use maps::CountersError;
pub use object::LoadError;
pub(crate) use object::{KernelHalf, LoadPlan, OBJECT_NAME, PROGRAM};
pub(crate) use pid_namespace::PidNamespace;
#[cfg(feature = "serve")]
pub use pins::PinError;
#[cfg(feature = "serve")]
pub(crate) use pins::{Pins, remove as remove_pins};
pub use probe::{Missing, missing_capabilities};
pub(crate) use probe::{
    effective_capabilities, last_capability, max_sample_rate, missing_from, paranoid,
};
#[cfg(feature = "fuzz")]
pub(crate) use sideband::next as next_record;
#[cfg(feature = "session")]
pub(crate) use sideband::{Event, Mapped, MappedFile, Record, SideBand};
pub(crate) use strays::{Strays, wait_for_ticks_under_way};
