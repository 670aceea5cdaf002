//! The package for Debian and its relatives, by cargo-deb's metadata in the manifest of `profil-user`.
//!
//! A `.deb` is an ar(5) archive of two tar archives (deb(5)), which takes neither cargo-deb, minutes of
//! compiling, nor dpkg on the machine that makes it; and the same files are the same bytes.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::package;
use crate::{arch::Arch, exec, run::PROFIL_BPF, workspace};

/// The crate whose manifest says what is in it.
const CRATE: &str = "profil-user";

/// By these prefixes cargo-deb knows what was built, wherever that was. The longer one first.
const MANUAL: &str = "target/release/manual/";
const PROGRAM: &str = "target/release/profil-bpf";

/// What Debian wants compressed (its policy, chapter 12).
const COMPRESSED: [&str; 2] = ["usr/share/man/", "usr/share/doc/profil-bpf/changelog"];

/// What there is to know of the package.
#[derive(Debug, Deserialize)]
struct Crate {
    name: String,
    version: String,
    description: String,
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    deb: Option<Deb>,
}

/// `package.metadata.deb`, as far as we use it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Deb {
    maintainer: String,
    section: String,
    priority: String,
    extended_description: String,
    conf_files: Vec<String>,
    maintainer_scripts: PathBuf,
    /// From where, where to, and the mode in octal.
    assets: Vec<(String, String, String)>,
}

/// What was built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built<'a> {
    /// The program, which must be a static one: no package is depended on.
    pub(super) program: &'a Path,
    /// The directory in which `profil-bpf manual` wrote.
    pub(super) manual: &'a Path,
    /// What it was built for.
    pub(super) arch: Arch,
}

/// Makes the package, by way of files below `stage`.
///
/// # Errors
///
/// If the metadata is incomplete, or names a file that there is not.
pub(super) fn pack(built: Built<'_>, stage: &Path) -> Result<Vec<u8>> {
    // What an earlier version left would be packed too.
    let _ = fs::remove_dir_all(stage);
    let (description, deb) = described()?;
    let data = stage.join("data");
    for (from, to, mode) in &deb.assets {
        install(built, from, &data, to, mode).with_context(|| format!("the asset {from}"))?;
    }
    let files = package::files(&data)?;
    for conf_file in &deb.conf_files {
        let installed = data.join(conf_file.trim_start_matches('/'));
        ensure!(installed.is_file(), "no asset is the conf-file {conf_file}");
    }
    let control = stage.join("control");
    write(
        &control.join("control"),
        &fields(&description, &deb, built.arch, &data, &files)?,
    )?;
    let conf_files: String = deb
        .conf_files
        .iter()
        .map(|file| format!("{file}\n"))
        .collect();
    write(&control.join("conffiles"), &conf_files)?;
    write(&control.join("md5sums"), &sums(&data, &files)?)?;
    for script in ["postinst", "prerm", "postrm"] {
        let from = crate_dir().join(&deb.maintainer_scripts).join(script);
        package::copy(&from, &control.join(script))?;
        set_mode(&control.join(script), 0o755)?;
    }
    let mut archive = b"!<arch>\n".to_vec();
    member(&mut archive, "debian-binary", b"2.0\n");
    for (name, dir) in [("control.tar.gz", &control), ("data.tar.gz", &data)] {
        let packed = package::archive(dir, &with_directories(&package::files(dir)?))?;
        member(&mut archive, name, &packed);
    }
    Ok(archive)
}

fn crate_dir() -> PathBuf {
    workspace::root().join(CRATE)
}

/// What the manifest says, and the crate that says it.
fn described() -> Result<(Crate, Deb)> {
    #[derive(Deserialize)]
    struct Workspace {
        packages: Vec<Crate>,
    }
    let mut cargo = workspace::cargo();
    cargo.args(["metadata", "--no-deps", "--locked", "--format-version=1"]);
    let workspace: Workspace = serde_json::from_str(&exec::output(&mut cargo)?)
        .context("cannot read what `cargo metadata` says")?;
    let mut packages = workspace.packages.into_iter();
    let mut found = packages
        .find(|package| package.name == CRATE)
        .with_context(|| format!("there is no crate {CRATE}"))?;
    let metadata = found.metadata.take().and_then(|metadata| metadata.deb);
    let deb = metadata.context("profil-user/Cargo.toml has no [package.metadata.deb]")?;
    Ok((found, deb))
}

