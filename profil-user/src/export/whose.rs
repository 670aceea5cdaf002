//! Whose ticks a row has, in a word.

use crate::{
    profile::{Profile, Subject, Task},
    symbolize::{Function, Place},
};

/// The task that a row is of, where tasks are kept apart; or that it stands for.
pub(super) fn task_of<'a>(profile: &'a Profile, function: &'a Function) -> Option<&'a Task> {
    if let Place::Task(task) = &function.place {
        return task.as_deref();
    }
    let index = function.task.index()?;
    profile.tasks.get(index)
}

/// The name of the process or thread that a row is of; where they are not kept apart, whom the profile
/// is of. Untrusted.
pub(super) fn comm(profile: &Profile, function: &Function) -> String {
    if let Some(task) = task_of(profile, function) {
        return task.name.clone();
    }
    if let Place::Task(None) = function.place {
        return "(nobody knows whose)".to_owned();
    }
    match &profile.subject {
        Subject::Thread(_, name) | Subject::Command(_, name) => name.clone(),
        Subject::Processes(processes) if processes.len() == 1 => processes[0].1.clone(),
        subject => subject.to_string(),
    }
}
