//! Building a target: by this machine's compiler on first use, or all of them by another's.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
};

use super::{COMMON, HOT_OBJECT, Recipe, Symbols, Workload, sources::SOURCES};

fn compiler() -> String {
    env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

impl Recipe {
    /// Stands for everything that goes into the target.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self, SOURCES, COMMON, env::consts::ARCH).hash(&mut hasher);
        hasher.finish()
    }

    /// Builds aside, then moves the whole directory into place: other tests may be building too.
    pub(super) fn build(&self, home: &Path) -> io::Result<()> {
        let parent = home
            .parent()
            .expect("a directory in the directory of targets");
        fs::create_dir_all(parent)?;
        let aside = tempfile::Builder::new()
            .prefix(".building-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir_in(parent)?;
        for (name, text) in SOURCES {
            fs::write(aside.path().join(name), text)?;
        }
        for library in self.libraries {
            let mut cc = Command::new(compiler());
            cc.args(COMMON)
                .args(["-fPIC", "-shared", library.source, "-o", library.name])
                .args(library.flags);
            run_in(aside.path(), &mut cc)?;
        }
        if let Some(mangling) = self.mangling {
            compile_rust(aside.path(), mangling)?;
        }
        let mut cc = Command::new(compiler());
        cc.args(COMMON)
            .args(self.kind)
            .args(self.sources)
            .args(["-o", self.name]);
        cc.args(self.flags);
        if self.linked {
            cc.args(self.libraries.iter().map(|library| library.name));
        }
        if matches!(self.symbols, Symbols::Away) {
            cc.arg("-s");
        }
        run_in(aside.path(), &mut cc)?;
        match self.symbols {
            Symbols::Stay | Symbols::Away => {}
            Symbols::Linked(file) => self.split_off(aside.path(), file, true)?,
            Symbols::Moved(file) => self.split_off(aside.path(), file, false)?,
        }
        match fs::rename(aside.path(), home) {
            // It has moved away: there is nothing left to remove.
            Ok(()) => {
                let _ = aside.keep();
                Ok(())
            }
            // Losing a race is fine: the winner built the same.
            Err(_) if home.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Recipe {
    /// Moves symbols and debug information of the executable into `file`.
    fn split_off(&self, dir: &Path, file: &str, linked: bool) -> io::Result<()> {
        if let Some(parent) = dir.join(file).parent() {
            fs::create_dir_all(parent)?;
        }
        let objcopy = objcopy()?;
        let keep = ["--only-keep-debug", self.name, file];
        run_in(dir, Command::new(&objcopy).args(keep))?;
        let mut strip = Command::new(&objcopy);
        strip.args(["--strip-all", self.name]);
        if linked {
            strip.arg(format!("--add-gnu-debuglink={file}"));
        }
        run_in(dir, &mut strip).map(|_| ())
    }
}

/// Makes an object of `hot.rs` that needs nothing of Rust's libraries.
fn compile_rust(dir: &Path, mangling: &str) -> io::Result<()> {
    let mut rustc = Command::new(env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    // What was before is for nightly compilers only.
    rustc.env("RUSTC_BOOTSTRAP", "1").arg("-Zunstable-options");
    rustc.args(["--edition", "2024", "--crate-type", "lib", "--emit", "obj"]);
    rustc.args(["-O", "-g", "-Cpanic=abort", "-Ccodegen-units=1"]);
    rustc.arg(format!("-Csymbol-mangling-version={mangling}"));
    run_in(dir, rustc.args(["hot.rs", "-o", HOT_OBJECT])).map(|_| ())
}

/// The compiler's own: one knows only its own machine's files.
fn objcopy() -> io::Result<String> {
    let path = run_in(
        Path::new("."),
        Command::new(compiler()).arg("-print-prog-name=objcopy"),
    )?;
    Ok(path.trim().to_owned())
}

/// Builds every target that the compiler `$CC` can build into `dir`, each as `NAME/NAME`.
///
/// # Errors
///
/// If one cannot be built, with what the compiler said.
pub fn build_all(dir: &Path) -> io::Result<()> {
    let machine = run_in(Path::new("."), Command::new(compiler()).arg("-dumpmachine"))?;
    for &workload in Workload::ALL {
        if workload.fits(&machine) {
            let recipe = workload.recipe();
            let home = dir.join(recipe.name);
            // What was built there before may be of other sources.
            if home.is_dir() {
                fs::remove_dir_all(&home)?;
            }
            recipe.build(&home)?;
        }
    }
    Ok(())
}

/// Returns what it printed.
fn run_in(dir: &Path, command: &mut Command) -> io::Result<String> {
    let output = command
        .current_dir(dir)
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{command:?} failed:\n{said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
