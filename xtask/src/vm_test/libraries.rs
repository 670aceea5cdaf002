//! The shared libraries that programs need, found among unpacked packages: all of them, or an
//! error that names the missing one.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use object::elf::EM_386;

use crate::{arch::Arch, elf::Needs};

/// A program of the guest, or a library that it loads by itself.
#[derive(Debug)]
pub(super) struct Program {
    /// Its path in the guest.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Program {
    /// Takes a file of this machine as `name` of the guest.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn read(file: &Path, name: &str) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
        })
    }
}

/// What loads the programs, and what it loads for them.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// The loaders, by the paths that the programs name.
    pub(super) loaders: BTreeMap<String, Vec<u8>>,
    /// The libraries, by name.
    pub(super) libraries: BTreeMap<String, Vec<u8>>,
}

/// All libraries below a directory of unpacked packages.
#[derive(Debug)]
pub(super) struct Libraries {
    arch: Arch,
    by_name: BTreeMap<String, PathBuf>,
}

impl Libraries {
    /// Looks through `root`.
    ///
    /// # Errors
    ///
    /// If a directory cannot be read.
    pub(super) fn below(root: &Path, arch: Arch) -> Result<Self> {
        let mut libraries = Self {
            arch,
            by_name: BTreeMap::new(),
        };
        libraries.add(root, root)?;
        Ok(libraries)
    }

    fn add(&mut self, root: &Path, dir: &Path) -> Result<()> {
        let entries =
            fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add(root, &entry.path())?;
            } else if name.contains(".so") {
                let mut path = entry.path();
                if let Ok(target) = fs::read_link(&path) {
                    // An absolute link means the guest's root, not ours.
                    path = match target.strip_prefix("/") {
                        Ok(inside) => root.join(inside),
                        Err(_) => dir.join(target),
                    };
                }
                if path.is_file() {
                    self.by_name.entry(name).or_insert(path);
                }
            }
        }
        Ok(())
    }

    /// Everything that `programs` need, and what that needs in turn. A library that is one of
    /// `programs` itself is not looked for.
    ///
    /// # Errors
    ///
    /// If something is missing, damaged, or for another architecture.
    pub(super) fn needed_by(&self, programs: &[Program]) -> Result<Needed> {
        let mut needed = Needed::default();
        // A debug file has the headers of its program, but nothing of what they tell of.
        let run = |program: &&Program| !program.name.ends_with(".debug");
        for program in programs.iter().filter(run) {
            self.follow(&program.name, &program.bytes, programs, &mut needed)?;
        }
        Ok(needed)
    }

    fn follow(
        &self,
        user: &str,
        bytes: &[u8],
        programs: &[Program],
        needed: &mut Needed,
    ) -> Result<()> {
        let Some(needs) = Needs::of(bytes).with_context(|| format!("cannot read {user}"))? else {
            return Ok(());
        };
        // The kernel runs such programs too, but the guest has no 32-bit libraries.
        let narrow = self.arch == Arch::X86_64 && needs.machine == EM_386;
        if narrow && needs.check_static().is_ok() {
            return Ok(());
        }
        needs
            .check_machine(self.arch)
            .with_context(|| format!("{user} is no use"))?;
        if let Some(path) = needs.interpreter
            && !needed.loaders.contains_key(&path)
        {
            let name = file_name(&path);
            needed.loaders.insert(path.clone(), self.read(name, user)?);
        }
        for name in needs.libraries {
            let is_a_program = |program: &Program| file_name(&program.name) == name;
            if needed.libraries.contains_key(&name) || programs.iter().any(is_a_program) {
                continue;
            }
            let library = self.read(&name, user)?;
            needed.libraries.insert(name.clone(), library.clone());
            self.follow(&name, &library, programs, needed)?;
        }
        Ok(())
    }

    /// A library that nothing names, but that something loads when it is needed.
    ///
    /// # Errors
    ///
    /// If it is missing.
    pub(super) fn program(&self, name: &str, path: &str) -> Result<Program> {
        Ok(Program {
            name: path.to_owned(),
            bytes: self.read(name, "the C library")?,
        })
    }

    fn read(&self, name: &str, user: &str) -> Result<Vec<u8>> {
        let Some(path) = self.by_name.get(name) else {
            bail!("{user} needs {name}, which is in none of the unpacked packages");
        };
        fs::read(path).with_context(|| format!("cannot read {}", path.display()))
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn we() -> Program {
        Program::read(Path::new("/proc/self/exe"), "/bin/we").expect("we have been started")
    }

    #[test]
    fn a_missing_library_is_named() {
        let arch = Arch::of_this_machine().expect("one of those that we ship for");
        let none = Libraries {
            arch,
            by_name: BTreeMap::new(),
        };
        let error = none.needed_by(&[we()]).expect_err("we need a loader");
        let words = error.to_string();
        assert!(words.starts_with("/bin/we needs ld-linux"), "{words}");
        let script = Program {
            name: "/bin/script".into(),
            bytes: b"#!/bin/sh\n".to_vec(),
        };
        let needed = none.needed_by(&[script]).expect("a script needs nothing");
        assert!(needed.libraries.is_empty() && needed.loaders.is_empty());
    }

    #[test]
    fn what_a_library_needs_is_needed_too() {
        let arch = Arch::of_this_machine().expect("one of those that we ship for");
        let system = Libraries::below(&Path::new("/lib").join(arch.gnu()), arch)
            .expect("this machine has libraries");
        let needed = system.needed_by(&[we()]).expect("we run here");
        assert_eq!(needed.loaders.len(), 1);
        assert!(needed.libraries.contains_key("libc.so.6"));
        // Ours does not name it, but the C library does.
        let loader = |name: &String| name.starts_with("ld-linux");
        assert!(needed.libraries.keys().any(loader));
    }
}
