//! What changed between two profiles, for people: one line a change, then how sure that is.

use std::io::{self, Write};

use super::{
    escape::printable,
    page::fold,
    table::{self, Row},
    text::Layout,
};
use crate::{
    compare::{BY_CHANCE, Change, Diff, Measure},
    profile::Profile,
    symbolize::Grouping,
};

/// Writes the whole comparison of two profiles, which have names.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profiles: [(&str, &Profile); 2],
    diff: &Diff,
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    for (letter, (name, profile)) in ["A", "B"].into_iter().zip(profiles) {
        let text = format!(
            "{letter}: {}: {}, {} ticks at {} Hz, {:.2} s of CPU time",
            printable(name),
            printable(&profile.subject.to_string()),
            profile.ticks(),
            profile.rate,
            profile.balance.due_ns as f64 / 1e9,
        );
        writeln!(out, "{}", fold(&text, layout.width))?;
    }
    writeln!(out)?;
    let shown = layout.rows.unwrap_or(usize::MAX).min(diff.changes.len());
    let rows: Vec<Row> = diff.changes[..shown]
        .iter()
        .map(|change| row(change, diff.measure))
        .collect();
    table::write_rows(&heads(diff), &rows, layout, out)?;
    if shown < diff.changes.len() {
        let left = diff.changes.len() - shown;
        writeln!(
            out,
            "and {left} smaller changes (pipe the output to see all)"
        )?;
    }
    writeln!(out)?;
    let all = diff.changes.len();
    let significant = diff.changes.iter().filter(|change| change.is_significant());
    let text = format!(
        "{} of {all} changes are more than 2 standard errors; chance alone makes about {:.0} of \
         {all} so",
        significant.count(),
        BY_CHANCE * all as f64,
    );
    writeln!(out, "{}", fold(&text, layout.width))
}

fn heads(diff: &Diff) -> Row {
    let [before, after] = match diff.measure {
        Measure::Share => ["A%", "B%"],
        Measure::Seconds => ["A s", "B s"],
    };
    let name = match diff.grouping {
        Grouping::Line => "line",
        Grouping::Object => "object",
        _ => "function",
    };
    Row {
        numbers: ["change", "error", before, after, ""]
            .map(str::to_owned)
            .into(),
        name: name.to_owned(),
        object: match diff.grouping {
            Grouping::Object => String::new(),
            _ => "object".to_owned(),
        },
    }
}

fn row(change: &Change, measure: Measure) -> Row {
    let digits = match measure {
        Measure::Share => 2,
        Measure::Seconds => 3,
    };
    let [before, after] = change.amounts.map(|amount| format!("{amount:.digits$}"));
    let object = printable(&change.object).into_owned();
    Row {
        numbers: vec![
            format!("{:+.digits$}", change.change()),
            format!("± {:.digits$}", change.error),
            before,
            after,
            match change.is_significant() {
                true => String::new(),
                false => "not significant".to_owned(),
            },
        ],
        // An object is not in itself.
        object: if change.name == object {
            String::new()
        } else {
            object
        },
        name: change.name.clone(),
    }
}
