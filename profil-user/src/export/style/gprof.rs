//! As `gprof -p` prints it. Calls are not counted, so their columns are empty, as gprof has them for a
//! function that was not built with `-pg`.

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
    const TAKEN: usize = 54;

    let (rate, unit) = (page.time.rate(), page.time.unit());
    writeln!(
        out,
        "Flat profile:\n\nEach sample counts as {} {unit}.",
        general(1.0 / rate)
    )?;
    if page.parts.is_empty() {
        let empty = match page.total {
            0 => " no time accumulated",
            _ => page.empty,
        };
        writeln!(out, "{empty}\n")?;
    }
    for part in &page.parts {
        if let Some(head) = &part.head {
            writeln!(out, "\n{head}")?;
        }
        let columns = ["%  ", "cumulative", "self  ", "", "self  ", "total ", ""];
        let [share, sum, own, calls, per_call, of_all, name] = columns;
        writeln!(
            out,
            "{share:>5} {sum:>10} {own:>8} {calls:>8} {per_call:>8} {of_all:>8}  {name:<8}"
        )?;
        let (calls, per_call, name) = ("calls", "Ts/call", "name");
        writeln!(
            out,
            "{:>5} {unit:>9.9}  {unit:>8.8} {calls:>8} {per_call:>8} {per_call:>8}  {name:<8}",
            "time"
        )?;
        let total = part.total;
        let (functions, more) = shown(part.functions, layout, total);
        let mut so_far = 0;
        for function in functions {
            so_far += function.ticks();
            writeln!(
                out,
                "{:6.2} {:9.2} {:8.2} {:8} {:8} {:8}  {}",
                percent(function.ticks(), total),
                so_far as f64 / rate,
                function.ticks() as f64 / rate,
                "",
                "",
                "",
                name_of(page, function, layout, TAKEN),
            )?;
        }
        out.write_all(more.as_bytes())?;
    }
    writeln!(out, "\n{}", page.head)?;
    page.write_tail(layout, out)
}

/// A positive number as `%g` of printf(3) has it: six digits, without zeros at the end.
fn general(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return trimmed(&format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::general;

    /// What printf(1) says.
    #[test]
    fn numbers_are_as_short_as_c_has_them() {
        for (number, text) in [
            (0.01, "0.01"),
            (1.0, "1"),
            (0.001_003_009, "0.00100301"),
            (0.000_1, "0.0001"),
            (0.000_01, "1e-05"),
            (0.000_012_345_678, "1.23457e-05"),
            (123_456.7, "123457"),
            (1_234_567.0, "1.23457e+06"),
        ] {
            assert_eq!(general(number), text);
        }
    }
}
