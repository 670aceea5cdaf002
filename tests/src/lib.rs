//! The harness of the tests that run the real `profil-bpf` on real processes.
//!
//! A test starts a [`workload`] (a target that measures for itself where its time goes), attaches
//! the [`profiler`], reads what it [`report`]s, and compares the two within bounds from
//! [`statistics`]. Other readers of the same profile ([`gprof`]) and the kernel itself
//! ([`kernel`]) are asked for their opinion. A test that cannot run says so ([`mod@skip`]).
//!
//! The binary under test is `$PROFIL_BPF`, else the newest of the release and the debug build.
//! The targets are C programs, built on first use into `$PROFIL_WORKLOADS`, else into a directory
//! of the build; where another machine has built them (`$PROFIL_WORKLOADS_BUILT`), no compiler is
//! needed.
//!
//! `$PROFIL_EMULATED` says that this machine is emulated: see [`machine::is_emulated`].

pub mod annotated;
pub mod browser;
pub mod daemon;
pub mod gmon;
pub mod gprof;
pub mod http;
pub mod kernel;
pub mod machine;
pub mod places;
pub mod process;
pub mod profiler;
pub mod prometheus;
pub mod queries;
pub mod recipe;
pub mod recorded;
pub mod report;
pub mod session;
pub mod skip;
pub mod split;
pub mod statistics;
pub mod terminal;
pub mod workload;

pub use annotated::Annotated;
pub use browser::Browser;
pub use daemon::{Daemon, Metrics};
pub use machine::Machine;
pub use process::{Finished, Process};
pub use profiler::Profiler;
pub use recipe::Workload;
pub use report::Report;
pub use split::Split;
pub use terminal::Terminal;
pub use workload::Target;
