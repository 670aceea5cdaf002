//! Building for another architecture than this machine's: the standard library from rustup, and
//! Debian's cross compiler.
//!
//! The compiler is unpacked, not installed: as a package it would drive out `gcc-multilib`. It
//! finds its own parts relative to itself.

use std::{
    env,
    ffi::OsString,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::{arch::Arch, debian_archive::Archive, exec, workspace};

/// The C compiler for an architecture.
#[derive(Debug)]
pub(crate) struct Compiler {
    arch: Arch,
    /// Where the cross compiler is unpacked; none where the machine's own one will do.
    root: Option<PathBuf>,
}

impl Compiler {
    /// Finds the compiler for `arch`, or unpacks it.
    ///
    /// # Errors
    ///
    /// If it cannot be fetched, or does not work.
    pub(crate) fn provide(arch: Arch) -> Result<Self> {
        let host = Arch::of_this_machine();
        if host == Some(arch) {
            return Ok(Self { arch, root: None });
        }
        let root = workspace::target_dir().join("vm/cross").join(arch.debian());
        let compiler = Self {
            arch,
            root: Some(root.clone()),
        };
        if !compiler.works()? {
            fetch(arch, &root)?;
            ensure!(
                compiler.works()?,
                "{} does not compile: it needs the libraries of this machine's own gcc, \
                 `apt-get install gcc`",
                compiler.tool("gcc").display()
            );
        }
        Ok(compiler)
    }

    /// Tells a cargo that builds for our architecture what links, and what compiles the C in
    /// dependencies.
    ///
    /// # Errors
    ///
    /// If the environment cannot be set up.
    pub(crate) fn set_up_cargo(&self, cargo: &mut Command) -> Result<()> {
        if self.root.is_some() {
            let target = self.arch.triple().replace('-', "_");
            cargo
                .env(cargo_variable(self.arch, "LINKER"), self.tool("gcc"))
                .env(format!("CC_{target}"), self.tool("gcc"))
                .env(format!("AR_{target}"), self.tool("ar"));
        }
        self.set_up_libraries(cargo)
    }

    /// Tells a command that compiles C with `$CC` and plain `strip` to do so for our architecture.
    ///
    /// # Errors
    ///
    /// If the environment cannot be set up.
    pub(crate) fn set_up(&self, command: &mut Command) -> Result<()> {
        if let Some(root) = &self.root {
            command.env("CC", self.tool("gcc"));
            let plain = root.join("usr").join(self.arch.gnu()).join("bin");
            prepend(command, "PATH", plain)?;
        }
        self.set_up_libraries(command)
    }

    /// The assembler and the linker look for their own libraries where the package would have put
    /// them.
    fn set_up_libraries(&self, command: &mut Command) -> Result<()> {
        if let (Some(root), Some(host)) = (&self.root, Arch::of_this_machine()) {
            let libraries = root.join("usr/lib").join(host.gnu());
            prepend(command, "LD_LIBRARY_PATH", libraries)?;
        }
        Ok(())
    }

    fn tool(&self, name: &str) -> PathBuf {
        match &self.root {
            Some(root) => root.join(format!("usr/bin/{}-{name}", self.arch.gnu())),
            None => name.into(),
        }
    }

    /// Whether it makes an executable.
    fn works(&self) -> Result<bool> {
        let mut command = Command::new(self.tool("gcc"));
        self.set_up(&mut command)?;
        command.args(["-x", "c", "-o", "/dev/null", "-"]);
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            return Ok(false);
        };
        let sent = match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(b"int main(void) { return 0; }\n").is_ok(),
            None => false,
        };
        let status = child.wait().context("cannot wait for the compiler")?;
        Ok(sent && status.success())
    }
}

fn prepend(command: &mut Command, variable: &str, dir: PathBuf) -> Result<()> {
    let dirs = env::var_os(variable).unwrap_or_default();
    let others = env::split_paths(&dirs).filter(|dir| !dir.as_os_str().is_empty());
    let dirs = env::join_paths(std::iter::once(dir).chain(others));
    command.env(
        variable,
        dirs.with_context(|| format!("{variable} cannot hold it"))?,
    );
    Ok(())
}

