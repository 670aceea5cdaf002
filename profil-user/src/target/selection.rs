//! Which processes are wanted, of all that tick.

use std::{fs, os::unix::fs::MetadataExt as _, path::PathBuf};

use super::{
    glob::{Glob, GlobError},
    history::Life,
    mappings::FileId,
    objects::Objects,
};
use crate::{
    options::Selector,
    profile::{ObjectId, ObjectKind},
};

/// Conditions on a process.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    comm: Option<Glob>,
    exe: Option<Program>,
    /// The only processes, unless there are none.
    tgids: Vec<u32>,
}

#[derive(Debug)]
struct Program {
    path: PathBuf,
    /// The file that it is today, if there is one.
    inode: Option<u64>,
}

impl Selection {
    /// Those of `selector`; everybody if it has none.
    pub(crate) fn new(selector: &Selector) -> Result<Self, GlobError> {
        let comm = selector.comm.as_ref();
        Ok(Self {
            comm: comm
                .map(|pattern| Glob::parse(pattern.as_bytes()))
                .transpose()?,
            exe: selector.exe.as_ref().map(|path| Program {
                path: fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
                inode: fs::metadata(path).ok().map(|metadata| metadata.ino()),
            }),
            tgids: Vec::new(),
        })
    }

    /// These processes alone; everybody if there are none.
    pub(crate) fn of(tgids: &[u32]) -> Self {
        Self {
            tgids: tgids.to_vec(),
            ..Self::default()
        }
    }

    /// Whether a process was wanted at a time. What nothing is known about meets no condition.
    pub(crate) fn wants(
        &self,
        tgid: u32,
        life: Option<&Life>,
        time: u64,
        objects: &Objects,
    ) -> bool {
        if !self.tgids.is_empty() && !self.tgids.contains(&tgid) {
            return false;
        }
        let named = self.comm.as_ref().is_none_or(|pattern| {
            life.and_then(|life| life.name(time))
                .is_some_and(|name| pattern.matches(name.as_bytes()))
        });
        named
            && self.exe.as_ref().is_none_or(|program| {
                life.and_then(|life| life.executable(time))
                    .is_some_and(|object| program.is(object, objects))
            })
    }
}

impl Program {
    fn is(&self, object: ObjectId, objects: &Objects) -> bool {
        let ObjectKind::File { path, .. } = &objects.list()[object.index()].kind else {
            return false;
        };
        *path == self.path
            || objects
                .file_id(object)
                .is_some_and(|FileId { inode, .. }| Some(inode) == self.inode)
                && path.file_name() == self.path.file_name()
    }
}
