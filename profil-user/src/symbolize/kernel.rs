//! Names of the running kernel, its modules and its BPF programs, from `/proc/kallsyms`.

use blazesym::{
    MaybeDefault,
    symbolize::{
        Input, Symbolized, Symbolizer,
        source::{Kernel, Source},
    },
};

use super::{Name, WhyUnnamed, symbols::function, texts::Texts};

/// The names of addresses of the kernel's. A symbol has no size there: it reaches up to the next.
pub(super) fn names(blazesym: &Symbolizer, addresses: &[u64], texts: &mut Texts) -> Vec<Name> {
    let kernel = Kernel {
        // Its debug information is seldom there, and takes long to read.
        vmlinux: MaybeDefault::None,
        debug_syms: false,
        ..Kernel::default()
    };
    let found = blazesym.symbolize(&Source::Kernel(kernel), Input::AbsAddr(addresses));
    let Ok(found) = found else {
        return vec![Name::Unnamed(WhyUnnamed::KernelHidden); addresses.len()];
    };
    let mut name = |found: &Symbolized<'_>| match found {
        Symbolized::Sym(symbol) => function(symbol, texts),
        Symbolized::Unknown(_) => Name::Unnamed(WhyUnnamed::KernelHidden),
    };
    found.iter().map(&mut name).collect()
}