/// Puts an asset to its place below `data`: a name, or a directory if it ends in a slash.
fn install(built: Built<'_>, from: &str, data: &Path, to: &str, mode: &str) -> Result<()> {
    let mode = u32::from_str_radix(mode, 8).context("a mode is an octal number")?;
    let source = if let Some(rest) = from.strip_prefix(MANUAL) {
        built.manual.join(rest)
    } else if from == PROGRAM {
        built.program.to_owned()
    } else {
        crate_dir().join(from)
    };
    for source in matching(&source)? {
        let name = source.file_name().context("a file has a name")?;
        let mut place = data.join(to);
        if from == PROGRAM {
            place.push(PROFIL_BPF);
        } else if to.ends_with('/') {
            place.push(name);
        }
        if COMPRESSED.iter().any(|place| to.starts_with(place)) {
            place.as_mut_os_string().push(".gz");
            let text =
                fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
            write(&place, package::compress(&text)?)?;
        } else {
            package::copy(&source, &place)?;
        }
        set_mode(&place, mode)?;
    }
    Ok(())
}

/// The file, or the files of the directory that a star in place of the name's beginning stands for.
fn matching(source: &Path) -> Result<Vec<PathBuf>> {
    let name = source.file_name().and_then(|name| name.to_str());
    let Some(end) = name.and_then(|name| name.strip_prefix('*')) else {
        return Ok(vec![source.to_owned()]);
    };
    let dir = source.parent().context("a file lies in a directory")?;
    let entries = fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "nothing in {} matches", dir.display());
    Ok(found)
}

/// The control file (deb-control(5)).
fn fields(
    described: &Crate,
    deb: &Deb,
    arch: Arch,
    data: &Path,
    files: &[PathBuf],
) -> Result<String> {
    let mut bytes = 0;
    for file in files {
        bytes += fs::metadata(data.join(file))?.len();
    }
    let mut text = String::new();
    writeln!(text, "Package: {PROFIL_BPF}")?;
    writeln!(text, "Version: {}", described.version)?;
    writeln!(text, "Architecture: {}", arch.debian())?;
    writeln!(text, "Maintainer: {}", deb.maintainer)?;
    writeln!(text, "Section: {}", deb.section)?;
    writeln!(text, "Priority: {}", deb.priority)?;
    writeln!(text, "Installed-Size: {}", bytes.div_ceil(1024))?;
    writeln!(text, "Description: {}", described.description)?;
    for line in deb.extended_description.lines() {
        let line = if line.is_empty() { "." } else { line };
        writeln!(text, " {line}")?;
    }
    Ok(text)
}

/// What `dpkg --verify` compares with: MD5 is the only digest that it knows.
fn sums(data: &Path, files: &[PathBuf]) -> Result<String> {
    let mut md5sum = std::process::Command::new("md5sum");
    md5sum.arg("--").args(files).current_dir(data);
    let listed = exec::output(&mut md5sum)?;
    // md5sum marks a line with a backslash if it had to write one of the name twice.
    let lines = listed.lines().map(|line| match line.strip_prefix('\\') {
        Some(line) => line.replace(r"\\", r"\"),
        None => line.to_owned(),
    });
    Ok(lines.map(|line| line + "\n").collect())
}

/// The paths with all directories that lead to them, in an order in which they can be made.
fn with_directories(files: &[PathBuf]) -> Vec<PathBuf> {
    let here = Path::new(".");
    let all: BTreeSet<_> = files
        .iter()
        .flat_map(|file| file.ancestors().map(|path| here.join(path)))
        .collect();
    all.into_iter().collect()
}

/// Adds a file to an archive of ar(1): a head of 60 bytes, the contents, and a newline if they are odd.
fn member(archive: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let head = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        0,
        0,
        0,
        "100644",
        contents.len()
    );
    archive.extend_from_slice(head.as_bytes());
    archive.extend_from_slice(contents);
    if contents.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let dir = path.parent().context("a file lies in a directory")?;
    fs::create_dir_all(dir)
        .and_then(|()| fs::write(path, contents))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", path.display()))
}

#[cfg(test)]
mod tests;
