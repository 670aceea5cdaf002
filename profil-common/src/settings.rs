//! Settings that the user half writes once, before the program is loaded.
//!
//! They are read-only to the kernel, so the verifier knows their values: what is switched off is
//! never translated.

/// How the kernel half finds the user program counter of a tick in kernel mode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SystemPc {
    /// From the task's saved registers, by `bpf_task_pt_regs` (Linux 5.15, with BTF).
    SavedRegisters,
    /// From the first frame of the user stack, by `bpf_get_stack`: slower, on any kernel.
    UserStack,
}

/// Which ticks are wanted: all that `profil` always counted, or those of one mode alone.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Wanted {
    /// User and system time.
    #[default]
    Both,
    /// Ticks while the process runs its own code.
    User,
    /// Ticks while the kernel works for the process, at the user address for which it does.
    System,
    /// Ticks while the kernel works for the process, at the kernel's own address.
    Kernel,
    /// Both: user time at user addresses, system time at the kernel's own.
    Split,
}

/// A [`Wanted`] and a [`SystemPc`] as one number: to read another setting would be another
/// instruction in every program, also where the verifier drops all that follows from it. In this
/// order, because then each question is a comparison or two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Charge {
    /// Both modes; system time by the saved registers.
    Both = 0,
    /// System time alone, by the saved registers.
    System = 1,
    /// User time alone.
    User = 2,
    /// Both modes; system time by the user stack.
    BothByStack = 3,
    /// System time alone, by the user stack.
    SystemByStack = 4,
    /// Both modes; system time where the kernel was.
    Split = 5,
    /// System time alone, where the kernel was.
    Kernel = 6,
}

impl Charge {
    /// Ticks of these modes, those in kernel mode by that way.
    pub const fn new(wanted: Wanted, system_pc: SystemPc) -> Self {
        match (wanted, system_pc) {
            (Wanted::Both, SystemPc::SavedRegisters) => Self::Both,
            (Wanted::Both, SystemPc::UserStack) => Self::BothByStack,
            (Wanted::System, SystemPc::SavedRegisters) => Self::System,
            (Wanted::System, SystemPc::UserStack) => Self::SystemByStack,
            (Wanted::User, _) => Self::User,
            (Wanted::Split, _) => Self::Split,
            (Wanted::Kernel, _) => Self::Kernel,
        }
    }

    /// Whether ticks in user mode are left out, of the charge with this number.
    #[inline(always)]
    pub const fn leaves_out_user(number: u32) -> bool {
        number == Self::System as u32
            || number == Self::SystemByStack as u32
            || number == Self::Kernel as u32
    }

    /// Whether ticks in kernel mode are left out.
    #[inline(always)]
    pub const fn leaves_out_system(number: u32) -> bool {
        number == Self::User as u32
    }

    /// Whether ticks in kernel mode, if they are wanted, are charged to the kernel's own text.
    #[inline(always)]
    pub const fn by_kernel_pc(number: u32) -> bool {
        number >= Self::Split as u32
    }

    /// Whether ticks in kernel mode, if they are wanted, are charged by the saved registers.
    #[inline(always)]
    pub const fn by_saved_registers(number: u32) -> bool {
        number <= Self::System as u32
    }
}

/// The settings of one session. All fields are plain numbers without padding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
    /// A [`Charge`], as its number. The default, 0, is all ticks.
    pub charge: u32,
    /// A [`Dialect`](crate::Dialect), as its number. The default, 0, is ours.
    pub dialect: u32,
    /// Where in the kernel's 64-bit name of a task that number is which strays are told apart by:
    /// [`Settings::BY_PROCESS`] or [`Settings::BY_THREAD`].
    pub task_shift: u32,
    /// So that there is no padding.
    pub unused: u32,
}

const _: () = assert!(size_of::<Settings>() == 2 * 8 + 6 * 4, "no padding");

impl Settings {
    /// The name of the global that holds the settings in the BPF object.
    pub const SYMBOL: &str = "SETTINGS";

    /// Strays are told apart by process.
    pub const BY_PROCESS: u32 = 32;
    /// Strays are told apart by thread.
    pub const BY_THREAD: u32 = 0;
}

impl Default for Settings {
    /// Every process's ticks, told apart by process, in the dialect that is ours, without bins.
    fn default() -> Self {
        Self {
            pid_namespace_device: 0,
            pid_namespace_inode: 0,
            only_tgid: 0,
            bins: 0,
            charge: 0,
            dialect: 0,
            task_shift: Self::BY_PROCESS,
            unused: 0,
        }
    }
}

#[cfg(feature = "user")]
// SAFETY: `Settings` is `repr(C)`, `Copy`, without padding, and every bit pattern is valid.
unsafe impl aya::Pod for Settings {}

#[cfg(test)]
mod tests {
    use super::{Charge, SystemPc, Wanted};

    #[test]
    fn a_charge_is_what_it_was_made_of() {
        for (wanted, without_user, without_system) in [
            (Wanted::Both, false, false),
            (Wanted::User, false, true),
            (Wanted::System, true, false),
            (Wanted::Kernel, true, false),
            (Wanted::Split, false, false),
        ] {
            for system_pc in [SystemPc::SavedRegisters, SystemPc::UserStack] {
                let number = Charge::new(wanted, system_pc) as u32;
                assert_eq!(Charge::leaves_out_user(number), without_user);
                assert_eq!(Charge::leaves_out_system(number), without_system);
                let by_kernel = matches!(wanted, Wanted::Kernel | Wanted::Split);
                assert_eq!(Charge::by_kernel_pc(number), by_kernel);
                if !without_system && !by_kernel {
                    let by_registers = system_pc == SystemPc::SavedRegisters;
                    assert_eq!(Charge::by_saved_registers(number), by_registers);
                }
            }
        }
        assert_eq!(
            Charge::new(Wanted::default(), SystemPc::SavedRegisters) as u32,
            0
        );
    }
}
