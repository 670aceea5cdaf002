//! A report for people: what it is about, the rows, and what to know of them.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use super::{
    style::{self, Style},
    table::{self, Time, share_text},
    text::Layout,
};
use crate::{profile::Object, symbolize::Function};

/// What is in a report. Texts are fit for a terminal.
pub(super) struct Page<'a> {
    /// What it is of.
    pub(super) head: String,
    pub(super) objects: &'a [Object],
    pub(super) time: Time,
    /// All that was counted, also what has no row.
    pub(super) total: u64,
    /// The rows; those of each task, where tasks are kept apart.
    pub(super) parts: Vec<Part<'a>>,
    /// What is said where there are none.
    pub(super) empty: &'static str,
    /// What to know.
    pub(super) tail: Vec<String>,
}

/// Rows that belong together.
pub(super) struct Part<'a> {
    /// Whose they are, if they are apart.
    pub(super) head: Option<String>,
    /// The same in a word.
    pub(super) comm: String,
    pub(super) functions: &'a [Function],
    /// What their shares are of.
    pub(super) total: u64,
}

impl Page<'_> {
    pub(super) fn write(&self, layout: Layout, out: &mut impl Write) -> io::Result<()> {
        match layout.style {
            Style::Flat => self.write_flat(layout, out),
            Style::Perf => style::perf::write(self, layout, out),
            Style::Gprof => style::gprof::write(self, layout, out),
            Style::Prof => style::prof::write(self, layout, out),
        }
    }

    fn write_flat(&self, layout: Layout, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}\n", fold(&self.head, layout.width))?;
        if self.parts.is_empty() {
            writeln!(out, "{}", fold(self.empty, layout.width))?;
        }
        let mut gap = "";
        for part in &self.parts {
            if let Some(head) = &part.head {
                writeln!(out, "{gap}{}", fold(head, layout.width))?;
                gap = "\n";
            }
            let rows = (part.functions, part.total);
            table::write(self.objects, &self.time, rows, layout, out)?;
        }
        writeln!(out)?;
        self.write_tail(layout, out)
    }

    /// What the filters have left out, if anything.
    pub(super) fn filtered_out(&self, layout: Layout) -> Option<String> {
        let rows = self.parts.iter().flat_map(|part| part.functions);
        let left_out = self.total.saturating_sub(rows.map(Function::ticks).sum());
        (left_out > 0).then(|| {
            let share = share_text(left_out, self.total, layout.errors);
            format!("filtered out: {left_out} ticks, {share}")
        })
    }

    /// What to know, after the rows.
    pub(super) fn write_tail(&self, layout: Layout, out: &mut impl Write) -> io::Result<()> {
        let left_out = self.filtered_out(layout);
        let mut lines = left_out.iter().chain(&self.tail);
        lines.try_for_each(|line| writeln!(out, "{}", fold(line, layout.width)))
    }
}

/// Breaks a line at blanks so that it fits a terminal; without one it stays a line.
pub(super) fn fold(text: &str, width: Option<usize>) -> String {
    const INDENT: &str = "  ";

    let Some(width) = width else {
        return text.to_owned();
    };
    let mut folded = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        if used > INDENT.len() && used + 1 + word.width() > width {
            folded.push('\n');
            folded += INDENT;
            used = INDENT.len();
        } else if used > 0 {
            folded.push(' ');
            used += 1;
        }
        folded += word;
        used += word.width();
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn prose_is_broken_at_blanks() {
        assert_eq!(
            fold("balance: runs 1 = binned 1", None),
            "balance: runs 1 = binned 1"
        );
        assert_eq!(
            fold("balance: runs 1 = binned 1", Some(15)),
            "balance: runs 1\n  = binned 1"
        );
        assert_eq!(fold("unbreakable words", Some(4)), "unbreakable\n  words");
        assert_eq!(fold("", Some(4)), "");
    }
}
