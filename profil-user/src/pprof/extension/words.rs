//! A comment, word by word.

use std::{str::FromStr, time::Duration};

use crate::export::printable;

/// What is wrong with the comments.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Damaged {
    #[error("the comment {0:?} is not understood")]
    Line(String),
    #[error("the comment {0} is missing")]
    Missing(&'static str),
}

/// What is left of a comment.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    line: &'a str,
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(super) const fn of(line: &'a str) -> Self {
        Self { line, rest: line }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<&'a str, Damaged> {
        if self.is_empty() {
            return Err(self.damaged());
        }
        let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        self.rest = rest;
        Ok(word)
    }

    /// The next word, as a decimal number.
    pub(super) fn number<T: FromStr>(&mut self) -> Result<T, Damaged> {
        self.word()?.parse().map_err(|_| self.damaged())
    }

    /// The next word, as a hexadecimal number.
    pub(super) fn address(&mut self) -> Result<u64, Damaged> {
        u64::from_str_radix(self.word()?, 16).map_err(|_| self.damaged())
    }

    /// The next word, as a number below `end`.
    pub(super) fn index(&mut self, end: usize) -> Result<usize, Damaged> {
        let index = self.number()?;
        if index < end {
            Ok(index)
        } else {
            Err(self.damaged())
        }
    }

    pub(super) fn nanoseconds(&mut self) -> Result<Duration, Damaged> {
        self.number().map(Duration::from_nanos)
    }

    /// What `read` makes of the next word, unless that is a dash.
    pub(super) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Damaged>,
    ) -> Result<Option<T>, Damaged> {
        let mut ahead = self.clone();
        if ahead.word()? == "-" {
            *self = ahead;
            return Ok(None);
        }
        read(self).map(Some)
    }

    /// All that is left, whatever it is.
    pub(super) const fn text(&mut self) -> &'a str {
        let text = self.rest;
        self.rest = "";
        text
    }

    /// Nothing is left.
    pub(super) fn end(&self) -> Result<(), Damaged> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(self.damaged())
        }
    }

    /// The comment is not what it should be.
    pub(super) fn damaged(&self) -> Damaged {
        /// Enough to find it again.
        const SHOWN: usize = 60;

        let line = printable(self.line);
        Damaged::Line(line.chars().take(SHOWN).collect())
    }
}

/// A word for something that may not be there.
pub(super) fn or_dash<T>(value: Option<T>, word: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), word)
}
