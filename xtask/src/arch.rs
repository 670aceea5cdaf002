//! The architectures that we ship for. Everybody has another name for them.

use std::{env, fmt};

use clap::ValueEnum;
use object::elf;

/// An architecture of the machines that the profiler runs on.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(crate) enum Arch {
    /// 64-bit x86
    #[value(name = "x86_64", alias = "amd64")]
    X86_64,
    /// 64-bit Arm
    #[value(name = "aarch64", alias = "arm64")]
    Aarch64,
}

impl Arch {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The one that runs us, if it is one of these.
    pub(crate) fn of_this_machine() -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|arch| arch.name() == env::consts::ARCH)
    }

    /// As Rust and the kernel's `uname` call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Debian calls it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// As the GNU tools call it: the prefix of a cross compiler, a directory of libraries.
    pub(crate) fn gnu(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Aarch64 => "aarch64-linux-gnu",
        }
    }

    /// As rustc calls the target.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// As the head of an ELF file calls it.
    pub(crate) fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => elf::EM_X86_64,
            Self::Aarch64 => elf::EM_AARCH64,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debians_names_are_understood() {
        for arch in Arch::ALL {
            for name in [arch.name(), arch.debian()] {
                assert_eq!(Arch::from_str(name, false), Ok(arch));
            }
        }
    }
}
