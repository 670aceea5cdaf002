//! Where the names of one object come from: its file, and the debug file that belongs to it.

use std::path::{Path, PathBuf};

use super::{
    WhyUnnamed,
    debug_files::{self, DebugFile, Lacks, Stripped},
    sections::Sections,
};
use crate::target::ObjectFile;

/// The tables of one object's file, and its debug file, if something is missing in its own and
/// there is one.
#[derive(Debug)]
pub(super) struct Image {
    sections: Sections,
    debug: Option<DebugFile>,
    /// Whose lines can be read.
    lines: Option<From>,
}

/// One of the two files.
#[derive(Clone, Copy, Debug)]
enum From {
    Own,
    Debug,
}

/// Where debug files are looked for, and what for.
#[derive(Debug)]
pub(super) struct Places<'a> {
    /// Our own root, and those of processes.
    pub(super) roots: Vec<PathBuf>,
    pub(super) dirs: &'a [PathBuf],
    /// Whether lines are wanted, too.
    pub(super) lines: bool,
}

impl Image {
    /// Reads the headers of an object's file, which a process knows by `path`.
    pub(super) fn read(
        file: &ObjectFile,
        path: Option<&Path>,
        places: &Places<'_>,
    ) -> Result<Self, WhyUnnamed> {
        let sections = Sections::read(file).ok_or(WhyUnnamed::TablesUnreadable)?;
        let lacks = Lacks {
            symbols: !sections.has_symbols,
            lines: places.lines && !sections.debug.has_lines,
        };
        let find = || {
            // A person may have named it from where we are; processes know it by its whole path.
            let path = path.and_then(|path| std::path::absolute(path).ok());
            let home = path.as_deref().and_then(Path::parent);
            let stripped = Stripped {
                build_id: file.build_id(),
                link: sections.debug_link.as_ref().zip(home),
                lacks,
            };
            debug_files::find(stripped, &places.roots, places.dirs)
        };
        let debug = (lacks != Lacks::default()).then(find).flatten();
        let mut image = Self {
            sections,
            debug,
            lines: None,
        };
        if places.lines {
            image.lines = image.lines_from(file);
        }
        Ok(image)
    }

    /// Whose lines can be read. What leads to a third file is followed only from where a person
    /// said that debug files are: anybody can write any path into a file.
    fn lines_from(&self, own: &ObjectFile) -> Option<From> {
        let Self {
            sections, debug, ..
        } = self;
        if sections.debug.has_lines {
            let leads_on = sections.debug.is_split || sections.debug_link.is_some();
            return (!leads_on && sections.debug.is_fit(own)).then_some(From::Own);
        }
        let DebugFile {
            file,
            sections,
            is_trusted,
        } = debug.as_ref()?;
        let leads_on = sections.debug.is_split || sections.debug_link.is_some();
        let fit =
            sections.debug.has_lines && (*is_trusted || !leads_on) && sections.debug.is_fit(file);
        fit.then_some(From::Debug)
    }

    /// What can be asked for names, in that order.
    pub(super) fn sources<'a>(
        &'a self,
        own: &'a ObjectFile,
    ) -> impl Iterator<Item = (&'a ObjectFile, &'a Sections)> {
        let debug = self.debug.iter();
        let debug = debug.filter(|debug| debug.sections.has_symbols);
        let debug = debug.map(|debug| (&debug.file, &debug.sections));
        debug.chain([(own, &self.sections)])
    }

    /// What the object's own file says of its sections.
    pub(super) const fn own_sections(&self) -> &Sections {
        &self.sections
    }

    /// What can be asked for lines.
    pub(super) fn lines<'a>(&'a self, own: &'a ObjectFile) -> Option<&'a ObjectFile> {
        match self.lines? {
            From::Own => Some(own),
            From::Debug => self.debug.as_ref().map(|debug| &debug.file),
        }
    }
}
