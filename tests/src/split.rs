//! What a target measured about itself.

use std::{collections::BTreeMap, time::Duration};

/// Where a target's time went, by its own clock, over the profiled window.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Split {
    /// CPU time in each of its functions.
    pub functions: BTreeMap<String, Duration>,
    /// CPU time that it spent choosing and reading the clock.
    pub other: Duration,
    /// CPU time of all its threads, and of its child if it has one.
    pub total: Duration,
    /// The part in user mode, by `getrusage`: the kernel estimates it by its own clock tick.
    pub user: Duration,
    /// The part in system mode, likewise.
    pub system: Duration,
}

impl Split {
    /// Reads the lines of a target's account, in any order.
    ///
    /// # Errors
    ///
    /// With the line that is not understood.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut split = Self::default();
        for line in lines {
            let words: Vec<_> = line.split_whitespace().collect();
            let number = |text: &str| {
                text.parse()
                    .map_err(|_| format!("not understood: {line:?}"))
            };
            match words[..] {
                ["split", name, ns] => {
                    let spent = Duration::from_nanos(number(ns)?);
                    split.functions.insert(name.to_owned(), spent);
                }
                ["other", ns] => split.other = Duration::from_nanos(number(ns)?),
                ["total", ns] => split.total = Duration::from_nanos(number(ns)?),
                ["rusage", user, system] => {
                    split.user = Duration::from_micros(number(user)?);
                    split.system = Duration::from_micros(number(system)?);
                }
                _ => return Err(format!("not understood: {line:?}")),
            }
        }
        Ok(split)
    }

    /// The part of the whole that went to `function`.
    ///
    /// # Panics
    ///
    /// If the target has no such function.
    #[track_caller]
    pub fn share_of(&self, function: &str) -> f64 {
        match self.functions.get(function) {
            Some(spent) => spent.as_secs_f64() / self.total.as_secs_f64(),
            None => panic!("the target measured no {function:?}: {self:?}"),
        }
    }

    /// The part in system mode, by `getrusage`.
    pub fn system_share(&self) -> f64 {
        self.system.as_secs_f64() / (self.user + self.system).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read() {
        let lines = [
            "split a 600",
            "split b 300",
            "other 100",
            "total 1000",
            "rusage 3 1",
        ];
        let split = Split::parse(lines).expect("an account");
        assert_eq!(split.functions.len(), 2);
        assert_eq!(split.share_of("a"), 0.6);
        assert_eq!(split.other, Duration::from_nanos(100));
        assert_eq!(split.system_share(), 0.25);
    }

    #[test]
    fn anything_else_is_refused() {
        for line in [
            "",
            "split a",
            "split a x",
            "total -1",
            "rusage 1",
            "hello 1",
        ] {
            assert!(Split::parse([line]).is_err(), "{line:?}");
        }
    }
}
