//! The C face of profil-bpf: `libprofil_bpf.so`, with `include/profil_bpf.h`.
//!
//! [`attach`] is for programs that profile a process; [`dropin`] and [`gmon`] stand in for the C
//! library's `profil`, `sprofil`, `monstartup`, `moncontrol` and `_mcleanup` in programs that profile
//! themselves and know nothing of us (`docs/decisions/0011-the-c-face.md`). Such a program
//! gets no signal; what it gets is one thread (`session`) that carries what was counted into its
//! buffer.
//!
//! Nothing unwinds into C (`failure::guarded`), nothing is logged, and a program that does not call any
//! of the functions is left as it was.

pub mod attach;
pub mod dropin;
pub mod failure;
pub mod gmon;
mod next;
mod session;
mod settings;
mod sink;
