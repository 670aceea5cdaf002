//! One function for people: its hottest places, then its lines and its instructions with their ticks.

mod rows;

use std::io::{self, Write};

use super::{
    escape::printable,
    page::fold,
    table::{object_name, percent},
    text::Layout,
};
use crate::{
    annotate::{Listing, Remark, SourceFile, SourceLine, Span, Sum},
    profile::Object,
    symbolize::{Function, Line},
};
use rows::{Row, Rows};

/// The hottest places that are listed first.
const HOTTEST: usize = 5;

/// A function of a profile, looked into.
#[derive(Clone, Copy, Debug)]
pub struct Annotated<'a> {
    /// The function, as the flat profile has it.
    pub function: &'a Function,
    /// What it lies in.
    pub object: &'a Object,
    /// What was found inside.
    pub listing: &'a Listing,
    /// All ticks of the profile.
    pub total: u64,
}

/// Writes a function: on a terminal ([`Layout::rows`]) the neighbourhoods of ticks, else all of it.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(annotated: &Annotated<'_>, layout: Layout, out: &mut impl Write) -> io::Result<()> {
    let listing = annotated.listing;
    writeln!(out, "{}\n", fold(&head(annotated), layout.width))?;
    let sources: Vec<_> = listing.sources.iter().map(lines_of).collect();
    let instructions = instructions_of(listing);
    let with_system = listing.sum.system > 0;
    let mut list = |title: &str, keys: [&str; 2], rows: &[Row], layout: Layout| {
        let rows = Rows {
            title,
            keys,
            rows,
            total: listing.sum.ticks(),
            with_system,
        };
        rows.write(layout, out)
    };
    let all = Layout {
        rows: None,
        ..layout
    };
    let hottest = hottest(
        listing
            .sources
            .iter()
            .zip(&sources)
            .flat_map(|(source, rows)| {
                let name = file_name(&source.path);
                rows.iter()
                    .map(move |row| row.at(&format!("{name}:{}", row.key)))
            }),
    );
    if !hottest.is_empty() {
        list("hottest lines", ["line", "source"], &hottest, all)?;
    }
    let hottest = self::hottest(instructions.iter().map(Row::alone));
    list(
        "hottest instructions",
        ["address", "instruction"],
        &hottest,
        all,
    )?;
    for (source, rows) in listing.sources.iter().zip(&sources) {
        // Numbers alone, without ticks, say nothing; and on a terminal there is no room for more.
        let is_bare = source.unread.is_some() || layout.rows.is_some();
        if is_bare && source.sum().ticks() == 0 {
            continue;
        }
        let title = printable(&source.path);
        list(&title, ["line", "source"], rows, layout)?;
    }
    let title = format!("{:#x} to {:#x}", listing.start, listing.end);
    list(&title, ["address", "instruction"], &instructions, layout)?;
    let notes = notes(listing);
    notes
        .iter()
        .try_for_each(|note| writeln!(out, "{}", fold(note, layout.width)))
}

fn head(annotated: &Annotated<'_>) -> String {
    let Annotated {
        function,
        object,
        listing,
        total,
    } = annotated;
    let name = function.name.as_deref().unwrap_or_default();
    let ticks = listing.sum.ticks();
    let mut text = format!(
        "{} in {}: {ticks} ticks, {:.2} % of all {total}",
        printable(name),
        object_name(object),
        percent(ticks, *total)
    );
    if listing.sum.system > 0 {
        let Sum { user, system } = listing.sum;
        text += &format!("; {user} user, {system} system");
    }
    text
}

/// The rows with most ticks.
fn hottest(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<_> = rows.filter(|row| row.sum.ticks() > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.sum.ticks()));
    rows.truncate(HOTTEST);
    rows
}

fn lines_of(source: &SourceFile) -> Vec<Row> {
    let mut rows = Vec::with_capacity(source.lines.len());
    let mut next = None;
    // All of them stand as far to the left as the leftmost.
    let texts = source.lines.iter().filter_map(|line| line.text.as_deref());
    let indent = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let indents = texts.filter(|text| !text.is_empty()).map(indent);
    let indent = indents.min().unwrap_or(0);
    // Without the file there is nothing to see of lines but their ticks.
    let is_seen = |line: &&SourceLine| match source.unread {
        None => line.has_code || line.text.is_some(),
        Some(_) => line.sum.ticks() > 0,
    };
    for line in source.lines.iter().filter(is_seen) {
        if source.unread.is_none() && next.is_some_and(|next| next != line.number) {
            rows.push(Row::gap());
        }
        next = line.number.checked_add(1);
        let text = line.text.as_deref().unwrap_or_default();
        let text = text.get(indent..).unwrap_or_default();
        rows.push(Row::new(
            line.number.to_string(),
            printable(text).into_owned(),
            line.sum,
        ));
    }
    rows
}

