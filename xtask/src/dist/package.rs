//! The package: what `tar -C /usr/local -xf` installs, the same bytes whoever packs them.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use flate2::{Compression, GzBuilder};

use crate::{exec, run::PROFIL_BPF, workspace};

/// Beside the program.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "docs/OPERATING.md",
    "docs/TROUBLESHOOTING.md",
    "docs/profile.schema.json",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

/// The time of every file, in seconds: 1980, before which some tools know no time.
/// `SOURCE_DATE_EPOCH` sets another, by the custom of reproducible builds.
const DATE: u64 = 315_532_800;

/// Puts the program, its manual pages and completions, and the documents below `stage`, as they lie
/// below `/usr/local`.
///
/// # Errors
///
/// If `on_this_machine`, which knows its own manual, cannot be run, or a file not be written.
pub(super) fn stage(program: &Path, on_this_machine: &Path, stage: &Path) -> Result<()> {
    // What an earlier version left would be packed too.
    let _ = fs::remove_dir_all(stage);
    copy(program, &stage.join("bin").join(PROFIL_BPF))?;
    exec::run(
        Command::new(on_this_machine)
            .arg("manual")
            .arg(stage.join("share")),
    )?;
    for document in DOCUMENTS {
        let place = stage.join("share/doc").join(PROFIL_BPF).join(document);
        copy(&workspace::root().join(document), &place)?;
    }
    Ok(())
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let dir = to.parent().context("a file lies in a directory")?;
    fs::create_dir_all(dir)
        .and_then(|()| fs::copy(from, to))
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Packs all files below `stage`. Directories are left out: who unpacks it below `/usr/local` keeps
/// the modes of those that are there.
///
/// # Errors
///
/// If tar(1) cannot be run or fails.
pub(super) fn pack(stage: &Path) -> Result<Vec<u8>> {
    archive(stage, &files(stage)?)
}

/// A compressed archive of these paths, which are relative to `dir`.
///
/// # Errors
///
/// If tar(1) cannot be run or fails.
pub(super) fn archive(dir: &Path, paths: &[PathBuf]) -> Result<Vec<u8>> {
    let date = env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| DATE.to_string());
    let mut tar = Command::new("tar");
    tar.args(["--create", "--file=-", "--format=ustar"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        // Whatever the umask is.
        .arg("--mode=u=rwX,go=rX")
        .arg(format!("--mtime=@{date}"))
        .arg("--directory")
        .arg(dir)
        .args(["--no-recursion", "--"])
        .args(paths)
        .stderr(Stdio::inherit());
    let packed = tar.output().with_context(|| exec::cannot_run(&tar))?;
    ensure!(packed.status.success(), "`{}` failed", exec::shown(&tar));
    compress(&packed.stdout)
}

/// The same bytes whoever compresses them: no time and no name of a file in the head.
pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(bytes)
        .and_then(|()| gzip.finish())
        .context("cannot compress")
}

/// Everything that is no directory, relative to `dir`, sorted.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        let entries = fs::read_dir(&next).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        for entry in entries.with_context(|| format!("cannot list {}", next.display()))? {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                files.push(path.strip_prefix(dir)?.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read as _, Write as _},
        os::unix::fs::PermissionsExt as _,
        process::{Command, Stdio},
    };

    use super::{copy, pack};
    use crate::workspace;

    #[test]
    fn the_same_files_are_the_same_bytes_and_can_be_unpacked() {
        let room = workspace::target_dir().join(format!("package-test-{}", std::process::id()));
        let made = ["one", "other"].map(|name| {
            let stage = room.join(name);
            let program = stage.join("bin/program");
            let text = stage.join("share/doc/text");
            // In another order, and with other modes of what does not matter.
            let places = if name == "one" {
                [&program, &text]
            } else {
                [&text, &program]
            };
            for place in places {
                copy(&workspace::root().join("LICENSE-MIT"), place).expect("a copy");
            }
            fs::write(&text, "a text").expect("a file");
            let mode = |path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
            mode(&program, if name == "one" { 0o755 } else { 0o700 }).expect("a mode");
            mode(&text, if name == "one" { 0o644 } else { 0o600 }).expect("a mode");
            pack(&stage).expect("a package")
        });
        assert!(made[0] == made[1], "packed twice, and not the same");

        let mut listed = Command::new("tar")
            .args(["--list", "--verbose", "--gzip", "--numeric-owner"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("tar");
        let (stdin, stdout) = (listed.stdin.take(), listed.stdout.take());
        stdin.expect("a pipe").write_all(&made[0]).expect("read");
        let mut list = String::new();
        let mut stdout = stdout.expect("a pipe");
        stdout.read_to_string(&mut list).expect("a list");
        assert!(listed.wait().expect("tar").success());
        let _ = fs::remove_dir_all(&room);
        let lines: Vec<_> = list.lines().collect();
        assert_eq!(lines.len(), 2, "files only: {list}");
        assert!(lines[0].starts_with("-rwxr-xr-x 0/0 ") && lines[0].ends_with(" bin/program"));
        assert!(lines[1].starts_with("-rw-r--r-- 0/0 ") && lines[1].contains(" 1980-01-01 "));
    }
}
