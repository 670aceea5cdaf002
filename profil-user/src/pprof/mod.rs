//! The file of record: a profile as pprof's `profile.proto`, compressed by gzip.
//!
//! One file holds all that a profile has, and every tool that knows the format reads it:
//! `go tool pprof`, speedscope, Pyroscope, Parca. Here is what the fields hold, beyond what
//! [the schema](https://github.com/google/pprof/blob/main/proto/profile.proto) says:
//!
//! - **Samples** have two values, `ticks` in `count` and `cpu` in `nanoseconds` (ticks by the mean
//!   period). There is one for each address and mode, and each task where those are kept apart. Labels
//!   are `mode` (`user` or `system`); `comm`, and the numbers `pid`, `tid` (where threads are kept
//!   apart) and `task`, the place in the list of tasks, from 1; and `unnamed`, the reason why an
//!   address has no name.
//! - **Locations** have one address each and no callers. Addresses are link-time addresses, the same
//!   wherever and whenever the program is started; an object that would be taken for another one is
//!   moved as a whole (`layout.rs`). In a bin, the address is its second one, by which tools find the
//!   instruction. **Mappings** are moved alike, and are what the kernel would make of an object that
//!   it loads there; so the usual way from an address to the file, `address - memory_start +
//!   file_offset`, leads to the right byte.
//! - **Functions** have the demangled name, and what the symbol table calls it as system name. Lines
//!   and inlined functions are there if they were looked up.
//! - **Comments** are first our own, for which the format has no field, each beginning with `#`
//!   (`extension.rs`); then notes and the balance for people, which are not read again; and the last one
//!   is the seal, `#profil-bpf VERSION CRC`. The CRC (that of zlib) is that of the file without the
//!   seal, uncompressed. A file that another tool has changed has no true seal any more, and is
//!   read as one of that tool's.
//!
//! Text is valid UTF-8: what of a path is not is replaced. Same profile, same bytes.

mod error;
mod extension;
mod functions;
mod layout;
mod other;
mod parts;
#[cfg(feature = "serve")]
mod plain;
mod read;
mod saved;
mod schema;
mod seal;
mod strings;
mod wire;
mod write;

pub use error::PprofError;
pub(crate) use layout::Piece;
pub use other::Other;
#[cfg(feature = "serve")]
pub(crate) use plain::PlainFile;
#[cfg(feature = "serve")]
pub use plain::write_rows;
pub(crate) use read::MOST_TICKS;
pub use read::{MOST_BYTES, PprofFile, is_packed, read};
pub use saved::{Record, Saved};
#[doc(hidden)]
pub use seal::sealed_anew;
#[cfg(feature = "serve")]
pub(crate) use wire::Fields;
pub use write::{Packing, write};

/// Texts that are written and looked for.
mod word {
    pub(super) const TICKS: &str = "ticks";
    pub(super) const COUNT: &str = "count";
    pub(super) const CPU: &str = "cpu";
    pub(super) const NANOSECONDS: &str = "nanoseconds";
    pub(super) const MODE: &str = "mode";
    pub(super) const USER: &str = "user";
    pub(super) const SYSTEM: &str = "system";
    pub(super) const PID: &str = "pid";
    pub(super) const TID: &str = "tid";
    pub(super) const TASK: &str = "task";
    pub(super) const COMM: &str = "comm";
    #[cfg(feature = "serve")]
    pub(super) const CGROUP: &str = "cgroup";
    #[cfg(feature = "serve")]
    pub(super) const CONTAINER: &str = "container";
    pub(super) const UNNAMED: &str = "unnamed";
    /// What mappings are called that have no file, as perf(1) and pprof do.
    pub(super) const KERNEL: &str = "[kernel.kallsyms]";
    pub(super) const VDSO: &str = "[vdso]";
    pub(super) const ANONYMOUS: &str = "//anon";
}

#[cfg(test)]
pub(crate) mod tests;
