//! Rows with ticks, in columns that fit; as many as there is room for.

use std::{
    cmp::Reverse,
    io::{self, Write},
};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::Sum;
use crate::export::{
    table::{pad, percent, shorten},
    text::Layout,
};

/// Rows that are shown with one that has ticks, before it and after.
const NEIGHBOURS: usize = 2;

/// Widest column of keys: what is wider pushes its own text aside.
const WIDEST_KEY: usize = 40;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The line or the address.
    pub(super) key: String,
    pub(super) text: String,
    /// What stands behind it.
    pub(super) note: Option<String>,
    /// Whether the row before it says so already.
    pub(super) repeats_note: bool,
    pub(super) sum: Sum,
    /// Whether it stands for others that are not in the list.
    is_gap: bool,
}

impl Row {
    pub(super) const fn new(key: String, text: String, sum: Sum) -> Self {
        Self {
            key,
            text,
            note: None,
            repeats_note: false,
            sum,
            is_gap: false,
        }
    }

    /// Something is left out here.
    pub(super) fn gap() -> Self {
        Self {
            is_gap: true,
            ..Self::new(String::new(), String::new(), Sum { user: 0, system: 0 })
        }
    }

    /// The same for a list without the one before it.
    pub(super) fn alone(&self) -> Self {
        Self {
            repeats_note: false,
            ..self.clone()
        }
    }

    /// The same under another key.
    pub(super) fn at(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            text: self.text.trim_start().to_owned(),
            ..self.clone()
        }
    }
}

/// A list of them.
pub(super) struct Rows<'a> {
    pub(super) title: &'a str,
    /// What the two columns of text are.
    pub(super) keys: [&'a str; 2],
    pub(super) rows: &'a [Row],
    /// What shares are of.
    pub(super) total: u64,
    /// Whether system ticks have a column.
    pub(super) with_system: bool,
}

impl Rows<'_> {
    /// Writes the list and an empty line.
    pub(super) fn write(&self, layout: Layout, out: &mut impl Write) -> io::Result<()> {
        let width = layout.width.unwrap_or(usize::MAX);
        writeln!(out, "{}", shorten(self.title, width))?;
        let hottest = self.rows.iter().map(|row| row.sum.ticks()).max();
        let keys = self.rows.iter().map(|row| row.key.width());
        let key_width = keys
            .chain([self.keys[0].width()])
            .max()
            .unwrap_or(0)
            .min(WIDEST_KEY);
        let numbers = if self.with_system {
            ["share", "user", "system"].as_slice()
        } else {
            ["share", "ticks"].as_slice()
        };
        let before = 1 + numbers.len() * NUMBER + 2 + key_width + 2;
        let room = width.saturating_sub(before).max(TEXT_MIN);
        // Notes stand in a column of their own, as near as texts let them.
        let is_noted = |row: &&Row| row.note.is_some() && !row.repeats_note;
        let noted = self.rows.iter().filter(is_noted);
        let texts = noted.map(|row| row.text.width());
        let text_width = texts.max().unwrap_or(0).min(NOTE_COLUMN);
        let mut line = |numbers: String, mark: char, key: &str, text: &str| {
            let line = format!("{mark}{numbers}  {key:>key_width$}  {text}");
            writeln!(out, "{}", line.trim_end())
        };
        let heads = numbers.iter().map(|head| format!("{head:>NUMBER$}"));
        let heads = heads.collect();
        line(heads, ' ', self.keys[0], self.keys[1])?;
        let shown = visible(self.rows, layout.rows);
        let mut rest = self.rows.iter().zip(shown).peekable();
        while let Some((row, is_shown)) = rest.next() {
            if !is_shown {
                let mut left_out = (1, row.sum.ticks());
                while let Some((row, _)) = rest.next_if(|(_, is_shown)| !is_shown) {
                    left_out = (left_out.0 + 1, left_out.1 + row.sum.ticks());
                }
                let text = match left_out {
                    (rows, 0) => format!("({rows} more)"),
                    (rows, ticks) => format!("({rows} more, {ticks} ticks)"),
                };
                line(self.numbers(Sum::default()), ' ', "…", &text)?;
            } else if row.is_gap {
                line(self.numbers(Sum::default()), ' ', "…", "")?;
            } else {
                let ticks = row.sum.ticks();
                let is_hottest = ticks > 0 && hottest == Some(ticks);
                let mark = if is_hottest { '>' } else { ' ' };
                let note = row.note.as_ref().filter(|_| !row.repeats_note);
                let note = note.map(|note| shorten(note, room / 2));
                let text = match note {
                    Some(note) => {
                        let room = room.saturating_sub(note.width() + 2).max(1);
                        let text = pad(&cut(&row.text, room), text_width.min(room));
                        format!("{text}  {note}")
                    }
                    None => cut(&row.text, room),
                };
                line(self.numbers(row.sum), mark, &row.key, &text)?;
            }
        }
        writeln!(out)
    }

    /// The columns of numbers; blank where there is nothing, so that what there is can be seen.
    fn numbers(&self, sum: Sum) -> String {
        let cell = |text: Option<String>| format!("{:>NUMBER$}", text.unwrap_or_default());
        let ticks = |ticks: u64| cell((ticks > 0).then(|| ticks.to_string()));
        let all = sum.ticks();
        let share = cell((all > 0).then(|| format!("{:.2}", percent(all, self.total))));
        if self.with_system {
            share + &ticks(sum.user) + &ticks(sum.system)
        } else {
            share + &ticks(all)
        }
    }
}

