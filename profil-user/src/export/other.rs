//! The flat profile of files that other tools wrote: the same table, and where the numbers come from.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{
    escape::printable,
    table::{self, Time},
    text::{Layout, fold},
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
    let say = |text: &str, out: &mut dyn Write| writeln!(out, "{}", fold(text, layout.width));
    let total = other.total();
    let name = path.file_name().unwrap_or(path.as_os_str());
    say(
        &format!(
            "{}: {total} {} of {}, {:.2} {}",
            printable(&name.to_string_lossy()),
            printable(counted_in),
            printable(kind),
            total as f64 / rate,
            printable(unit),
        ),
        out,
    )?;
    say("", out)?;
    if functions.is_empty() {
        say("there is nothing in it", out)?;
    } else {
        let time = Time::Sum(*rate, unit.to_string());
        table::write(&other.objects, &time, functions, layout, out)?;
    }
    say("", out)?;
    for comment in &other.comments {
        say(&format!("note: {}", printable(comment)), out)?;
    }
    let path = printable(&path.to_string_lossy()).into_owned();
    let samples = other.samples;
    say(
        &format!("from: {path} (pprof): {samples} samples, by the innermost function"),
        out,
    )
}
