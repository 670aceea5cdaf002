//! Where the names of one object come from: its file, and the debug file that belongs to it.

use std::path::{Path, PathBuf};

use super::{
    WhyUnnamed,
    debug_files::{self, DebugFile, Stripped},
    sections::Sections,
};
use crate::target::ObjectFile;

/// The tables of one object's file, and its debug file, if it has no symbol table of its own and
/// there is one.
#[derive(Debug)]
pub(super) struct Image {
    sections: Sections,
    debug: Option<DebugFile>,
}

/// Where debug files are looked for.
#[derive(Debug)]
pub(super) struct Places<'a> {
    /// Our own root, and those of processes.
    pub(super) roots: Vec<PathBuf>,
    pub(super) dirs: &'a [PathBuf],
}

impl Image {
    /// Reads the headers of an object's file, which a process knows by `path`.
    pub(super) fn read(
        file: &ObjectFile,
        path: Option<&Path>,
        places: &Places<'_>,
    ) -> Result<Self, WhyUnnamed> {
        let sections = Sections::read(file).ok_or(WhyUnnamed::TablesUnreadable)?;
        let find = || {
            // A person may have named it from where we are; processes know it by its whole path.
            let path = path.and_then(|path| std::path::absolute(path).ok());
            let home = path.as_deref().and_then(Path::parent);
            let stripped = Stripped {
                build_id: file.build_id(),
                link: sections.debug_link.as_ref().zip(home),
            };
            debug_files::find(stripped, &places.roots, places.dirs)
        };
        let debug = (!sections.has_symbols).then(find).flatten();
        Ok(Self { sections, debug })
    }

    /// What can be asked for names, in that order.
    pub(super) fn sources<'a>(
        &'a self,
        own: &'a ObjectFile,
    ) -> impl Iterator<Item = (&'a ObjectFile, &'a Sections)> {
        let debug = self
            .debug
            .iter()
            .map(|debug| (&debug.file, &debug.sections));
        debug.chain([(own, &self.sections)])
    }
}
