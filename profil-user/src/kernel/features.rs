//! What this kernel can do. Asked of the kernel, by trying: distributions bring features to old
//! versions and leave them out of new ones.

use std::{
    fs, io,
    os::fd::{AsFd as _, OwnedFd},
    thread,
    time::Duration,
};

use aya_obj::generated::{
    BPF_ALU64, BPF_CALL, BPF_EXIT, BPF_F_MMAPABLE, BPF_JMP, BPF_K, BPF_MOV, BPF_X, bpf_func_id,
    bpf_insn, bpf_map_type,
};

use super::{
    bpf::{self, Code},
    event, memlock, probe,
};
use crate::options::Rate;

/// Something that a kernel has or has not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Feature {
    /// BPF at all.
    Bpf,
    /// Perf events at all.
    PerfEvents,
    /// BPF programs that run on perf events.
    PerfEventPrograms,
    /// Arrays that can be mapped into memory, so that reading them takes no system call.
    MappableArrays,
    /// The ring buffer that the kernel half logs to.
    RingBuffers,
    /// A helper for the registers with which a task entered the kernel.
    SavedRegisters,
    /// The kernel's description of its own types, which [`Self::SavedRegisters`] takes.
    KernelTypes,
    /// Links between programs and perf events that can be pinned.
    PerfLinks,
    /// `CAP_BPF` and `CAP_PERFMON` apart from `CAP_SYS_ADMIN`.
    SmallCapabilities,
    /// Maps that do not count against `RLIMIT_MEMLOCK`.
    FreeMaps,
}

/// Whether a [`Feature`] is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    Absent,
    /// We may not try.
    Unknown,
}

impl Feature {
    /// All of them, those that others build on first.
    pub const ALL: [Self; 10] = [
        Self::Bpf,
        Self::PerfEvents,
        Self::PerfEventPrograms,
        Self::MappableArrays,
        Self::RingBuffers,
        Self::SavedRegisters,
        Self::KernelTypes,
        Self::PerfLinks,
        Self::SmallCapabilities,
        Self::FreeMaps,
    ];

    /// Those without which the kernel half cannot be loaded.
    pub(super) const NEEDED_TO_LOAD: [Self; 4] = [
        Self::Bpf,
        Self::PerfEventPrograms,
        Self::MappableArrays,
        Self::RingBuffers,
    ];

    /// What it is called, by the kernel's own words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf(2)",
            Self::PerfEvents => "perf_event_open(2)",
            Self::PerfEventPrograms => "BPF programs on perf events",
            Self::MappableArrays => "BPF arrays that can be mapped (BPF_F_MMAPABLE)",
            Self::RingBuffers => "BPF ring buffers",
            Self::SavedRegisters => "saved registers of a task in BPF (bpf_task_pt_regs)",
            Self::KernelTypes => "type information of the kernel (BTF)",
            Self::PerfLinks => "BPF links to perf events",
            Self::SmallCapabilities => "CAP_BPF and CAP_PERFMON",
            Self::FreeMaps => "BPF maps outside of RLIMIT_MEMLOCK",
        }
    }

    /// What is done without it. `None` if nothing can be done.
    pub const fn instead(self) -> Option<&'static str> {
        match self {
            Self::Bpf
            | Self::PerfEvents
            | Self::PerfEventPrograms
            | Self::MappableArrays
            | Self::RingBuffers => None,
            Self::SavedRegisters => Some("system time is charged by the user stack"),
            Self::KernelTypes => Some("nothing but the saved registers needs it"),
            Self::PerfLinks => Some("programs are attached by ioctl, here and everywhere"),
            Self::SmallCapabilities => Some("CAP_SYS_ADMIN is needed"),
            Self::FreeMaps => Some("RLIMIT_MEMLOCK is raised as far as allowed"),
        }
    }

    /// The Linux version that brought it, and the option it is built with if it is one.
    pub const fn since(self) -> &'static str {
        match self {
            Self::Bpf => "3.18 with CONFIG_BPF_SYSCALL",
            Self::PerfEvents => "2.6.31 with CONFIG_PERF_EVENTS",
            Self::PerfEventPrograms => "4.9 with CONFIG_BPF_EVENTS",
            Self::MappableArrays => "5.5",
            Self::RingBuffers => "5.8",
            Self::SavedRegisters => "5.15 with CONFIG_DEBUG_INFO_BTF",
            Self::KernelTypes => "5.2 with CONFIG_DEBUG_INFO_BTF",
            Self::PerfLinks => "5.15",
            Self::SmallCapabilities => "5.8",
            Self::FreeMaps => "5.11",
        }
    }

    /// Tries it. Nothing stays behind.
    pub fn presence(self) -> Presence {
        // Else what counts against the limit could not be told from what is not there.
        memlock::raise();
        match self {
            Self::Bpf => presence(&array(0), &[libc::ENOSYS], Presence::Present),
            Self::PerfEvents => presence(
                &event::try_own_thread(Rate::DEFAULT),
                &[libc::ENOSYS],
                Presence::Unknown,
            ),
            Self::PerfEventPrograms => {
                presence(&program(&[zero(), exit()]), REFUSED, Presence::Unknown)
            }
            Self::MappableArrays => presence(&array(BPF_F_MMAPABLE), REFUSED, Presence::Unknown),
            Self::RingBuffers => presence(&ring_buffer(), REFUSED, Presence::Unknown),
            Self::SavedRegisters => {
                presence(&saved_registers_program(), REFUSED, Presence::Unknown)
            }
            Self::KernelTypes => yes_or_no(fs::metadata("/sys/kernel/btf/vmlinux").is_ok()),
            Self::PerfLinks => match program(&[zero(), exit()]) {
                // A kernel that knows such links gets as far as to miss the event.
                Ok(program) => match bpf::link_to_no_event(program.as_fd()).raw_os_error() {
                    Some(libc::EBADF) => Presence::Present,
                    Some(libc::EINVAL) => Presence::Absent,
                    _ => Presence::Unknown,
                },
                Err(_) => Presence::Unknown,
            },
            Self::SmallCapabilities => probe::last_capability()
                .map_or(Presence::Unknown, |last| yes_or_no(last >= probe::BPF)),
            Self::FreeMaps => match (patiently(|| array(0)), memlock::without_any(|| array(0))) {
                (Ok(_), Some(Ok(_))) => Presence::Present,
                (Ok(_), Some(Err(_))) => Presence::Absent,
                _ => Presence::Unknown,
            },
        }
    }
}

