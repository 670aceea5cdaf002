//! Keeps the paths of this machine out of the object.
//!
//! Debug information, and BTF which is made from it, names every source file. rustc is told to
//! write stand-ins for the places where the sources lie. Those of our own crates are relative to
//! the directory that bpf-linker runs in: so it can still read the lines, and the verifier's log
//! shows them.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::{ARCHES, Builder};
use crate::exec;

/// Stand-ins for the eBPF crate, for `profil-common`, for a dependency's parent directory, and
/// for the standard library.
pub(super) const STAND_INS: [&str; 4] = [".", "../profil-common", "/deps", "/rust"];

/// What cargo says about the dependencies.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

/// The flags that make rustc write stand-ins.
pub(super) fn remappings(builder: &Builder) -> Result<Vec<String>> {
    let [own, common, deps, rust] = STAND_INS;
    let mut cargo = builder.nested_cargo(ARCHES[0]);
    cargo.args(["metadata", "--locked", "--quiet", "--format-version", "1"]);
    let metadata: Metadata = serde_json::from_str(&exec::output(&mut cargo)?)
        .context("cannot read what `cargo metadata` says")?;

    let mut pairs = vec![(builder.toolchain.rust_src(), rust.to_owned())];
    for package in metadata.packages {
        let dir = package
            .manifest_path
            .parent()
            .context("a manifest lies in a directory")?;
        let stand_in = match package.name.as_str() {
            "profil-ebpf" => own.to_owned(),
            "profil-common" => common.to_owned(),
            name => format!("{deps}/{name}-{}", package.version),
        };
        pairs.push((dir.to_owned(), stand_in));
    }
    // rustc lets the last match win, and a vendored crate may lie below our own.
    pairs.sort_by_key(|(dir, _)| dir.components().count());
    Ok(pairs
        .iter()
        .map(|(dir, stand_in)| format!("--remap-path-prefix={}={stand_in}", dir.display()))
        .collect())
}

/// A source file in the object that is named by its place on this machine.
pub(super) fn foreign_path(object: &[u8]) -> Option<&str> {
    let [_, _, deps, rust] = STAND_INS;
    object
        .split(|&byte| byte == 0)
        .filter_map(|text| str::from_utf8(text).ok())
        .filter(|text| text.starts_with('/') && text.ends_with(".rs"))
        .find(|text| !text.starts_with(deps) && !text.starts_with(rust))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_paths_are_found() {
        let good = b"\0./src/main.rs\0/deps/aya-1/src/lib.rs\0/rust/library/core/src/lib.rs\0";
        assert_eq!(foreign_path(good), None);
        let bad = b"\x7fELF\0\xff\0/home/me/profil-ebpf/src/main.rs\0";
        assert_eq!(foreign_path(bad), Some("/home/me/profil-ebpf/src/main.rs"));
    }
}
