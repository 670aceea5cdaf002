//! The program whose profile it is, as far as names need it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::RecordedError;
use crate::{profile::ElfClass, symbolize::Extents, target::ObjectFile};

/// An open executable or shared object, and where its functions lie.
#[derive(Clone, Debug)]
pub struct Executable {
    path: PathBuf,
    file: Arc<ObjectFile>,
    extents: Extents,
}

impl Executable {
    /// Opens it and reads its symbol tables: its own, and those of its debug file, which is looked
    /// for beside it and in `debug_dirs`.
    ///
    /// # Errors
    ///
    /// If it is no ELF file of a little-endian machine.
    pub fn open(path: &Path, debug_dirs: &[PathBuf]) -> Result<Self, RecordedError> {
        let fail = |reason: String| RecordedError::Executable {
            path: path.to_owned(),
            reason,
        };
        let file = ObjectFile::open_named(path).map_err(|error| fail(error.to_string()))?;
        if !file.is_little_endian() {
            return Err(fail(
                "it is of a big-endian machine, and only little-endian ones are read".to_owned(),
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            extents: Extents::read(&file, path, debug_dirs),
            file: Arc::new(file),
        })
    }

    /// The width of its addresses.
    pub fn class(&self) -> ElfClass {
        self.file.class()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn file(&self) -> &Arc<ObjectFile> {
        &self.file
    }

    pub(super) const fn extents(&self) -> &Extents {
        &self.extents
    }
}