/// What a kernel says to a kind, a flag or a helper that it does not know.
const REFUSED: &[i32] = &[libc::EINVAL, libc::ENOSYS];

const fn yes_or_no(yes: bool) -> Presence {
    if yes {
        Presence::Present
    } else {
        Presence::Absent
    }
}

/// What the result of a try means, if `absent` are the errors that mean that it is not there, and
/// any other error means `otherwise`.
fn presence<T>(tried: &io::Result<T>, absent: &[i32], otherwise: Presence) -> Presence {
    match tried {
        Ok(_) => Presence::Present,
        Err(error) => match error.raw_os_error() {
            Some(number) if absent.contains(&number) => Presence::Absent,
            _ => otherwise,
        },
    }
}

/// Tries again for a while what is not permitted. Where maps count against a limit, the memory of
/// those that are gone is given back late.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const TRIES: usize = 40;
    const PAUSE: Duration = Duration::from_millis(5);
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => thread::sleep(PAUSE),
            result => return result,
        }
    }
    attempt()
}

fn array(flags: u32) -> io::Result<OwnedFd> {
    bpf::create_array(bpf_map_type::BPF_MAP_TYPE_ARRAY, (4, 8), 1, flags)
}

fn ring_buffer() -> io::Result<OwnedFd> {
    let bytes = rustix::param::page_size() as u32;
    bpf::create_array(bpf_map_type::BPF_MAP_TYPE_RINGBUF, (0, 0), bytes, 0)
}

/// Loads a program of a few instructions.
fn program(instructions: &[bpf_insn]) -> io::Result<OwnedFd> {
    let code = Code {
        name: "profil_probe",
        instructions,
        lines: None,
    };
    bpf::load_program(&code, &mut [], 0)
}

/// A program that asks for the saved registers of the current task.
fn saved_registers_program() -> io::Result<OwnedFd> {
    program(&[
        helper(bpf_func_id::BPF_FUNC_get_current_task_btf),
        // The result is the next call's argument.
        instruction(BPF_ALU64 | BPF_MOV | BPF_X, (1, 0), 0),
        helper(bpf_func_id::BPF_FUNC_task_pt_regs),
        zero(),
        exit(),
    ])
}

fn helper(id: bpf_func_id) -> bpf_insn {
    instruction(BPF_JMP | BPF_CALL, (0, 0), id as i32)
}

/// The result is zero.
fn zero() -> bpf_insn {
    instruction(BPF_ALU64 | BPF_MOV | BPF_K, (0, 0), 0)
}

fn exit() -> bpf_insn {
    instruction(BPF_JMP | BPF_EXIT, (0, 0), 0)
}

/// An instruction on a destination and a source register (RFC 9669).
fn instruction(code: u32, (destination, source): (u8, u8), immediate: i32) -> bpf_insn {
    bpf_insn {
        code: code as u8,
        _bitfield_align_1: [],
        _bitfield_1: bpf_insn::new_bitfield_1(destination, source),
        off: 0,
        imm: immediate,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use aya_obj::generated::bpf_func_id;

    use super::{Feature, Presence, REFUSED, exit, helper, presence};

    fn said(number: i32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(number))
    }

    #[test]
    fn a_refusal_is_told_from_a_prohibition() {
        assert_eq!(
            presence(&Ok(()), REFUSED, Presence::Unknown),
            Presence::Present
        );
        let no_such_kind = said(libc::EINVAL);
        assert_eq!(
            presence(&no_such_kind, REFUSED, Presence::Unknown),
            Presence::Absent
        );
        let not_for_you = said(libc::EPERM);
        assert_eq!(
            presence(&not_for_you, REFUSED, Presence::Unknown),
            Presence::Unknown
        );
        // That bpf(2) may not be called proves that it is there.
        assert_eq!(
            presence(&not_for_you, &[libc::ENOSYS], Presence::Present),
            Presence::Present
        );
        assert_eq!(
            presence(&said(libc::ENOSYS), &[libc::ENOSYS], Presence::Present),
            Presence::Absent
        );
    }

    #[test]
    fn every_feature_is_listed_once_and_has_a_name_of_its_own() {
        for (index, feature) in Feature::ALL.iter().enumerate() {
            assert!(!Feature::ALL[..index].contains(feature));
            assert!(
                Feature::ALL[..index]
                    .iter()
                    .all(|other| other.name() != feature.name())
            );
        }
    }

    #[test]
    fn instructions_are_those_of_the_standard() {
        let call = helper(bpf_func_id::BPF_FUNC_get_current_task_btf);
        assert_eq!(
            (call.code, call.dst_reg(), call.src_reg(), call.imm),
            (0x85, 0, 0, 158)
        );
        assert_eq!(exit().code, 0x95);
    }
}
