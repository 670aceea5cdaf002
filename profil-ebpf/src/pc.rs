//! The program counter of a tick, per architecture.
//!
//! A tick in user mode has it in the interrupted registers. A tick in kernel mode is charged, as
//! `profil` always did, to the user address at which the process will go on: the instruction
//! after the system call, or the one that faulted; or, where the kernel's own text is what is looked
//! at, to the kernel's address, as readprofile(8) had it.

use aya_ebpf::{
    EbpfContext as _,
    bindings::BPF_F_USER_STACK,
    helpers::generated::{bpf_get_current_task_btf, bpf_get_stack, bpf_task_pt_regs},
    programs::PerfEventContext,
};
use profil_common::{Charge, Mode, Outcome};

use crate::settings;

#[cfg(bpf_target_arch = "x86_64")]
mod arch {
    use aya_ebpf::{bindings::pt_regs, programs::PerfEventContext};

    pub type Registers = pt_regs;

    /// The privilege level that was interrupted is in the low bits of the code segment.
    const USER_PRIVILEGE: u64 = 3;

    #[inline(always)]
    pub fn is_user(ctx: &PerfEventContext) -> bool {
        // SAFETY: the context is the kernel's and outlives the run.
        unsafe { (*ctx.ctx).regs.cs & USER_PRIVILEGE != 0 }
    }

    #[inline(always)]
    pub fn interrupted_pc(ctx: &PerfEventContext) -> u64 {
        // SAFETY: as above.
        unsafe { (*ctx.ctx).regs.rip }
    }

    /// # Safety
    ///
    /// `registers` is what `bpf_task_pt_regs` returned.
    #[inline(always)]
    pub unsafe fn saved_pc(registers: *const Registers) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { (*registers).rip }
    }
}

#[cfg(bpf_target_arch = "aarch64")]
mod arch {
    use aya_ebpf::{bindings::user_pt_regs, programs::PerfEventContext};

    /// The kernel's `pt_regs` begins with these.
    pub type Registers = user_pt_regs;

    /// The exception level and the register width that were interrupted; user mode is EL0.
    const EXCEPTION_LEVEL: u64 = 0xc;

    #[inline(always)]
    pub fn is_user(ctx: &PerfEventContext) -> bool {
        // SAFETY: the context is the kernel's and outlives the run.
        unsafe { (*ctx.ctx).regs.pstate & EXCEPTION_LEVEL == 0 }
    }

    #[inline(always)]
    pub fn interrupted_pc(ctx: &PerfEventContext) -> u64 {
        // SAFETY: as above.
        unsafe { (*ctx.ctx).regs.pc }
    }

    /// # Safety
    ///
    /// `registers` is what `bpf_task_pt_regs` returned.
    #[inline(always)]
    pub unsafe fn saved_pc(registers: *const Registers) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { (*registers).pc }
    }
}

/// Returns the program counter to charge and the mode the tick was in, or why the tick has
/// none that is wanted.
#[inline(always)]
pub fn program_counter(ctx: &PerfEventContext) -> Result<(u64, Mode), Outcome> {
    let charge = settings::charge();
    if arch::is_user(ctx) {
        if Charge::leaves_out_user(charge) {
            return Err(left_out());
        }
        return Ok((arch::interrupted_pc(ctx), Mode::User));
    }
    if Charge::leaves_out_system(charge) {
        return Err(left_out());
    }
    if Charge::by_kernel_pc(charge) {
        return Ok((arch::interrupted_pc(ctx), Mode::System));
    }
    let pc = if Charge::by_saved_registers(charge) {
        from_saved_registers()
    } else {
        from_user_stack(ctx)
    };
    // A task without user registers, and one whose registers exec has just cleared, has zero.
    if pc == 0 {
        Err(Outcome::NoUserPc)
    } else {
        Ok((pc, Mode::System))
    }
}

/// What becomes of a tick in the mode that is not wanted.
#[inline(always)]
fn left_out() -> Outcome {
    // Without an effect of its own this way would be merged with others, and the verifier leaves
    // a branch in the program if there is another way to where it goes.
    settings::charge();
    Outcome::OtherMode
}

#[inline(always)]
fn from_saved_registers() -> u64 {
    // SAFETY: the current task is never null, and its registers live in its kernel stack.
    unsafe {
        let task = bpf_get_current_task_btf();
        let registers = bpf_task_pt_regs(task) as *const arch::Registers;
        arch::saved_pc(registers)
    }
}

#[inline(always)]
fn from_user_stack(ctx: &PerfEventContext) -> u64 {
    let mut frame = 0_u64;
    // SAFETY: the helper writes at most the size that it is given.
    let written = unsafe {
        bpf_get_stack(
            ctx.as_ptr(),
            (&raw mut frame).cast(),
            size_of::<u64>() as u32,
            u64::from(BPF_F_USER_STACK),
        )
    };
    if written == size_of::<u64>() as i64 {
        frame
    } else {
        0
    }
}
