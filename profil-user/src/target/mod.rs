//! Who is profiled: the process, its threads, its mapped objects, and where their text lies.

#[cfg(feature = "session")]
#[allow(dead_code, reason = "no session has such targets yet")]
mod cgroup;
mod explicit;
#[cfg(feature = "session")]
#[allow(dead_code, reason = "no session has such targets yet")]
mod glob;
mod identity;
mod layout;
mod layout_error;
mod mappings;
mod notes;
mod object_file;
mod objects;
mod places;
mod plan;
mod process;
mod strays;
mod threads;
mod vdso;

pub(crate) use explicit::Explicit;
pub use explicit::Outline;
pub(crate) use identity::ImageWatch;
pub(crate) use layout::Layout;
pub use layout_error::LayoutError;
pub(crate) use mappings::read as read_mappings;
pub(crate) use object_file::{MAX_SECTIONS, ObjectFile};
pub(crate) use objects::Objects;
pub(crate) use plan::Plan;
pub(crate) use process::Process;
pub use process::TargetError;
pub(crate) use strays::StrayBook;
pub(crate) use threads::{list as list_threads, settled as threads_settled};
