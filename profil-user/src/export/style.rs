//! Reports in the manner of other tools, for eyes and scripts that are used to them.
//!
//! Numbers, names and notes are those of our own report. What those tools have and a histogram has not,
//! such as numbers of calls, stays empty.

pub(super) mod gprof;
pub(super) mod perf;
pub(super) mod prof;

use super::{
    page::Page,
    table::{and_more, function_name, shorten},
    text::Layout,
};
use crate::symbolize::Function;

/// In whose manner a report is laid out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Style {
    /// Our own.
    #[default]
    Flat,
    /// That of perf(1), `perf report --stdio`.
    Perf,
    /// That of gprof(1), `gprof -p`.
    Gprof,
    /// That of prof(1) in System V.
    Prof,
}

/// The rows that there is room for, and what is said of the others.
fn shown(functions: &[Function], layout: Layout, total: u64) -> (&[Function], String) {
    let rows = layout.rows.unwrap_or(usize::MAX).min(functions.len());
    let (shown, others) = functions.split_at(rows);
    if others.is_empty() {
        return (shown, String::new());
    }
    let ticks = others.iter().map(Function::ticks).sum();
    let more = and_more((others.len(), ticks), total, layout.errors);
    (shown, more)
}

/// A row's name, in what a line has left after `taken` columns.
fn name_of(page: &Page<'_>, function: &Function, layout: Layout, taken: usize) -> String {
    let name = function_name(function, &page.objects[function.object.index()]);
    match layout.width {
        Some(width) => shorten(&name, width.saturating_sub(taken).max(8)),
        None => name,
    }
}
