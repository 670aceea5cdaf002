//! `cargo xtask check-ebpf`: the checked-in BPF objects are those of the sources.

use std::fs;

use anyhow::{Result, anyhow, bail};

use crate::ebpf::{
    Builder,
    manifest::{self, Manifest},
    object_names, objects_dir,
};

const MEND: &str = "mend it with `cargo xtask build-ebpf`";

/// Compares digests and then, unless told not to, builds the objects again and compares bytes.
///
/// # Errors
///
/// If the objects are not current, or cannot be built.
pub(crate) fn run(no_build: bool) -> Result<()> {
    let manifest = Manifest::read().map_err(|error| anyhow!("{error:#}; {MEND}"))?;
    let mut faults = compare_digests(&manifest)?;
    if faults.is_empty() && !no_build {
        faults = rebuild(&manifest)?;
    }
    if !faults.is_empty() {
        bail!(
            "the BPF objects are not current: {}; {MEND}",
            faults.join("; ")
        );
    }
    eprintln!("xtask: the BPF objects are current");
    Ok(())
}

fn compare_digests(manifest: &Manifest) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    if manifest.sources != manifest::source_digest()? {
        faults.push("the sources are not those of the manifest".to_owned());
    }
    for name in object_names() {
        let recorded = manifest.objects.get(&name);
        match fs::read(objects_dir().join(&name)) {
            Err(error) => faults.push(format!("{name}: {error}")),
            Ok(object) if recorded != Some(&manifest::digest(&object)) => {
                faults.push(format!("{name} is not the one of the manifest"));
            }
            Ok(_) => {}
        }
    }
    Ok(faults)
}

/// Other tools than the recorded ones give other bytes; with them the sources must build, and
/// that is all that can be asked.
fn rebuild(manifest: &Manifest) -> Result<Vec<String>> {
    let builder = Builder::new()?;
    let comparable = manifest.has_tools(builder.rustc());
    if !comparable {
        eprintln!(
            "xtask: the objects were built with {} and bpf-linker {}, not with {}: \
             bytes are not compared, the sources need only build",
            manifest.rustc,
            manifest.bpf_linker,
            builder.rustc(),
        );
    }
    let mut faults = Vec::new();
    let objects = builder
        .objects()
        .map_err(|error| anyhow!("{error:#}; mend the sources, then `cargo xtask build-ebpf`"))?;
    for (name, object) in objects {
        let digest = manifest::digest(&object);
        if comparable && manifest.objects.get(&name) != Some(&digest) {
            faults.push(format!("{name} has other bytes when it is built again"));
        }
    }
    Ok(faults)
}
