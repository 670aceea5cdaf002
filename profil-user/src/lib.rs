//! `profil(2)` for running, unmodified processes.
//!
//! At every tick of a process's own CPU time a BPF program in the kernel turns the program
//! counter into a bin, by the formula of the 1979 system call, and counts it. This library finds
//! the process, lays out the bins, loads the program, reads the bins, and turns them into a
//! [`Profile`] with names.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use profil_user::{Options, Session, Tgid};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Tgid::new(4242).ok_or("no process is numbered 0")?;
//! let session = Session::attach(&Options::new(target))?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let taken = runtime.block_on(async {
//!     session.run(tokio::time::sleep(Duration::from_secs(5))).await
//! })?;
//! println!("{} ticks", taken.profile.ticks());
//! # Ok(())
//! # }
//! ```
//!
//! Data moves one way: tick → bins → `drain` → [`Profile`] → [`symbolize`] → [`export`].

pub mod doctor;
mod drain;
mod error;
pub mod export;
pub mod hz;
pub mod import;
mod kernel;
mod options;
mod profile;
mod recorded;
mod session;
pub mod symbolize;
mod target;

pub use error::{RunError, StartError};
pub use kernel::{
    ClockError, CountersError, Feature, Figures, LoadError, Missing, Presence, missing_capabilities,
};
pub use options::{
    ClockScope, Options, Rate, RateError, RegionAsked, RegionError, Scale, Start, Tgid, number,
};
pub use profil_common::{Classic, Dialect, Wanted};
pub use profile::{
    Balance, Buffer, Count, ElfClass, Note, Object, ObjectId, ObjectKind, Profile, Text, Unresolved,
};
pub use recorded::{Executable, Recorded, RecordedError, Source};
pub use session::{Control, Session, Snapshot, Taken};
pub use target::{LayoutError, Outline, TargetError};
