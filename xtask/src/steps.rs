//! A list of steps that is run to its end, whatever fails on the way.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;

/// What became of the steps so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    took: Duration,
    /// Why it failed, if it did.
    failure: Option<String>,
}

impl Steps {
    /// Announces a step, runs it, and remembers what became of it. Returns what it made.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("==> {name}");
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        let (made, failure) = match result {
            Ok(made) => (Some(made), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        if let Some(failure) = &failure {
            println!("==> {name} FAILED: {failure}");
        }
        self.done.push(Step {
            name: name.to_owned(),
            took,
            failure,
        });
        made
    }

    /// Prints a line for each step, then these lines, and turns it all into an exit status.
    pub(crate) fn finish(self, remarks: &[String]) -> ExitCode {
        println!("==> summary");
        for step in &self.done {
            let verdict = if step.failure.is_none() {
                "ok"
            } else {
                "FAILED"
            };
            println!(
                "{verdict:>6} {:>7.1} s  {}",
                step.took.as_secs_f64(),
                step.name
            );
        }
        for remark in remarks {
            println!("{remark}");
        }
        let failures: Vec<_> = self
            .done
            .iter()
            .filter_map(|step| Some((&step.name, step.failure.as_ref()?)))
            .collect();
        for (name, failure) in &failures {
            println!("FAILED {name}: {failure}");
        }
        let seconds = self
            .done
            .iter()
            .map(|step| step.took.as_secs_f64())
            .sum::<f64>();
        println!(
            "{} steps, {} failed, {seconds:.1} s",
            self.done.len(),
            failures.len()
        );
        if failures.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stops_nothing_and_is_not_forgotten() {
        let mut steps = Steps::default();
        assert_eq!(
            steps.step("first", || -> Result<()> { anyhow::bail!("planted") }),
            None
        );
        assert_eq!(steps.step("second", || Ok(2)), Some(2));
        assert_eq!(steps.done[0].failure.as_deref(), Some("planted"));
        assert_eq!(steps.finish(&[]), ExitCode::FAILURE);
    }

    #[test]
    fn all_good_is_a_success() {
        let mut steps = Steps::default();
        steps.step("only", || Ok(()));
        assert_eq!(steps.finish(&[]), ExitCode::SUCCESS);
    }
}
