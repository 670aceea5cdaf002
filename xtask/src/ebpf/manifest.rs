//! `manifest.json` beside the objects: what they were built from, and with what.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Object, Version, crate_dir, linker, objects_dir, recipe};
use crate::workspace;

/// The record of a build.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Manifest {
    /// Digest of the sources and of the recipe, see [`source_digest`].
    pub(crate) sources: String,
    /// The compiler.
    pub(crate) rustc: Version,
    /// The version of bpf-linker.
    pub(crate) bpf_linker: String,
    /// The digest of each object, by the name of its file.
    pub(crate) objects: BTreeMap<String, String>,
}

impl Manifest {
    /// Describes objects that this compiler and our linker built from `sources`.
    pub(crate) fn of(objects: &[Object], sources: String, rustc: &Version) -> Self {
        Self {
            sources,
            rustc: rustc.clone(),
            bpf_linker: linker::VERSION.into(),
            objects: objects
                .iter()
                .map(|(name, object)| (name.clone(), digest(object)))
                .collect(),
        }
    }

    /// Reads the checked-in manifest.
    ///
    /// # Errors
    ///
    /// If it is missing or is not a manifest.
    pub(crate) fn read() -> Result<Self> {
        let path = path();
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes the manifest as it is checked in.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self).context("cannot encode the manifest")?;
        write(&path(), format!("{text}\n").as_bytes())
    }

    /// Whether a build with this compiler, and our linker, must give the same bytes.
    pub(crate) fn has_tools(&self, rustc: &Version) -> bool {
        self.rustc == *rustc && self.bpf_linker == linker::VERSION
    }
}

/// Replaces a file as a whole: a build of the user half may be reading it.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

/// Digest of everything that the objects are made from: the eBPF crate with its lock file, the
/// crate that it shares with the user half, and the flags of the build.
///
/// # Errors
///
/// If a file cannot be read.
pub(crate) fn source_digest() -> Result<String> {
    let root = workspace::root();
    let mut files = vec![root.join("profil-common/Cargo.toml")];
    collect(&root.join("profil-common/src"), &mut files)?;
    collect(&root.join("profil-ebpf"), &mut files)?;
    files.sort();

    let mut parts = vec![("recipe".to_owned(), recipe().into_bytes())];
    for file in files {
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        parts.push((name, bytes));
    }
    Ok(digest_of_parts(&parts))
}

/// The lengths keep what moves from one part to the next from going unnoticed.
fn digest_of_parts(parts: &[(String, Vec<u8>)]) -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in parts {
        for part in [name.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hex(hash.finalize().as_slice())
}

/// All files below a directory, except what a cargo called by hand has built there.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = || format!("cannot read {}", dir.display());
    for entry in fs::read_dir(dir).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if !path.is_dir() {
            files.push(path);
        } else if path != crate_dir().join("target") {
            collect(&path, files)?;
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn path() -> PathBuf {
    objects_dir().join("manifest.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_sha256() {
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(b""), of_nothing);
    }

    #[test]
    fn every_move_of_a_byte_shows() {
        let of = |parts: &[(&str, &str)]| {
            let owned = parts
                .iter()
                .map(|(name, bytes)| ((*name).into(), (*bytes).into()));
            digest_of_parts(&owned.collect::<Vec<_>>())
        };
        let digests = [
            of(&[("a", "xy"), ("b", "z")]),
            of(&[("a", "x"), ("b", "yz")]),
            of(&[("ax", "y"), ("b", "z")]),
            of(&[("a", "xy"), ("c", "z")]),
        ];
        for (index, one) in digests.iter().enumerate() {
            assert!(!digests[..index].contains(one), "{index}");
        }
    }
}
