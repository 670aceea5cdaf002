//! Values of labels: other people's names, short and without what a reader would obey.

use std::{collections::HashMap, sync::Arc};

use crate::export::printable;

/// The value that stands for everything that has no series of its own.
pub(crate) const OTHER: &str = "other";

/// Characters of a value. What is longer is cut, and what is cut alike is one series.
const LONGEST: usize = 160;

/// Texts that are remembered. A process may call itself anything, all the time.
pub(super) const MOST: usize = 1 << 14;

/// Texts as values, each kept once.
#[derive(Debug, Default)]
pub(super) struct Labels(pub(super) HashMap<Arc<str>, Arc<str>>);

impl Labels {
    pub(super) fn of(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let value: Arc<str> = value_of(text).into();
        self.0.insert(text.into(), Arc::clone(&value));
        value
    }

    /// Forgets them, if there are too many.
    pub(super) fn turned(&mut self) {
        if self.0.len() > MOST {
            self.0.clear();
        }
    }
}

fn value_of(text: &str) -> String {
    // Whoever is called so is not everybody else.
    if text == OTHER {
        return format!("'{text}'");
    }
    let text = printable(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Labels, MOST, value_of};

    #[test]
    fn a_value_is_short_and_harmless() {
        assert_eq!(value_of("main"), "main");
        assert_eq!(value_of("other"), "'other'");
        assert_eq!(value_of("a\nb\u{1b}"), "a\\u{a}b\\u{1b}");
        let long = value_of(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }

    #[test]
    fn they_are_not_remembered_without_end() {
        let mut labels = Labels::default();
        for number in 0..=MOST {
            labels.of(&number.to_string());
        }
        labels.turned();
        assert!(labels.0.is_empty());
    }
}
