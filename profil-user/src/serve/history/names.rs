//! Processes that call themselves something else all the time.

use std::{collections::HashMap, sync::Arc};

use super::cell::Owner;
use crate::serve::ProcessLabel;

/// Names of one process in a minute. More are no names, and what ticks under them is the first one's.
const MOST_NAMES: usize = 4;

/// Processes of a minute whose names are noted. Those that come later are others.
const MOST_PROCESSES: usize = 1 << 16;

/// What processes were called in a minute.
#[derive(Debug, Default)]
pub(super) struct NamesOfProcesses(HashMap<u32, Vec<Arc<Owner>>>);

impl NamesOfProcesses {
    /// The owner of a process, and whether that is so only because it had too many names. `None` if there were
    /// too many processes.
    pub(super) fn owner_of(&mut self, process: &ProcessLabel) -> (Option<Arc<Owner>>, bool) {
        if self.0.len() >= MOST_PROCESSES && !self.0.contains_key(&process.tgid) {
            return (None, true);
        }
        let owner = Owner::of(process);
        let names = self.0.entry(process.tgid).or_default();
        if let Some(known) = names.iter().find(|known| ***known == owner) {
            return (Some(Arc::clone(known)), false);
        }
        if names.len() >= MOST_NAMES {
            return (names.first().cloned(), true);
        }
        let owner = Arc::new(owner);
        names.push(Arc::clone(&owner));
        (Some(owner), false)
    }
}
