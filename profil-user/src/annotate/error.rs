//! Why a function cannot be looked into.

use std::{io, path::PathBuf};

use crate::{
    export::printable,
    profile::{BuildId, Object, ObjectKind, Unresolved},
    symbolize::WhyUnnamed,
};

/// Why a function cannot be looked into.
#[derive(Debug, thiserror::Error)]
pub enum NotAnnotated {
    /// It is the kernel's.
    #[error("it is the kernel's, whose code is not read")]
    Kernel,
    /// It is in the vDSO, whose code is in no file.
    #[error("it is the vDSO's, whose code is in no file: annotate it during a run")]
    Vdso,
    /// It was made while the process ran.
    #[error("its code was generated in memory, and is in no file")]
    Generated,
    /// It is nowhere.
    #[error("nobody knows what was there: {0}")]
    Nowhere(Unresolved),
    /// No file is known to be the one that was profiled.
    #[error("{} has no build id, so no file can be told to be the one that was profiled", printable(&.0.to_string_lossy()))]
    NoBuildId(PathBuf),
    /// The file is not there any more, or was replaced.
    #[error(
        "there is no file of its build {build} at {}; --debug-dir names a directory that has it as \
         .build-id/{}", printable(&path.to_string_lossy()), by_build_id(build)
    )]
    Gone {
        /// Where it was.
        path: PathBuf,
        /// Which build.
        build: BuildId,
    },
    /// The file could not be read during the run.
    #[error("the file of its object cannot be read")]
    Unreadable,
    /// What is wrong with the file.
    #[error("the file of its object is not fit to be read: {0}")]
    Unfit(WhyUnnamed),
    /// What was found is a debug file.
    #[error("all that was found of its object is a debug file, which has no code")]
    DebugFile,
    /// The file has no code there.
    #[error("the file of its object has no code there")]
    NoCode,
    /// Reading it failed.
    #[error("the code cannot be read")]
    Read(#[source] io::Error),
    /// Nobody here knows its instructions.
    #[error(
        "instructions of its machine are not known: x86 and 64-bit Arm are (its number is {0})"
    )]
    Machine(u16),
}

fn by_build_id(build: &BuildId) -> String {
    let digits = build.to_string();
    let (first, rest) = digits.split_at(2);
    format!("{first}/{rest}")
}

impl NotAnnotated {
    /// Why there is no file of an object; `is_of_now` says that it was profiled just now.
    pub(super) fn of(why: WhyUnnamed, object: &Object, is_of_now: bool) -> Self {
        match (&object.kind, why) {
            (ObjectKind::Kernel, _) => Self::Kernel,
            (ObjectKind::Anonymous { .. }, _) => Self::Generated,
            (ObjectKind::Nowhere(reason), _) => Self::Nowhere(*reason),
            (ObjectKind::Vdso, WhyUnnamed::FileUnreadable) => Self::Vdso,
            (ObjectKind::File { path, .. }, WhyUnnamed::FileUnreadable) if !is_of_now => {
                match object.build_id {
                    Some(build) => Self::Gone {
                        path: path.clone(),
                        build,
                    },
                    None => Self::NoBuildId(path.clone()),
                }
            }
            (_, WhyUnnamed::FileUnreadable) => Self::Unreadable,
            (_, why) => Self::Unfit(why),
        }
    }
}
