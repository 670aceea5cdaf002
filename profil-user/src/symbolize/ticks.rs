//! What gets names: ticks by address, of a run or of a file.

use std::{path::PathBuf, sync::Arc};

use super::perf_map::{MapRefused, PerfMap};
use crate::{
    options::Tgid,
    profile::{self, Count, Note, Object, ObjectId},
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
    /// Whether ticks are of that process alone.
    is_alone: bool,
}

impl<'a> Ticks<'a> {
    pub(super) fn counts_in(&self, id: ObjectId) -> &'a [Count] {
        profile::counts_in(self.counts, id)
    }

    /// What the process says of the code that it generated, if it says anything.
    pub(super) fn perf_map(&self) -> Result<Option<PerfMap>, MapRefused> {
        match self.target {
            // Addresses of all processes are in one object.
            Some(_) if !self.is_alone => Err(MapRefused::SeveralProcesses),
            Some(tgid) => PerfMap::open(tgid.get()),
            None => Ok(None),
        }
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
            is_alone: !taken
                .profile
                .notes
                .iter()
                .any(|note| matches!(note, Note::Children { .. })),
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
            is_alone: true,
        }
    }
}
