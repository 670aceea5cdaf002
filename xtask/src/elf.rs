//! What an ELF file asks of the system that runs it.

use anyhow::{Context as _, Result, bail, ensure};
use object::{
    Endianness, FileKind,
    elf::{self, FileHeader32, FileHeader64},
    read::elf::{ElfFile, FileHeader, ProgramHeader as _},
};

use crate::arch::Arch;

/// The head of every ELF file.
const MAGIC: &[u8] = b"\x7fELF";

/// What a program or a library needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Needs {
    /// One of object's `EM_…`.
    pub(crate) machine: u16,
    /// The program that loads it, for a dynamic executable.
    pub(crate) interpreter: Option<String>,
    /// The libraries it names.
    pub(crate) libraries: Vec<String>,
}

impl Needs {
    /// Reads them from a file's bytes. `None` if it is not an ELF file, such as a script.
    ///
    /// # Errors
    ///
    /// If it is a damaged one.
    pub(crate) fn of(bytes: &[u8]) -> Result<Option<Self>> {
        if !bytes.starts_with(MAGIC) {
            return Ok(None);
        }
        let damaged = "not an ELF file that can be read";
        match FileKind::parse(bytes).context(damaged)? {
            FileKind::Elf32 => Self::read::<FileHeader32<Endianness>>(bytes),
            FileKind::Elf64 => Self::read::<FileHeader64<Endianness>>(bytes),
            _ => bail!(damaged),
        }
        .map(Some)
    }

    fn read<Header>(bytes: &[u8]) -> Result<Self>
    where
        Header: FileHeader<Endian = Endianness>,
    {
        let file = ElfFile::<Header>::parse(bytes)?;
        let endian = file.endian();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut interpreter = None;
        for header in file.elf_program_headers() {
            if let Some(path) = header.interpreter(endian, bytes)? {
                interpreter = Some(text(path));
            }
        }
        let dynamic = file.elf_dynamic_table()?;
        let mut libraries = Vec::new();
        for entry in &dynamic {
            if entry.tag == elf::DT_NEEDED {
                libraries.push(text(dynamic.string(entry)?));
            }
        }
        Ok(Self {
            machine: file.elf_header().e_machine(endian),
            interpreter,
            libraries,
        })
    }

    /// # Errors
    ///
    /// If the file is for another architecture.
    pub(crate) fn check_machine(&self, arch: Arch) -> Result<()> {
        ensure!(
            self.machine == arch.elf_machine(),
            "it is for the ELF machine {}, and {arch} is {}",
            self.machine,
            arch.elf_machine()
        );
        Ok(())
    }

    /// # Errors
    ///
    /// If the file needs anything besides a kernel.
    pub(crate) fn check_static(&self) -> Result<()> {
        if let Some(interpreter) = &self.interpreter {
            bail!("it is not static: it is loaded by {interpreter}");
        }
        if !self.libraries.is_empty() {
            bail!("it is not static: it needs {}", self.libraries.join(", "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_a_dynamic_program_of_this_machine() {
        let bytes = std::fs::read("/proc/self/exe").expect("we have been started from a file");
        let needs = Needs::of(&bytes).expect("we run").expect("we are ELF");
        assert!(needs.interpreter.is_some());
        assert!(needs.libraries.iter().any(|name| name == "libc.so.6"));
        assert!(needs.check_static().is_err());
        for arch in Arch::ALL {
            let is_ours = Arch::of_this_machine() == Some(arch);
            assert_eq!(needs.check_machine(arch).is_ok(), is_ours);
        }
    }

    #[test]
    fn libraries_alone_make_it_dynamic() {
        let mut needs = Needs::default();
        assert!(needs.check_static().is_ok());
        needs.libraries.push("libc.so.6".into());
        let error = needs.check_static().expect_err("it needs a library");
        assert_eq!(error.to_string(), "it is not static: it needs libc.so.6");
    }

    #[test]
    fn a_script_needs_nothing_and_a_stump_is_an_error() {
        assert_eq!(Needs::of(b"#!/bin/sh\n").expect("no ELF, no error"), None);
        assert!(Needs::of(MAGIC).is_err());
    }
}