/// Fewest columns left to a text, however narrow the terminal.
const TEXT_MIN: usize = 8;

/// Columns of a number: a blank, and as many digits as ticks have, as a rule.
const NUMBER: usize = 8;

/// Where notes begin at the latest, behind a text that leaves room.
const NOTE_COLUMN: usize = 40;

/// Cuts off the end of a text that is wider than `width` columns: of code, the beginning tells more.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(character);
    }
    cut.push('…');
    cut
}

/// Which rows there is room for: those with most ticks, and their neighbours.
fn visible(rows: &[Row], room: Option<usize>) -> Vec<bool> {
    let Some(room) = room.filter(|&room| rows.len() > room) else {
        return vec![true; rows.len()];
    };
    let mut with_ticks: Vec<_> = (0..rows.len())
        .filter(|&index| rows[index].sum.ticks() > 0)
        .collect();
    with_ticks.sort_by_key(|&index| Reverse(rows[index].sum.ticks()));
    let mut shown = vec![false; rows.len()];
    let mut left = room;
    for index in with_ticks {
        let near = index.saturating_sub(NEIGHBOURS)..(index + NEIGHBOURS + 1).min(rows.len());
        let new = near.clone().filter(|&index| !shown[index]).count();
        if new > left {
            break;
        }
        left -= new;
        shown[near].fill(true);
    }
    // To say that one row is left out takes as much room as the row.
    for index in 0..rows.len() {
        let is_shown =
            |index: Option<usize>| index.and_then(|index| shown.get(index)).unwrap_or(&true);
        let (before, after) = (index.checked_sub(1), index.checked_add(1));
        shown[index] |= *is_shown(before) && *is_shown(after);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Row, Sum, cut, visible};

    fn rows(ticks: &[u64]) -> Vec<Row> {
        let row = |&user| Row::new(String::new(), String::new(), Sum { user, system: 0 });
        ticks.iter().map(row).collect()
    }

    #[test]
    fn code_loses_its_end() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("関数関数", 6), "関数…");
        assert_eq!(cut("abcd", 1), "…");
    }

    #[test]
    fn neighbourhoods_of_ticks_are_shown_while_there_is_room() {
        let mut ticks = vec![0; 30];
        (ticks[4], ticks[20], ticks[22], ticks[29]) = (7, 9, 1, 3);
        let all = rows(&ticks);
        assert!(visible(&all, None).iter().all(|shown| *shown));
        assert!(visible(&all, Some(30)).iter().all(|shown| *shown));
        let places = |room| -> Vec<usize> {
            let shown = visible(&all, Some(room));
            (0..30).filter(|&index| shown[index]).collect()
        };
        assert_eq!(places(12), [2, 3, 4, 5, 6, 18, 19, 20, 21, 22]);
        // One row is no gap.
        let shown = visible(&rows(&[0, 0, 0, 9, 0, 0, 0, 0, 0]), Some(5));
        assert_eq!(
            shown,
            [true, true, true, true, true, true, false, false, false]
        );
        assert_eq!(places(15).last(), Some(&29));
        assert_eq!(places(4), [0; 0]);
        assert_eq!(visible(&rows(&[0, 0, 0]), Some(2)), [false; 3]);
    }
}
