//! The flat profile of files that other tools wrote: the same table, and where the numbers come from.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{
    escape::printable,
    page::{Page, Part},
    table::Time,
    text::Layout,
};
use crate::{pprof::Other, symbolize::Function};

/// Writes the whole report.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    other: &Other,
    path: &Path,
    functions: &[Function],
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let (unit, rate) = &other.shown;
    let (kind, counted_in) = &other.value;
    let are_counts = &**counted_in == "count";
    let total = other.total();
    let name = path.file_name().unwrap_or(path.as_os_str());
    let parts = [Part {
        head: None,
        comm: printable(&name.to_string_lossy()).into_owned(),
        functions,
        total,
    }];
    let comments = other.comments.iter();
    let comments = comments.map(|comment| format!("note: {}", printable(comment)));
    let not_known = (layout.errors && !are_counts).then(|| {
        let unit = printable(counted_in);
        format!("note: its values are {unit}, not counts, so their errors are not known")
    });
    let from = format!(
        "from: {} (pprof): {} samples, by the innermost function",
        printable(&path.to_string_lossy()),
        other.samples,
    );
    let page = Page {
        head: format!(
            "{}: {total} {} of {}, {:.2} {}",
            printable(&name.to_string_lossy()),
            printable(counted_in),
            printable(kind),
            total as f64 / rate,
            printable(unit),
        ),
        objects: &other.objects,
        time: Time::Sum(*rate, unit.to_string()),
        total,
        parts: parts
            .into_iter()
            .filter(|part| !part.functions.is_empty())
            .collect(),
        empty: match total {
            0 => "there is nothing in it",
            _ => "there is nothing in it that the filters let through",
        },
        tail: not_known
            .into_iter()
            .chain(comments)
            .chain([from])
            .collect(),
    };
    // Bytes and nanoseconds are no draws: how many there were is not known.
    let errors = layout.errors && are_counts;
    page.write(Layout { errors, ..layout }, out)
}
