//! `cargo xtask build-ebpf`: writes the BPF objects and their manifest to `profil-user/bpf/`.

use std::fs;

use anyhow::{Context as _, Result};

use crate::ebpf::{
    Builder,
    manifest::{self, Manifest},
    objects_dir,
};

/// Builds all objects and, once all of them are built, writes them.
///
/// # Errors
///
/// If a tool is missing or a build fails; the objects are then those from before.
pub(crate) fn run() -> Result<()> {
    let builder = Builder::new()?;
    // Before the build: whoever edits meanwhile gets a manifest that `check-ebpf` refuses.
    let sources = manifest::source_digest()?;
    let objects = builder.objects()?;
    let manifest = Manifest::of(&objects, sources, builder.rustc());

    let dir = objects_dir();
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    for (name, object) in &objects {
        let path = dir.join(name);
        manifest::write(&path, object)?;
        eprintln!("xtask: wrote {}, {} bytes", path.display(), object.len());
    }
    manifest.write()
}
