//! The flat profile for people: one line a function, then the balance.

use std::io::{self, Write};

use profil_common::Outcome;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::escape::printable;
use crate::{
    profile::{Balance, Note, Object, ObjectKind, Profile},
    symbolize::Function,
};

/// How much room there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Columns of the terminal; `None` for a pipe or a file, where nothing is cut.
    pub width: Option<usize>,
    /// Most functions to list; `None` for all.
    pub rows: Option<usize>,
}

/// Columns that the five numbers take, with their blanks.
const NUMBERS_WIDTH: usize = "100.00 100.00  123456.789  123456.789  1234567890".len();

/// Fewest columns left to a name, however narrow the terminal.
const NAME_MIN: usize = 12;

/// Writes the whole report: what was profiled, the flat profile, what to know, the balance.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profile: &Profile,
    functions: &[Function],
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "pid {} ({}): {} ticks at {} Hz, {:.2} s of CPU time in {:.2} s",
        profile.target,
        printable(&profile.target_name),
        profile.balance.seen(),
        profile.rate,
        profile.balance.due_ns as f64 / 1e9,
        profile.elapsed.as_secs_f64(),
    )?;
    writeln!(out)?;
    if functions.is_empty() {
        writeln!(out, "{}", why_empty(profile))?;
    } else {
        table(profile, functions, layout, out)?;
    }
    writeln!(out)?;
    for note in &profile.notes {
        writeln!(out, "note: {}", note_text(profile, note))?;
    }
    writeln!(out, "{}", balance(&profile.balance))
}

/// One line that says why there is nothing to show.
fn why_empty(profile: &Profile) -> &'static str {
    if profile.balance.tally.runs > 0 {
        "nothing was counted: see the balance for where the ticks went"
    } else if profile.balance.due() < 1.0 {
        "no ticks: the process used less CPU time than one tick stands for"
    } else {
        "no ticks, though the process used CPU time"
    }
}

/// The lines of the flat profile.
fn table(
    profile: &Profile,
    functions: &[Function],
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let total: u64 = functions.iter().map(Function::ticks).sum();
    let shown = layout.rows.unwrap_or(usize::MAX).min(functions.len());
    let rows: Vec<_> = functions[..shown]
        .iter()
        .map(|function| {
            let object = profile.object(function.object);
            (
                function,
                function_name(function, object),
                object_name(object),
            )
        })
        .collect();
    let widest = rows
        .iter()
        .map(|(_, name, _)| name.width())
        .max()
        .unwrap_or(0);
    let widest_object = rows
        .iter()
        .map(|(_, _, object)| object.width())
        .max()
        .unwrap_or(0);
    let (name_width, object_width) = columns(widest, widest_object, layout.width);

    let name_head = pad("function", name_width);
    writeln!(
        out,
        "{:>6} {:>6}  {:>10}  {:>10}  {:>10}  {name_head}  object",
        "self%", "cum%", "user s", "system s", "ticks"
    )?;
    let mut so_far = 0;
    for (function, name, object) in rows {
        so_far += function.ticks();
        writeln!(
            out,
            "{:>6.2} {:>6.2}  {:>10.3}  {:>10.3}  {:>10}  {}  {}",
            percent(function.ticks(), total),
            percent(so_far, total),
            profile.rate.seconds(function.user),
            profile.rate.seconds(function.system),
            function.ticks(),
            pad(&shorten(&name, name_width), name_width),
            shorten(&object, object_width),
        )?;
    }
    if shown < functions.len() {
        let left = functions.len() - shown;
        let share = percent(total - so_far, total);
        writeln!(
            out,
            "and {left} more with {share:.2} % (pipe the output to see all)"
        )?;
    }
    Ok(())
}

/// Shares of the terminal's width for names and objects.
fn columns(widest: usize, widest_object: usize, width: Option<usize>) -> (usize, usize) {
    let widest = widest.max("function".len());
    let widest_object = widest_object.max("object".len());
    let Some(width) = width else {
        return (widest, widest_object);
    };
    let room = width
        .saturating_sub(NUMBERS_WIDTH + 2 * 2)
        .max(2 * NAME_MIN);
    if widest + widest_object <= room {
        return (widest, widest_object);
    }
    // Objects are short, as a rule: they get what they need, up to a third.
    let object = widest_object
        .min((room / 3).max(NAME_MIN))
        .min(room - NAME_MIN);
    (widest.min(room - object), object)
}

fn percent(part: u64, total: u64) -> f64 {
    if total == 0 {
        0.0
    } else {
        100.0 * part as f64 / total as f64
    }
}

