//! What gets names: ticks by address, of a run or of a file.

use std::{path::PathBuf, sync::Arc};

use crate::{
    options::Tgid,
    profile::{self, Count, Object, ObjectId},
    recorded::Recorded,
    session::Taken,
    target::ObjectFile,
};

/// Ticks by object and address, and the open files that can give the addresses names.
#[derive(Clone, Copy, Debug)]
pub struct Ticks<'a> {
    pub(super) objects: &'a [Object],
    pub(super) counts: &'a [Count],
    /// In the order of the objects.
    pub(super) files: &'a [Option<Arc<ObjectFile>>],
    /// The process, if it is one that runs.
    pub(super) target: Option<Tgid>,
}

impl<'a> Ticks<'a> {
    pub(super) fn counts_in(&self, id: ObjectId) -> &'a [Count] {
        profile::counts_in(self.counts, id)
    }

    /// The roots that paths of the objects may lead from: ours, and that of the process, which may
    /// be in a container.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let target = self.target.map(|tgid| format!("/proc/{tgid}/root").into());
        [PathBuf::from("/")].into_iter().chain(target).collect()
    }
}

impl<'a> From<&'a Taken> for Ticks<'a> {
    fn from(taken: &'a Taken) -> Self {
        Self {
            objects: &taken.profile.objects,
            counts: &taken.profile.counts,
            files: &taken.files,
            target: Some(taken.profile.target),
        }
    }
}

impl<'a> From<&'a Arc<Taken>> for Ticks<'a> {
    fn from(taken: &'a Arc<Taken>) -> Self {
        Self::from(&**taken)
    }
}

impl<'a> From<&'a Recorded> for Ticks<'a> {
    fn from(recorded: &'a Recorded) -> Self {
        Self {
            objects: &recorded.objects,
            counts: &recorded.counts,
            files: &recorded.executables,
            target: None,
        }
    }
}
