//! Settings that the user half writes once, before the program is loaded.
//!
//! They are read-only to the kernel, so the verifier knows their values: what is switched off is
//! never translated.

/// How the kernel half finds the user program counter of a tick in kernel mode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum SystemPc {
    /// From the task's saved registers, by `bpf_task_pt_regs` (Linux 5.15, with BTF).
    SavedRegisters = 0,
    /// From the first frame of the user stack, by `bpf_get_stack`: slower, on any kernel.
    UserStack = 1,
}

/// The settings of one session. All fields are plain numbers without padding.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Settings {
    /// Device of the PID namespace to count processes in, or 0 for the initial namespace.
    pub pid_namespace_device: u64,
    /// Inode of that namespace.
    pub pid_namespace_inode: u64,
    /// The only process to count, or 0 when the clock follows tasks and is itself the filter.
    pub only_tgid: u32,
    /// Bins of all regions together. Ticks in system mode lie that many bins higher.
    pub bins: u32,
    /// A [`SystemPc`], as its number.
    pub system_pc: u32,
    /// A [`Dialect`](crate::Dialect), as its number. The default, 0, is ours.
    pub dialect: u32,
}

const _: () = assert!(size_of::<Settings>() == 2 * 8 + 4 * 4, "no padding");

impl Settings {
    /// The name of the global that holds the settings in the BPF object.
    pub const SYMBOL: &str = "SETTINGS";
}

#[cfg(feature = "user")]
// SAFETY: `Settings` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for Settings {}
