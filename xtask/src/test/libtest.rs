//! What Rust's test runners say at their end, added up.

use std::{fmt, process::Command};

use anyhow::Result;

use crate::exec;

/// How many tests there were, over all test runners so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    ignored: u64,
}

impl Counts {
    /// Runs a command that runs tests, lets its output through, and adds its tests.
    ///
    /// # Errors
    ///
    /// If the command cannot be run or a test fails.
    pub(super) fn run(&mut self, command: &mut Command) -> Result<()> {
        exec::tee(command, |line| self.add(line))
    }

    /// Adds a line like `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`.
    pub(crate) fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            ignored,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {ignored} ignored")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up() {
        let mut counts = Counts::default();
        for line in [
            "running 4 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s",
            "test of_a_name_like_that: test result: ok. 100 passed; ... ok",
            "test result: FAILED. 2 passed; 5 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            counts.add(line);
        }
        assert_eq!(
            counts,
            Counts {
                passed: 5,
                failed: 5,
                ignored: 1
            }
        );
        assert_eq!(counts.to_string(), "5 passed, 5 failed, 1 ignored");
    }
}
