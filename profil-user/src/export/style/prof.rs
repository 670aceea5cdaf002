//! As prof(1) of System V printed it. Calls are not counted.

use std::io::{self, Write};

use crate::export::{
    page::Page,
    style::{name_of, shown},
    table::percent,
    text::Layout,
};

pub(in crate::export) fn write(
    page: &Page<'_>,
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    /// Columns before the name.
    const TAKEN: usize = 44;

    let rate = page.time.rate();
    let (own, sum) = match &*page.time.unit() {
        "seconds" => ("Seconds".to_owned(), "Cumsecs"),
        unit => (unit.to_owned(), "Cum"),
    };
    for part in &page.parts {
        if let Some(head) = &part.head {
            writeln!(out, "{head}")?;
        }
        let (calls, per_call) = ("#Calls", "msec/call");
        writeln!(
            out,
            "{:>6}{own:>8.7}{sum:>8}{calls:>8}{per_call:>12}  Name",
            "%Time"
        )?;
        let total = part.total;
        let (functions, more) = shown(part.functions, layout, total);
        let mut so_far = 0;
        for function in functions {
            so_far += function.ticks();
            writeln!(
                out,
                "{:6.1}{:8.2}{:8.2}{:8}{:12}  {}",
                percent(function.ticks(), total),
                function.ticks() as f64 / rate,
                so_far as f64 / rate,
                "",
                "",
                name_of(page, function, layout, TAKEN),
            )?;
        }
        writeln!(out, "{more}")?;
    }
    if page.parts.is_empty() {
        writeln!(out, "{}\n", page.empty)?;
    }
    writeln!(out, "{}", page.head)?;
    page.write_tail(layout, out)
}
