//! `profil(2)` for running, unmodified processes.
//!
//! At every tick of a process's own CPU time a BPF program in the kernel turns the program
//! counter into a bin, by the formula of the 1979 system call, and counts it. This library finds
//! the process, lays out the bins, loads the program, reads the bins, and turns them into a
//! [`Profile`] with names.
//!
//! ```no_run
//! # #[cfg(feature = "session")]
//! # mod with_sessions {
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
//! # }
//! ```
//!
//! Data moves one way: tick → bins → `drain` → [`Profile`] → `symbolize` → `export`.
//!
//! Whoever wants the numbers and not the names takes a [`Profil`] instead: the counters of a process,
//! to be read at any time without a system call. It is all that there is without the feature
//! `session`, and takes neither a runtime, nor the symbolizer, nor any format; without the feature
//! `cli` there is no command line.

#![cfg_attr(
    not(feature = "session"),
    allow(
        dead_code,
        unused_imports,
        reason = "a session uses more of the rooms below than a handle does"
    )
)]

#[cfg(feature = "session")]
pub mod annotate;
#[cfg(feature = "session")]
pub mod compare;
pub mod doctor;
#[cfg(feature = "session")]
mod drain;
mod error;
#[cfg(feature = "session")]
pub mod export;
pub mod handle;
mod headway;
#[cfg(feature = "fuzz")]
pub mod hostile;
#[cfg(feature = "cli")]
pub mod hz;
#[cfg(feature = "session")]
pub mod import;
mod kernel;
#[cfg(feature = "session")]
pub mod launch;
mod options;
#[cfg(feature = "session")]
pub mod pprof;
mod preflight;
mod profile;
#[cfg(feature = "session")]
mod recorded;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "session")]
mod session;
#[cfg(feature = "session")]
pub mod symbolize;
mod target;
#[cfg(all(test, feature = "cli"))]
mod troubleshooting;
#[cfg(feature = "serve")]
mod watch;

pub use error::{RunError, StartError};
pub use handle::{Profil, ProfilBuilder};
pub use headway::Headway;
#[cfg(feature = "serve")]
pub use kernel::PinError;
pub use kernel::{
    ClockError, CountersError, Feature, Figures, LoadError, Missing, Presence, missing_capabilities,
};
pub use options::{
    ClockScope, Options, Rate, RateError, RegionAsked, RegionError, Scale, Selector, Split, Start,
    Target, Tgid, number,
};
pub use profil_common::{Classic, Dialect, Wanted};
pub use profile::{
    Balance, Buffer, BuildId, Count, ElfClass, NoBuildId, Note, Object, ObjectId, ObjectKind,
    Profile, Subject, Task, TaskId, Text, Unresolved, share_error,
};
#[cfg(feature = "session")]
pub use recorded::{Executable, Recorded, RecordedError, Source};
#[cfg(feature = "session")]
pub use session::{Control, Session, Snapshot, Taken};
#[cfg(feature = "session")]
pub use target::{CgroupError, GlobError};
pub use target::{LayoutError, Outline, TargetError};
