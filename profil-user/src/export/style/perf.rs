//! As `perf report --stdio` prints it: one list, most first, with everything else in comments.

use std::{
    cmp::Reverse,
    io::{self, Write},
};

use unicode_width::UnicodeWidthStr as _;

use crate::{
    export::{
        escape::printable,
        page::{Page, Part},
        style::name_of,
        table::{and_more, error_text, object_name, pad, percent, shorten},
        text::Layout,
    },
    profile::ObjectKind,
    symbolize::{Function, Place},
};

const HEADS: [&str; 4] = ["Overhead", "Command", "Shared Object", "Symbol"];

/// Columns of a share's error, which perf does not show.
const ERROR_WIDTH: usize = 7;

pub(in crate::export) fn write(
    page: &Page<'_>,
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let total = page.total;
    let mut rows: Vec<_> = page
        .parts
        .iter()
        .flat_map(|part| {
            part.functions
                .iter()
                .map(|function| (page.comm_of(part, function), function))
        })
        .collect();
    // What has as many ticks keeps its order.
    rows.sort_by_key(|(_, function)| Reverse(function.ticks()));
    let others = rows.split_off(layout.rows.unwrap_or(usize::MAX).min(rows.len()));
    // Names of functions have what is left of a terminal.
    let cut = |name: &str| {
        layout
            .width
            .map_or_else(|| name.to_owned(), |all| shorten(name, all / 5))
    };
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(comm, function)| (cut(&comm), cut(&page.object_of(function)), function))
        .collect();
    let widest = |head: &str, cells: &mut dyn Iterator<Item = usize>| {
        cells.max().unwrap_or(0).max(head.width())
    };
    let command = widest(HEADS[1], &mut rows.iter().map(|(comm, ..)| comm.width()));
    let object = widest(
        HEADS[2],
        &mut rows.iter().map(|(_, object, _)| object.width()),
    );

    writeln!(out, "# {}\n#\n# Samples: {total}\n#", page.head)?;
    let dots = |width| ".".repeat(width);
    let line = |[share, comm, in_object, symbol]: [&str; 4], error: &str| {
        let (comm, in_object) = (pad(comm, command), pad(in_object, object));
        let error = match layout.errors {
            true => format!("{error:>ERROR_WIDTH$}  "),
            false => String::new(),
        };
        format!("{share:>8}  {error}{comm}  {in_object}  {symbol}")
    };
    writeln!(out, "# {}", line(HEADS, "Error"))?;
    let widths = [dots(8), dots(command), dots(object), dots(HEADS[3].len())];
    let widths = widths.each_ref().map(|dots| &**dots);
    writeln!(out, "# {}\n#", line(widths, &dots(ERROR_WIDTH)))?;
    // Two blanks, four columns with two blanks between them, and the mark of the mode.
    let error = if layout.errors { ERROR_WIDTH + 2 } else { 0 };
    let taken = 2 + 8 + 2 + error + command + 2 + object + 2 + 4;
    for (comm, in_object, function) in rows {
        let share = format!("{:.2}%", percent(function.ticks(), total));
        let kind = &page.objects[function.object.index()].kind;
        let mark = match (&function.place, kind) {
            (Place::Task(_), _) => "",
            (_, ObjectKind::Kernel) => "[k] ",
            _ => "[.] ",
        };
        let symbol = format!("{mark}{}", name_of(page, function, layout, taken));
        let error = error_text(function.ticks(), total);
        writeln!(
            out,
            "  {}",
            line([&share, &comm, &in_object, &symbol], &error)
        )?;
    }
    if page.parts.is_empty() {
        writeln!(out, "# {}", page.empty)?;
    }
    if !others.is_empty() {
        let ticks = others.iter().map(|(_, function)| function.ticks()).sum();
        write!(
            out,
            "# {}",
            and_more((others.len(), ticks), total, layout.errors)
        )?;
    }
    writeln!(out, "\n#")?;
    let left_out = page.filtered_out(layout);
    let mut lines = left_out.iter().chain(&page.tail);
    lines.try_for_each(|line| writeln!(out, "# {line}"))
}

impl Page<'_> {
    fn comm_of(&self, part: &Part<'_>, function: &Function) -> String {
        match &function.place {
            Place::Task(Some(task)) => printable(&task.name).into_owned(),
            _ => part.comm.clone(),
        }
    }

    fn object_of(&self, function: &Function) -> String {
        match function.place {
            // It is in no object of its own.
            Place::Task(_) => String::new(),
            _ => object_name(&self.objects[function.object.index()]),
        }
    }
}
