//! Where things are: the binary under test, the built targets, room for files.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The binary under test: `$PROFIL_BPF`, else the newest of the release and the debug build.
///
/// # Panics
///
/// If there is none.
pub fn profil_bpf() -> PathBuf {
    if let Some(named) = env::var_os("PROFIL_BPF") {
        let named = PathBuf::from(named);
        assert!(
            named.is_file(),
            "PROFIL_BPF names no file: {}",
            named.display()
        );
        return named;
    }
    let target = build_dir();
    let built = ["release", "debug"].map(|profile| target.join(profile).join("profil-bpf"));
    let newest = built
        .iter()
        .filter_map(|path| Some((fs::metadata(path).ok()?.modified().ok()?, path)))
        .max();
    match newest {
        Some((_, path)) => path.clone(),
        None => panic!(
            "no profil-bpf to test: neither {} nor {}.\nBuild it with `cargo build --release -p profil-user`, \
             or name one in PROFIL_BPF.",
            built[0].display(),
            built[1].display(),
        ),
    }
}

/// Where the targets have been built for this machine by another: `$PROFIL_WORKLOADS_BUILT`.
pub fn built_workloads() -> Option<PathBuf> {
    env::var_os("PROFIL_WORKLOADS_BUILT").map(PathBuf::from)
}

/// Where the targets are built: `$PROFIL_WORKLOADS`, else a directory of the build.
pub fn workloads_dir() -> PathBuf {
    match env::var_os("PROFIL_WORKLOADS") {
        Some(named) => PathBuf::from(named),
        None => build_dir().join("workloads"),
    }
}

/// Cargo's target directory. A test binary lies two levels deep in it.
fn build_dir() -> PathBuf {
    let in_manifest = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let Ok(test) = env::current_exe() else {
        return in_manifest();
    };
    match test.parent() {
        Some(deps) if deps.ends_with("deps") => match deps.ancestors().nth(2) {
            Some(target) => target.to_owned(),
            None => in_manifest(),
        },
        _ => in_manifest(),
    }
}

/// A fresh directory that everybody may enter, removed when dropped.
///
/// # Panics
///
/// If it cannot be made.
pub fn public_dir() -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("profil-test-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in("/tmp");
    dir.unwrap_or_else(|error| panic!("no directory for the test in /tmp: {error}"))
}

/// The names in `dir`, sorted.
///
/// # Panics
///
/// If it cannot be read.
pub fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut names: Vec<_> = entries
        .map(|entry| {
            let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
            entry.file_name().to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Finds `program` on `$PATH`.
pub fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|dir| dir.join(program))
        .find(|path| path.is_file())
}
