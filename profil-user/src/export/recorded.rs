//! The flat profile of files that were written earlier: the same table, and then where the
//! numbers come from. What became of each tick is not known any more.

use std::io::{self, Write};

use super::{
    escape::printable,
    page::{Page, Part},
    table::{Time, object_name},
    text::Layout,
};
use crate::{
    import::gmon::Variant,
    profile::ElfClass,
    recorded::{Recorded, Source},
    symbolize::Function,
};

/// Writes the whole report.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    recorded: &Recorded,
    functions: &[Function],
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let rate = f64::from(recorded.clock.rate.get());
    let unit = recorded.clock.unit();
    let executable = object_name(&recorded.objects[0]);
    let ticks = recorded.ticks();
    let parts = [Part {
        head: None,
        comm: executable.clone(),
        functions,
        total: ticks,
    }];
    let notes = notes(recorded, &executable).into_iter();
    let notes = notes.map(|note| format!("note: {note}"));
    let sources = recorded.sources.iter();
    let sources = sources.map(|source| format!("from: {}", source_text(source, rate)));
    let page = Page {
        head: format!(
            "{executable}: {ticks} ticks, {:.2} {}",
            ticks as f64 / rate,
            printable(&unit)
        ),
        objects: &recorded.objects,
        time: Time::Sum(rate, unit),
        total: ticks,
        parts: parts
            .into_iter()
            .filter(|part| !part.functions.is_empty())
            .collect(),
        empty: match ticks {
            0 => {
                "no ticks: the program used less CPU time than one tick stands for, or its clock was off"
            }
            _ => "there are ticks, but none that the filters let through",
        },
        tail: notes.chain(sources).collect(),
    };
    page.write(layout, out)
}

fn notes(recorded: &Recorded, executable: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if recorded.shared > 0 {
        notes.push(format!(
            "{} ticks are in bins that lie in several functions, each of which has its part by the \
             bytes that it has there",
            recorded.shared
        ));
    }
    if recorded.outside > 0 {
        notes.push(format!(
            "{} ticks are where {executable} has no text: is it the program that was profiled, as \
             it was then?",
            recorded.outside
        ));
    }
    if let Some(width) = recorded.grouped {
        notes.push(format!(
            "addresses without a name are too many: each line stands for {width} bytes of text"
        ));
    }
    notes
}

fn source_text(source: &Source, rate: f64) -> String {
    let format = match source.variant {
        Variant::Gnu => "gmon.out",
        Variant::Bsd44 => "4.4BSD gmon.out",
    };
    let bits = match source.class {
        ElfClass::Elf32 => 32,
        ElfClass::Elf64 => 64,
    };
    let mut text = format!(
        "{} ({format}, {bits}-bit): {} ticks at rate {rate}, {} bins",
        printable(&source.path.to_string_lossy()),
        source.ticks,
        source.bins,
    );
    let (narrow, wide) = source.widths;
    if source.bins > 0 {
        let (narrow, wide) = (bytes(narrow), bytes(wide));
        text += &match narrow == wide {
            true => format!(" of {narrow} bytes"),
            false => format!(" of {narrow} to {wide} bytes"),
        };
    }
    if source.ranges > 1 {
        text += &format!(" in {} ranges", source.ranges);
    }
    if source.calls > 0 {
        text += &format!("; {} kinds of call, not shown", source.calls);
    }
    text
}

/// A width, with as many digits as it needs.
fn bytes(width: f64) -> String {
    let text = format!("{width:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