/// What to call a function: its name, or its place and the reason why it has none.
pub fn function_name(function: &Function, object: &Object) -> String {
    match &function.name {
        Ok(name) => printable(name).into_owned(),
        Err(why) => match object.kind {
            ObjectKind::File { .. } | ObjectKind::Vdso => {
                format!("{}+{:#x} ({why})", object_name(object), function.address)
            }
            ObjectKind::Anonymous | ObjectKind::Nowhere(_) => {
                format!("{:#x} ({why})", function.address)
            }
        },
    }
}

fn object_name(object: &Object) -> String {
    printable(&object.name()).into_owned()
}

/// Cuts the middle out of a text that is wider than `width` columns: both ends of a name tell
/// more than its middle.
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let take = |characters: &mut dyn Iterator<Item = char>, room: usize| -> Vec<char> {
        let mut used = 0;
        characters
            .take_while(|character| {
                used += character.width().unwrap_or(0);
                used <= room
            })
            .collect()
    };
    let head: String = take(&mut text.chars(), room.div_ceil(2))
        .into_iter()
        .collect();
    let tail: String = take(&mut text.chars().rev(), room / 2)
        .into_iter()
        .rev()
        .collect();
    format!("{head}…{tail}")
}

/// Fills up with blanks to `width` columns.
fn pad(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text.width());
    format!("{text}{:blanks$}", "")
}

/// The balance: where every run of the kernel program went.
pub fn balance(balance: &Balance) -> String {
    let mut line = format!("balance: runs {}", balance.tally.runs);
    let mut sign = " =";
    for &outcome in Outcome::ALL {
        let always = matches!(outcome, Outcome::Binned | Outcome::Stray);
        if always || balance.of(outcome) > 0 {
            line += &format!("{sign} {} {}", outcome.name(), balance.of(outcome));
            sign = " +";
        }
    }
    line += &format!(
        "; ticks seen {} / due {:.0} ({:.3}); kernel memory {:.1} MiB",
        balance.seen(),
        balance.due(),
        balance.seen_per_due(),
        balance.kernel_bytes as f64 / f64::from(1 << 20),
    );
    if !balance.holds() {
        line += "; DOES NOT BALANCE: please report this";
    }
    line
}

/// A note in words.
pub fn note_text(profile: &Profile, note: &Note) -> String {
    match note {
        Note::Coarsened { object, width } => format!(
            "bins of {} are {width} bytes wide to fit the memory budget (--memory)",
            object_name(profile.object(*object))
        ),
        Note::Exec { uncertain } => format!(
            "the process started another program; its ticks may have been charged to the old one \
             for up to {} ms",
            uncertain.as_millis()
        ),
        Note::Children { ticks, processes } => {
            format!("{ticks} of the ticks are of {processes} other processes that it started")
        }
        Note::RegionsFull { left_out } => {
            format!("{left_out} executable mappings had no region; their ticks are strays")
        }
        Note::ShortOfTaskTicks => "far fewer ticks than were due: threads that run for less than \
                                   one period in all are never seen; try --clock cpu, or a \
                                   higher --rate"
            .to_owned(),
        Note::OffCpuTicks => "ticks seen and due differ: the target may run in step with the \
                              clock; try --clock task, or another --rate"
            .to_owned(),
        Note::CpuClock => "the clock followed CPUs, because the threads are too many or change \
                           too fast: processes that it started are not counted, and CPU time is \
                           known to 10 ms only"
            .to_owned(),
        Note::NoMappings { reason } => format!(
            "its mappings could not be read ({reason}): run as root or with CAP_SYS_PTRACE for \
             names"
        ),
        Note::Unreadable { object, reason } => {
            let object = object_name(profile.object(*object));
            format!(
                "{object}: no names, because its file cannot be used: {}",
                printable(reason)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::{NAME_MIN, columns, pad, shorten};

    #[test]
    fn a_long_name_loses_its_middle() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghij", 5), "ab…ij");
        assert_eq!(shorten("abcdefghij", 4), "ab…j");
        assert_eq!(shorten("abcdefghij", 1), "…");
    }

    #[test]
    fn wide_characters_count_twice() {
        let name = "関数関数関数";
        for width in 1..12 {
            assert!(shorten(name, width).width() <= width, "{width}");
            assert_eq!(pad(&shorten(name, width), 12).width(), 12);
        }
    }

    #[test]
    fn without_a_terminal_nothing_is_cut() {
        assert_eq!(columns(4000, 300, None), (4000, 300));
    }

    #[test]
    fn on_a_terminal_both_columns_fit() {
        for width in [80, 100, 200] {
            let (name, object) = columns(4000, 300, Some(width));
            assert!(super::NUMBERS_WIDTH + 4 + name + object <= width, "{width}");
            assert!(name >= NAME_MIN && object >= NAME_MIN);
        }
        assert_eq!(columns(10, 8, Some(200)), (10, 8));
    }
}
