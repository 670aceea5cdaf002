//! The formulas of the dialects for the tests, in an object of their own: the product neither
//! loads it nor holds it.
//!
//! A perf event's program cannot be run on request, one for packets can (`BPF_PROG_TEST_RUN`), and
//! its data goes in and comes back. So the very function that counts ticks runs here, translated
//! by the same compiler, verifier and JIT.

#![no_std]
#![no_main]

mod declaration;

use aya_ebpf::{
    bindings::xdp_action::{XDP_ABORTED, XDP_PASS},
    macros::xdp,
    programs::XdpContext,
};
use profil_common::Trial;

/// Answers the question in a packet.
#[xdp]
pub fn profil_trial(ctx: XdpContext) -> u32 {
    let start = ctx.data();
    // The verifier wants to see this comparison before it allows a look at the data.
    if start + size_of::<Trial>() > ctx.data_end() {
        return XDP_ABORTED;
    }
    // SAFETY: the packet has that many bytes, any bytes are a question, and packets of a test run
    // begin at a multiple of eight.
    let trial = unsafe { &mut *(start as *mut Trial) };
    trial.answer();
    XDP_PASS
}
