//! Who is profiled: the process, its threads, its mapped objects, and where their text lies.

#[cfg(feature = "session")]
mod cgroup;
mod explicit;
#[cfg(feature = "session")]
mod glob;
#[cfg(feature = "session")]
mod history;
mod identity;
#[cfg(feature = "session")]
mod kernel_text;
mod layout;
mod layout_error;
#[cfg(feature = "session")]
mod ledger;
#[cfg(feature = "session")]
mod machine;
mod mappings;
mod notes;
mod object_file;
mod objects;
mod places;
mod plan;
mod process;
#[cfg(feature = "session")]
mod selection;
#[cfg(feature = "session")]
mod thread_book;
mod threads;
mod vdso;

#[cfg(feature = "session")]
pub(crate) use cgroup::Cgroup;
#[cfg(feature = "session")]
pub use cgroup::CgroupError;
#[cfg(feature = "serve")]
pub(crate) use cgroup::container_in;
pub(crate) use explicit::Explicit;
pub use explicit::Outline;
#[cfg(feature = "session")]
pub(crate) use glob::Glob;
#[cfg(feature = "session")]
pub use glob::GlobError;
#[cfg(feature = "session")]
pub(crate) use history::History;
pub(crate) use identity::ImageWatch;
#[cfg(feature = "session")]
pub(crate) use kernel_text::kernel_text;
pub(crate) use layout::{BYTES_PER_BIN, Layout};
pub use layout_error::LayoutError;
#[cfg(feature = "session")]
pub(crate) use ledger::{Known, Ledger};
#[cfg(feature = "session")]
pub(crate) use machine::busy_ns;
#[cfg(feature = "serve")]
pub(crate) use machine::busy_ns_by_cpu;
#[cfg(feature = "fuzz")]
pub(crate) use mappings::parse as parse_mappings;
pub(crate) use mappings::{Backing, FileId, FileMapping, Mapping, read as read_mappings};
pub(crate) use object_file::{MAX_SECTIONS, ObjectFile, open_regular};
pub(crate) use objects::Objects;
pub(crate) use plan::Plan;
pub(crate) use process::Process;
pub use process::TargetError;
#[cfg(feature = "serve")]
pub(crate) use process::is_there;
#[cfg(feature = "session")]
pub(crate) use selection::Selection;
#[cfg(feature = "session")]
pub(crate) use thread_book::ThreadBook;
pub(crate) use threads::{has as has_thread, list as list_threads, settled as threads_settled};