/// The name of the variable that sets something for one target only. Build scripts and procedural
/// macros are built for this machine, and do not get it.
pub(crate) fn cargo_variable(arch: Arch, what: &str) -> String {
    let triple = arch.triple().replace('-', "_").to_uppercase();
    format!("CARGO_TARGET_{triple}_{what}")
}

/// Adds the standard library for `arch` to the toolchain in use.
///
/// # Errors
///
/// If it is missing and rustup does not add it; the error names the command.
pub(crate) fn provide_std(arch: Arch) -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| {
        let cargo = workspace::cargo_program();
        let beside = Path::new(&cargo).with_file_name("rustc");
        if beside.exists() {
            beside.into()
        } else {
            OsString::from("rustc")
        }
    });
    let libdir = || -> Result<PathBuf> {
        let mut command = Command::new(&rustc);
        command.args(["--print", "target-libdir", "--target", arch.triple()]);
        Ok(exec::output(&mut command)?.trim_end().into())
    };
    if holds_std(&libdir()?) {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", arch.triple()]);
    exec::run(&mut rustup)
        .and_then(|()| {
            ensure!(holds_std(&libdir()?), "it did not reach this toolchain");
            Ok(())
        })
        .map_err(|error| {
            anyhow!(
                "the standard library for {arch} is missing, and `{}` does not add it: {error:#}",
                exec::shown(&rustup)
            )
        })
}

fn holds_std(libdir: &Path) -> bool {
    let Ok(files) = fs::read_dir(libdir) else {
        return false;
    };
    files
        .flatten()
        .any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
}

/// Unpacks the compiler, its C library and its headers: whatever version is the default one here.
fn fetch(arch: Arch, root: &Path) -> Result<()> {
    let host = Arch::of_this_machine().context("Debian has no cross compiler for this machine")?;
    eprintln!(
        "xtask: fetching the C compiler for {arch} to {}",
        root.display()
    );
    // Package names have no underscores.
    let gnu = arch.gnu().replace('_', "-");
    let libraries = format!("-{}-cross", arch.debian());
    let archive = Archive::of_this_system(host)?;
    let packages = archive.closure(
        &[&format!("gcc-{gnu}"), &format!("libc6-dev{libraries}")],
        |name| name.contains(&gnu) || name.ends_with(&libraries),
    )?;
    let _ = fs::remove_dir_all(root);
    archive.unpack(&packages, &[], root)?;
    relocate(&root.join("usr").join(arch.gnu()).join("lib"))
}

/// `libc.so` is a script that names the libraries by where the package would have put them; by
/// their names alone, the linker looks for them beside it.
fn relocate(libraries: &Path) -> Result<()> {
    let files = fs::read_dir(libraries);
    let files = files.with_context(|| format!("cannot list {}", libraries.display()))?;
    for file in files {
        let path = file?.path();
        // Most of them are libraries, and some are links that lead nowhere.
        let Ok(script) = fs::read_to_string(&path) else {
            continue;
        };
        if script.starts_with("/* GNU ld script") {
            fs::write(&path, without_directories(&script))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn without_directories(script: &str) -> String {
    let word = |word: &str| match word.rsplit_once('/') {
        Some((dir, name))
            if dir.starts_with('/') && (name.contains(".so") || name.ends_with(".a")) =>
        {
            name.to_owned()
        }
        _ => word.to_owned(),
    };
    let lines = script.lines().map(|line| {
        let words: Vec<_> = line.split(' ').map(word).collect();
        words.join(" ") + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_told_about_one_target() {
        assert_eq!(
            cargo_variable(Arch::Aarch64, "LINKER"),
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"
        );
    }

    #[test]
    fn scripts_name_files_not_places() {
        let script = "/* GNU ld script\n   Use the shared library, see lib/x */\n\
             OUTPUT_FORMAT(elf64-littleaarch64)\n\
             GROUP ( /usr/a/lib/libc.so.6 /usr/a/lib/libc_nonshared.a AS_NEEDED ( /usr/a/lib/ld-linux-aarch64.so.1 ) )\n";
        assert_eq!(
            without_directories(script),
            "/* GNU ld script\n   Use the shared library, see lib/x */\n\
             OUTPUT_FORMAT(elf64-littleaarch64)\n\
             GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( ld-linux-aarch64.so.1 ) )\n"
        );
    }
}
