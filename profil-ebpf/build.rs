//! Tells the sources which architecture's registers to read, as `cfg(bpf_target_arch)`.

fn main() -> aya_build::Result<()> {
    aya_build::emit_bpf_target_arch_cfg()
}
