//! Files of objects whose processes have gone, or were on another machine: only the build id tells
//! whether a file is the one that ticked.

use std::{path::PathBuf, sync::Arc};

use super::debug_files;
use crate::{
    profile::{Object, ObjectKind},
    target::ObjectFile,
};

/// Opens what can give the addresses of an object names: the file at its path, or else one of the
/// same build in `dirs`, with or without the text.
pub(crate) fn open(object: &Object, dirs: &[PathBuf]) -> Option<Arc<ObjectFile>> {
    let ObjectKind::File { path, .. } = &object.kind else {
        return None;
    };
    let id = object.build_id?;
    let by_id = dirs.iter().flat_map(|dir| {
        let debug = dir.join(debug_files::path_of(id));
        // The whole file, as debuginfod and some distributions have it.
        let whole = debug.with_extension("");
        [whole, debug]
    });
    [path.clone()]
        .into_iter()
        .chain(by_id)
        .filter_map(|path| ObjectFile::open_named(&path).ok())
        .find(|file| file.build_id() == Some(id))
        .map(Arc::new)
}
