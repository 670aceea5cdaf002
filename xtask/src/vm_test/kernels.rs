//! Debian's kernels for virtual machines: everything that the tests take is built into them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use super::matrix::Leg;
use crate::{
    debian_archive::{Absent, Archive},
    workspace,
};

/// Returns the image of a leg's kernel. One that was fetched before is kept.
///
/// # Errors
///
/// [`Absent`] if the archive does not have it (any more); anything else if it cannot be fetched.
pub(super) fn provide(leg: &Leg) -> Result<PathBuf> {
    let dir = workspace::target_dir()
        .join("vm/kernels")
        .join(leg.to_string());
    let image = dir.join("vmlinuz");
    if image.exists() {
        return Ok(image);
    }
    let archive = Archive::open(leg.arch, &[leg.suite])?;
    let abi = abi(&archive, leg)?;
    eprintln!("xtask: fetching Linux {abi} for {leg}");
    let unpacked = dir.join("unpacked");
    let _ = fs::remove_dir_all(&unpacked);
    // From 7.2 on linux-image-ABI is empty and depends on a package with the image.
    let split = format!("linux-binary-{abi}");
    let package = if archive.show(&[&split])?.is_empty() {
        format!("linux-image-{abi}")
    } else {
        split
    };
    archive.unpack(&[package], &["*/vmlinuz*"], &unpacked)?;
    let found = find(&unpacked)?.context("the kernel's package has no image")?;
    fs::write(dir.join("version"), format!("{abi}\n"))
        .and_then(|()| fs::rename(found, &image))
        .and_then(|()| fs::remove_dir_all(&unpacked))
        .with_context(|| format!("cannot write to {}", dir.display()))?;
    Ok(image)
}

/// The name of the kernel that the suite recommends for virtual machines, or of the newest one of
/// a series.
fn abi(archive: &Archive, leg: &Leg) -> Result<String> {
    let flavour = format!("cloud-{}", leg.arch.debian());
    let abi = match leg.series {
        None => {
            let stanzas = archive.show(&[format!("linux-image-{flavour}")])?;
            let depends = stanzas.iter().flat_map(|stanza| stanza.depends());
            recommended(depends).map(str::to_owned)
        }
        Some(series) => {
            let names = archive.names("linux-image-")?;
            let names = names.iter().map(String::as_str);
            newest(names, series, &flavour).map(str::to_owned)
        }
    };
    match abi {
        Some(abi) => Ok(abi),
        None => bail!(Absent(format!("{} has no kernel for {leg}", leg.suite))),
    }
}

fn recommended<'a>(mut depends: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    depends.find_map(|name| {
        let abi = name.strip_prefix("linux-image-")?;
        abi.starts_with(|c: char| c.is_ascii_digit()).then_some(abi)
    })
}

fn newest<'a>(
    packages: impl Iterator<Item = &'a str>,
    series: &str,
    flavour: &str,
) -> Option<&'a str> {
    packages
        .filter_map(|name| name.strip_prefix("linux-image-"))
        .filter(|abi| {
            let rest = abi.strip_prefix(series);
            rest.is_some_and(|rest| rest.starts_with(['.', '-', '+']) && rest.ends_with(flavour))
        })
        .max_by_key(|abi| numbers(abi))
}

/// `6.18.15+deb13-cloud-amd64` begins with 6, 18 and 15.
fn numbers(abi: &str) -> Vec<u32> {
    abi.split(|c: char| !c.is_ascii_digit())
        .map_while(|number| number.parse().ok())
        .collect()
}

/// The image, wherever the package puts it.
fn find(dir: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if let Some(found) = find(&path)? {
                return Ok(Some(found));
            }
        } else if entry.file_name().to_string_lossy().starts_with("vmlinuz") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suites_own_kernel() {
        let depends = [
            "linux-base-cloud-amd64",
            "linux-image-7.3.4+deb13-cloud-amd64",
            "linux-modules",
        ];
        assert_eq!(
            recommended(depends.into_iter()),
            Some("7.3.4+deb13-cloud-amd64")
        );
        assert_eq!(recommended(["linux-image-cloud-amd64"].into_iter()), None);
    }

    #[test]
    fn the_newest_of_a_series() {
        let names = [
            "linux-image-6.18.5+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-rt-amd64",
            "linux-image-6.18.9+deb13-cloud-amd64",
            "linux-image-6.19.14+deb13-cloud-amd64",
            "linux-image-6.180.1+deb13-cloud-amd64",
            "linux-image-cloud-amd64",
        ];
        let newest = |series| newest(names.into_iter(), series, "cloud-amd64");
        assert_eq!(newest("6.18"), Some("6.18.15+deb13-cloud-amd64"));
        assert_eq!(newest("6.1"), None);
    }
}
