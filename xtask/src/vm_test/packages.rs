//! The guest's programs, out of Debian's packages for its architecture.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use super::libraries::Program;
use crate::{
    arch::Arch,
    debian_archive::{self, Archive},
    workspace,
};

/// Where the guest has its programs, the names that packages may give them, and the directories
/// that they may be in.
const PROGRAMS: [(&str, &str); 6] = [
    // Nearly every tool.
    ("/bin/busybox", "busybox"),
    // busybox's own shell would start busybox's own tools, whatever is on $PATH.
    ("/bin/sh", "dash"),
    // A second opinion on a profile, and on a target.
    ("/usr/bin/gprof", "{gnu}-gprof"),
    ("/usr/bin/readelf", "{gnu}-readelf"),
    // For the tests of privileges; busybox's own setpriv knows less.
    ("/usr/bin/setpriv", "setpriv"),
    ("/usr/bin/setcap", "setcap"),
];
const DIRECTORIES: [&str; 4] = ["usr/bin", "bin", "usr/sbin", "sbin"];

/// The packages that have these programs; their libraries are in those that they depend on.
fn packages(arch: Arch) -> [String; 7] {
    [
        "busybox-static".into(),
        "dash".into(),
        // Package names have no underscores.
        format!("binutils-{}", arch.gnu().replace('_', "-")),
        "util-linux".into(),
        "libcap2-bin".into(),
        "libc6".into(),
        "libgcc-s1".into(),
    ]
}

/// Returns a directory of unpacked packages. What was fetched before is kept.
///
/// # Errors
///
/// If they cannot be fetched.
pub(super) fn provide(arch: Arch) -> Result<PathBuf> {
    let suite = debian_archive::suite_of_this_system()?;
    let name = format!("{suite}-{}", arch.debian());
    let root = workspace::target_dir().join("vm/packages").join(name);
    let packages = packages(arch);
    // Written last, with what was wanted then.
    let complete = root.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|then| then == packages.join("\n")) {
        return Ok(root);
    }
    eprintln!("xtask: fetching the guest's programs for {arch}");
    let archive = Archive::of_this_system(arch)?;
    let names = packages.each_ref().map(String::as_str);
    let closure = archive.closure(&names, is_library)?;
    let _ = fs::remove_dir_all(&root);
    archive.unpack(&closure, &[], &root)?;
    fs::write(&complete, packages.join("\n"))
        .with_context(|| format!("cannot write {}", complete.display()))?;
    Ok(root)
}

fn is_library(package: &str) -> bool {
    package.starts_with("lib") || package.starts_with("zlib")
}

/// The programs in unpacked packages.
///
/// # Errors
///
/// If one is missing.
pub(super) fn programs(root: &Path, arch: Arch) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for (path, name) in PROGRAMS {
        let name = name.replace("{gnu}", arch.gnu());
        let places = DIRECTORIES.map(|dir| root.join(dir).join(&name));
        match places.iter().find(|place| place.is_file()) {
            Some(place) => programs.push(Program::read(place, path)?),
            None => bail!("no {name} in the packages in {}", root.display()),
        }
    }
    Ok(programs)
}
