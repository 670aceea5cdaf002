//! What every object declares, whatever it is for: a licence, and what a panic is.

/// What the kernel is told: it checks this before it allows the tracing helpers.
#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

/// A panic cannot be expressed in BPF; a loop that the verifier refuses makes one visible at load.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
