//! What a person sees of a profile: which ticks, and what has a row of its own.

use std::collections::HashMap;

use super::{
    Function, Grouping, Sieve, Symbolizer, Ticks,
    functions::{add_up, by_task},
};
use crate::profile::{Task, TaskId};

/// Which ticks, and what has a row of its own.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What has a row of its own.
    pub grouping: Grouping,
    /// What gets one.
    pub sieve: Sieve,
}

/// Why a profile has no such rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotApart {
    /// Processes were not told apart.
    #[error("its processes were not told apart; profile with --per-process or --per-thread")]
    Processes,
    /// Threads were not.
    #[error("its threads were not told apart; profile with --per-thread")]
    Threads,
}

impl View {
    /// Whether rows are those of [`functions`](super::functions): all of them.
    pub fn is_plain(&self) -> bool {
        self.grouping == Grouping::Function && self.sieve.is_open()
    }

    /// Whether a profile whose ticks are kept apart by these tasks can be seen so.
    ///
    /// # Errors
    ///
    /// If its ticks were not kept apart like that.
    pub fn fits(&self, tasks: &[Task]) -> Result<(), NotApart> {
        match self.grouping {
            Grouping::Process if tasks.is_empty() => Err(NotApart::Processes),
            Grouping::Thread if !tasks.iter().any(|task| task.tid.is_some()) => {
                Err(NotApart::Threads)
            }
            _ => Ok(()),
        }
    }

    /// The rows of a profile whose addresses were looked up for this grouping
    /// ([`Symbolizer::for_grouping`]); most ticks first. Where tasks are kept apart, and are not rows
    /// themselves, each task has rows of its own.
    pub fn rows<'a>(
        &self,
        profile: impl Into<Ticks<'a>>,
        symbolizer: &Symbolizer,
    ) -> Vec<Function> {
        let ticks = profile.into();
        if ticks.tasks.is_empty() {
            return self.summed(ticks, symbolizer);
        }
        let counts = ticks.by_task.iter().map(|(task, count)| (*task, count));
        let mut rows = add_up(counts, &ticks, symbolizer, self);
        if !self.grouping.is_of_tasks() {
            by_task(&mut rows);
        }
        self.keep_large(rows, &ticks)
    }

    /// The rows of a profile, all tasks together.
    pub fn summed<'a>(
        &self,
        profile: impl Into<Ticks<'a>>,
        symbolizer: &Symbolizer,
    ) -> Vec<Function> {
        let ticks = profile.into();
        let counts = ticks.counts.iter().map(|count| (TaskId::ALL, count));
        let rows = add_up(counts, &ticks, symbolizer, self);
        self.keep_large(rows, &ticks)
    }

    /// Those that have enough of the ticks of their task, or of all where tasks are rows or together.
    fn keep_large(&self, mut rows: Vec<Function>, ticks: &Ticks<'_>) -> Vec<Function> {
        if self.sieve.min_percent <= 0.0 {
            return rows;
        }
        let all: u64 = ticks.counts.iter().map(|count| count.ticks()).sum();
        let mut of_tasks: HashMap<TaskId, u64> = HashMap::new();
        for (task, count) in ticks.by_task {
            *of_tasks.entry(*task).or_default() += count.ticks();
        }
        let are_apart = rows.iter().any(|row| row.task != TaskId::ALL);
        rows.retain(|row| {
            let of_task = of_tasks.get(&row.task).filter(|_| are_apart);
            let total = of_task.copied().unwrap_or(all);
            self.sieve.is_enough(row.ticks(), total)
        });
        rows
    }
}

#[cfg(test)]
mod tests;
