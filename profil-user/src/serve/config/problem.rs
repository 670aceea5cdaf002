//! What is wrong with a configuration, and where.

use std::{fmt, path::PathBuf};

use crate::export::printable;

/// Something that is wrong, in one line: `FILE:LINE: what, what is allowed`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    pub(super) place: Place,
    pub(super) what: String,
}

/// Where a value is from.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Place {
    /// The file as a whole.
    File(PathBuf),
    /// A line of it, counted from 1.
    Line(PathBuf, usize),
    /// A flag.
    Flag(String),
    /// Nowhere: it is the default.
    Default,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(file) => write!(f, "{}: ", printable(&file.to_string_lossy()))?,
            Place::Line(file, line) => {
                write!(f, "{}:{line}: ", printable(&file.to_string_lossy()))?;
            }
            Place::Flag(flag) => write!(f, "{}: ", printable(flag))?,
            Place::Default => {}
        }
        f.write_str(&printable(&self.what))
    }
}

/// Why there is no configuration: all that is wrong, a line each, in the order of the file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            let before = if number == 0 { "" } else { "\n" };
            write!(f, "{before}{problem}")?;
        }
        Ok(())
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}
