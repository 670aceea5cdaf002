//! What gets names: ticks by address, of a run or of a file.

use std::{path::PathBuf, sync::Arc};

use super::perf_map::{MapRefused, PerfMap};
use crate::{
    options::Tgid,
    pprof::{Other, Saved},
    profile::{self, Count, Object, ObjectId, Subject, Task, TaskId},
    recorded::Recorded,
    session::Taken,
    target::ObjectFile,
};

/// Ticks by object and address, and the open files that can give the addresses names.
#[derive(Clone, Copy, Debug)]
pub struct Ticks<'a> {
    pub(crate) objects: &'a [Object],
    pub(super) counts: &'a [Count],
    /// The same by task, where that is kept apart.
    pub(super) by_task: &'a [(TaskId, Count)],
    /// Those whose ticks are kept apart.
    pub(super) tasks: &'a [Task],
    /// In the order of the objects.
    pub(super) files: &'a [Option<Arc<ObjectFile>>],
    /// Whom it is of, if they run.
    subject: Option<&'a Subject>,
    /// Whether bins are those of regions that were asked for, which need not lie on a grid.
    pub(crate) has_buffers: bool,
}

impl<'a> Ticks<'a> {
    #[cfg(test)]
    pub(super) const fn for_tests(
        objects: &'a [Object],
        counts: &'a [Count],
        (tasks, by_task): (&'a [Task], &'a [(TaskId, Count)]),
    ) -> Self {
        Self {
            objects,
            counts,
            by_task,
            tasks,
            files: &[],
            subject: None,
            has_buffers: false,
        }
    }

    /// Ticks of processes of this machine, just now.
    #[cfg(feature = "serve")]
    pub(crate) const fn of_everybody(
        objects: &'a [Object],
        files: &'a [Option<Arc<ObjectFile>>],
        counts: &'a [Count],
    ) -> Self {
        Self {
            objects,
            counts,
            by_task: &[],
            tasks: &[],
            files,
            subject: Some(&Subject::Everything),
            has_buffers: false,
        }
    }

    /// The same of these counts alone, which are sorted by object and address, each address once.
    #[must_use]
    pub const fn only(self, counts: &'a [Count]) -> Self {
        Self { counts, ..self }
    }

    pub(crate) fn counts_in(&self, id: ObjectId) -> &'a [Count] {
        profile::counts_in(self.counts, id)
    }

    /// Whether they are of processes that run, or ran just now, on this machine.
    pub(crate) const fn are_of_now(&self) -> bool {
        self.subject.is_some()
    }

    /// What a process says of the code that it generated, if it says anything, in so many bytes.
    pub(super) fn perf_map(&self, tgid: u32, most: u64) -> Result<Option<PerfMap>, MapRefused> {
        match self.subject {
            Some(_) => PerfMap::open(tgid, most),
            None => Ok(None),
        }
    }

    /// The roots that paths of the objects may lead from: ours, and that of the processes, which may
    /// be in a container.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let of_process = |tgid: &Tgid| PathBuf::from(format!("/proc/{tgid}/root"));
        let roots = match self.subject {
            Some(Subject::Processes(processes)) => {
                processes.iter().map(|(tgid, _)| of_process(tgid)).collect()
            }
            Some(Subject::Thread(tgid, _) | Subject::Command(tgid, _)) => vec![of_process(tgid)],
            _ => Vec::new(),
        };
        [PathBuf::from("/")].into_iter().chain(roots).collect()
    }
}

impl<'a> From<&'a Taken> for Ticks<'a> {
    fn from(taken: &'a Taken) -> Self {
        Self {
            objects: &taken.profile.objects,
            counts: &taken.profile.counts,
            by_task: &taken.profile.by_task,
            tasks: &taken.profile.tasks,
            files: &taken.files,
            subject: Some(&taken.profile.subject),
            has_buffers: !taken.profile.buffers.is_empty(),
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
            by_task: &[],
            tasks: &[],
            files: &recorded.executables,
            subject: None,
            has_buffers: false,
        }
    }
}

impl<'a> From<&'a Saved> for Ticks<'a> {
    fn from(saved: &'a Saved) -> Self {
        Self {
            objects: &saved.profile.objects,
            counts: &saved.profile.counts,
            by_task: &saved.profile.by_task,
            tasks: &saved.profile.tasks,
            files: &saved.files,
            subject: None,
            has_buffers: !saved.profile.buffers.is_empty(),
        }
    }
}

impl<'a> From<&'a Other> for Ticks<'a> {
    fn from(other: &'a Other) -> Self {
        Self {
            objects: &other.objects,
            counts: &other.counts,
            by_task: &[],
            tasks: &[],
            files: &other.files,
            subject: None,
            has_buffers: false,
        }
    }
}
