//! Folded stacks: `comm;object;function ticks`, a line each, for flame graphs.
//!
//! What `flamegraph.pl`, inferno and speedscope read. Processes and threads that are kept apart are
//! `comm-PID` and `comm-PID/TID`, as `stackcollapse-perf.pl` writes them. Lines are sorted, and each stack
//! is there once. Rows of objects and of tasks have as many frames as they know.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{
    escape::printable,
    table::{function_name, object_name},
    whose,
};
use crate::{
    profile::Profile,
    symbolize::{Function, Place},
};

/// Writes the stacks of a profile, by its rows.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(profile: &Profile, functions: &[Function], out: &mut impl Write) -> io::Result<()> {
    let stacks = stacks(profile, functions);
    stacks.iter().try_for_each(|stack| writeln!(out, "{stack}"))
}

/// The lines.
pub(super) fn stacks(profile: &Profile, functions: &[Function]) -> Vec<String> {
    let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for function in functions {
        let object = profile.object(function.object);
        let mut stack = vec![whose_frame(profile, function)];
        if !matches!(function.place, Place::Task(_)) {
            stack.push(frame(&object_name(object)));
        }
        if !matches!(function.place, Place::Task(_) | Place::Object) {
            stack.push(frame(&function_name(function, object)));
        }
        *stacks.entry(stack).or_default() += function.ticks();
    }
    let line = |(stack, ticks): (Vec<String>, u64)| format!("{} {ticks}", stack.join(";"));
    stacks.into_iter().map(line).collect()
}

fn whose_frame(profile: &Profile, function: &Function) -> String {
    let mut name = frame(&whose::comm(profile, function));
    if let Some(task) = whose::task_of(profile, function) {
        name += &format!("-{}", task.tgid);
        if let Some(tid) = task.tid {
            name += &format!("/{tid}");
        }
    }
    name
}

/// A name as one frame. A semicolon would begin another frame, and a number after a blank at the end
/// would be read as a count: both are written out, as what a terminal would obey is.
fn frame(name: &str) -> String {
    if name.is_empty() {
        return "[no name]".to_owned();
    }
    let mut name = printable(name).replace(';', "\\u{3b}");
    if let Some((head, tail)) = name.rsplit_once(char::is_whitespace)
        && tail
            .chars()
            .all(|digit| digit.is_ascii_digit() || digit == '.')
    {
        name = format!("{head}\\u{{20}}{tail}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn a_name_is_one_frame() {
        assert_eq!(frame("f(int, char) const"), "f(int, char) const");
        assert_eq!(frame("a;b\nc"), "a\\u{3b}b\\u{a}c");
        assert_eq!(frame("worker 12"), "worker\\u{20}12");
        assert_eq!(frame("worker 1.5"), "worker\\u{20}1.5");
        assert_eq!(frame("worker 12b"), "worker 12b");
        assert_eq!(frame("trailing "), "trailing\\u{20}");
        assert_eq!(frame(""), "[no name]");
    }
}
