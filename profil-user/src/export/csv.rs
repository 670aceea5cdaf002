//! The rows as comma-separated values (RFC 4180), for spreadsheets and data frames.
//!
//! Names come from the profiled programs, and a spreadsheet takes for a formula what begins with one of a
//! few characters: an apostrophe goes before it, also after a semicolon, which begins a cell in countries
//! where a comma is in numbers. What a terminal would obey is written out.

use std::io::{self, Write};

use super::{
    escape::printable,
    table::{object_name, percent},
    whose,
};
use crate::{
    profile::{Profile, share_error},
    symbolize::{Function, Place},
};

/// What the columns are.
const HEADS: &str = "pid,tid,comm,object,address,function,unnamed,file,line,user_ticks,system_ticks,ticks,seconds,percent";

/// Writes a profile, by its rows; with `errors`, the last column is the standard error of the share.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profile: &Profile,
    functions: &[Function],
    errors: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let total = profile.ticks();
    let head = if errors { ",error" } else { "" };
    write!(out, "{HEADS}{head}\r\n")?;
    for function in functions {
        let task = whose::task_of(profile, function);
        let (file, line) = match &function.place {
            Place::Line(line) => (text(&line.file), line.number.to_string()),
            _ => Default::default(),
        };
        let name = match &function.name {
            // Several functions can have a part of one line.
            Ok(name) if function.is_of_function() => text(name),
            _ => String::new(),
        };
        let why = function.name.as_ref().err().map(ToString::to_string);
        let cells = [
            task.map_or_else(String::new, |task| task.tgid.to_string()),
            task.and_then(|task| task.tid)
                .map_or_else(String::new, |tid| tid.to_string()),
            text(&whose::comm(profile, function)),
            match function.place {
                Place::Task(_) => String::new(),
                _ => text(&object_name(profile.object(function.object))),
            },
            match function.place {
                Place::Task(_) | Place::Object => String::new(),
                _ => format!("{:#x}", function.address),
            },
            name,
            text(&why.unwrap_or_default()),
            file,
            line,
            function.user.to_string(),
            function.system.to_string(),
            function.ticks().to_string(),
            format!("{:.6}", profile.rate.seconds(function.ticks())),
            format!("{:.4}", percent(function.ticks(), total)),
        ];
        write!(out, "{}", cells.join(","))?;
        if errors {
            write!(out, ",{:.4}", 100.0 * share_error(function.ticks(), total))?;
        }
        write!(out, "\r\n")?;
    }
    Ok(())
}

/// A text as a cell, which is no formula and does not end early.
fn text(text: &str) -> String {
    let text = printable(text);
    if text.is_empty() {
        return String::new();
    }
    let parts: Vec<_> = text.split(';').map(guarded).collect();
    format!("\"{}\"", parts.join(";").replace('"', "\"\""))
}

/// The beginning of a cell, which no spreadsheet takes for a formula.
fn guarded(part: &str) -> String {
    let first =
        part.trim_start_matches(|character: char| character.is_whitespace() || character == '"');
    // The wide ones are taken for the same where those are written.
    let is_formula = first.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if is_formula {
        format!("'{part}")
    } else {
        part.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_cell_is_no_formula() {
        for (name, cell) in [
            ("f(int, char)", r#""f(int, char)""#),
            ("=1+1", r#""'=1+1""#),
            (" -2", r#""' -2""#),
            ("\u{3000}＝1", "\"'\u{3000}＝1\""),
            ("a;@x;b", r#""a;'@x;b""#),
            (r#"a;"=x""#, r#""a;'""=x""""#),
            ("\t=1", r#""\u{9}=1""#),
            ("operator-", r#""operator-""#),
            ("", ""),
        ] {
            assert_eq!(text(name), cell, "{name:?}");
        }
    }
}