/// Instructions with what is in front of them: the line, where it is another one, and ticks of a bin in
/// which several begin.
fn instructions_of(listing: &Listing) -> Vec<Row> {
    let mut rows = Vec::with_capacity(listing.instructions.len());
    let mut spans = listing.spans.iter().peekable();
    let mut line: Option<&Line> = None;
    for (index, one) in listing.instructions.iter().enumerate() {
        while let Some(span) = spans.next_if(|span| span.instructions.start <= index) {
            rows.push(span_row(span, listing));
        }
        let text = match &one.target_name {
            Some(name) => format!("{} <{}>", one.text, printable(name)),
            None => one.text.clone(),
        };
        let mut row = Row::new(format!("{:x}", one.address), text, one.sum);
        let own = one.line.as_ref();
        row.note = own.map(|line| format!("{}:{}", file_name(&line.file), line.number));
        row.repeats_note = index > 0 && own == line;
        line = own;
        rows.push(row);
    }
    rows.extend(spans.map(|span| span_row(span, listing)));
    rows
}

fn span_row(span: &Span, listing: &Listing) -> Row {
    let begin = span.instructions.len();
    let mut text = match begin {
        0 if span.start < listing.end => "(inside of an instruction)".to_owned(),
        0 => "(behind the listed instructions)".to_owned(),
        1 => "(at this instruction, or outside of the function)".to_owned(),
        _ => format!("(at one of these {begin} instructions)"),
    };
    if begin > 1 && span.is_partly_outside {
        text = format!("(at one of these {begin} instructions, or outside of the function)");
    }
    let last = span.end.saturating_sub(1);
    let key = if last == span.start {
        format!("{:x}", span.start)
    } else {
        format!("{:x}-{last:x}", span.start)
    };
    Row::new(key, text, span.sum)
}

fn file_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    printable(name).into_owned()
}

/// What to know of the numbers.
fn notes(listing: &Listing) -> Vec<String> {
    let mut rule =
        "a tick is at the instruction that was next to run: what takes long is as a rule the one \
                    before it"
            .to_owned();
    if listing.sum.system > 0 {
        rule += "; system time is at the instruction at which the process went on: after a system call, or where it \
                 was interrupted";
    }
    let mut notes = vec![rule];
    let in_spans: u64 = listing.spans.iter().map(|span| span.sum.ticks()).sum();
    if in_spans > 0 {
        notes.push(format!(
            "{in_spans} ticks are of bins of which it is not known at which instruction they were; they \
             are shown in front of those that begin there, and in none"
        ));
    }
    let no_line = listing.no_line.ticks();
    if no_line > 0 && !listing.sources.is_empty() {
        notes.push(format!("{no_line} ticks are on no line that is known"));
    }
    let mut unread = listing
        .sources
        .iter()
        .filter_map(|source| Some((source, source.unread.as_ref()?)));
    if let Some((source, why)) = unread.next() {
        let others = match unread.count() {
            0 => String::new(),
            others => format!(" (and of {others} more files)"),
        };
        notes.push(format!(
            "what lines of {} say is not shown: {}{others}; --source-dir names the place of sources",
            printable(&source.path),
            printable(&why.to_string()),
        ));
    }
    for source in listing.sources.iter().filter(|source| source.is_newer) {
        notes.push(format!(
            "{} was written to after the program: its lines may be others now",
            printable(&source.path)
        ));
    }
    notes.extend(listing.remarks.iter().map(|remark| match remark {
        Remark::EndUnknown => {
            "no symbol table says where the function ends: it is shown up to its last tick".to_owned()
        }
        Remark::CutOff { bytes } => format!(
            "the function has {bytes} bytes, of which the first {} are shown",
            listing.end - listing.start
        ),
        Remark::NoDebugInformation => {
            "there is no debug information of it, so there are no lines; --debug-dir names the place of debug files"
                .to_owned()
        }
        Remark::RecordedLines => {
            "there is no debug information any more: lines are those that were recorded where there were ticks"
                .to_owned()
        }
    }));
    notes
        .into_iter()
        .map(|note| format!("note: {note}"))
        .collect()
}

#[cfg(test)]
mod tests;
