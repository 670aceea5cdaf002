//! The kernel half of profil-bpf: the entry point; the story is in `tick`.

#![no_std]
#![no_main]
#![allow(
    internal_features,
    reason = "there is no stable atomic add on this target"
)]
#![feature(core_intrinsics)]

mod classic;
mod declaration;
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
