//! The table of figures.

use std::fmt;

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) what: &'static str,
    /// The profiler's value.
    pub(crate) measured: String,
    /// What it stands beside, from the same run.
    pub(crate) beside: String,
    /// The first over the second, where that means something.
    pub(crate) ratio: Option<f64>,
    /// What it should be.
    pub(crate) target: &'static str,
}

/// All figures, and what a reader must know about them.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl Report {
    /// Adds a line to the table.
    pub(crate) fn figure(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Adds a line below the table.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds the lines that there are.
    pub(crate) fn notes(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes.extend(notes);
    }
}

const HEADINGS: [&str; 5] = ["figure", "measured", "peer or floor", "ratio", "target"];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![HEADINGS.map(str::to_owned)];
        lines.extend(self.figures.iter().map(|figure| {
            let ratio = figure.ratio.map(|ratio| format!("{ratio:.2}"));
            [
                figure.what.to_owned(),
                figure.measured.clone(),
                figure.beside.clone(),
                ratio.unwrap_or_else(|| "-".to_owned()),
                figure.target.to_owned(),
            ]
        }));
        let widths: [usize; HEADINGS.len()] = std::array::from_fn(|column| {
            let width = |line: &[String; HEADINGS.len()]| line[column].chars().count();
            lines.iter().map(width).max().unwrap_or(0)
        });
        for line in &lines {
            let cells: Vec<_> = line
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        for note in &self.notes {
            writeln!(f, "- {note}")?;
        }
        Ok(())
    }
}

/// A time in a unit that suits it.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        0.0..1e4 => format!("{ns:.0} ns"),
        1e4..1e6 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

/// A part of a whole.
pub(crate) fn percent(part: f64) -> String {
    let digits = if part.abs() < 0.01 { 3 } else { 2 };
    format!("{:.digits$} %", part * 100.0)
}

/// Bytes in MiB.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
