//! The kernel half of profil-bpf: entry point, licence and panic handler; the story is in `tick`.

#![no_std]
#![no_main]
#![allow(
    internal_features,
    reason = "there is no stable atomic add on this target"
)]
#![feature(core_intrinsics)]

mod filter;
mod maps;
mod outcome;
mod pc;
mod record;
mod settings;
mod tick;

use aya_ebpf::{macros::perf_event, programs::PerfEventContext};

/// One tick of a cpu-clock perf event.
#[perf_event]
pub fn profil_tick(ctx: PerfEventContext) -> u32 {
    tick::tick(&ctx);
    0
}

/// What the kernel is told: it checks this before it allows the tracing helpers.
#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

/// A panic cannot be expressed in BPF; a loop that the verifier refuses makes one visible at load.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
