//! The flat profile: one line a function, in columns that fit.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{escape::printable, text::Layout};
use crate::{
    options::Rate,
    profile::{Object, ObjectKind, share_error},
    symbolize::{Function, Place},
};

/// Fewest columns left to a name, however narrow the terminal.
const NAME_MIN: usize = 8;

/// What is known of the time that ticks stand for.
pub(super) enum Time {
    /// User and system time apart.
    Split(Rate),
    /// One sum: ticks in a unit, and the unit. Untrusted.
    Sum(f64, String),
}

impl Time {
    /// Ticks that make one of the unit.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Self::Split(rate) => rate.hertz(),
            Self::Sum(rate, _) => *rate,
        }
    }

    /// The unit.
    pub(super) fn unit(&self) -> Cow<'_, str> {
        match self {
            Self::Split(_) => Cow::Borrowed("seconds"),
            Self::Sum(_, unit) => printable(unit),
        }
    }

    fn heads(&self) -> Vec<String> {
        match self {
            Self::Split(_) => ["user s", "system s"].map(str::to_owned).to_vec(),
            Self::Sum(_, unit) => vec![printable(unit).into_owned()],
        }
    }

    fn of(&self, function: &Function) -> Vec<String> {
        match self {
            Self::Split(rate) => [function.user, function.system]
                .map(|ticks| format!("{:.3}", rate.seconds(ticks)))
                .to_vec(),
            Self::Sum(rate, _) => vec![format!("{:.3}", function.ticks() as f64 / rate)],
        }
    }
}

/// Writes the lines of the flat profile, with shares of `total` ticks, and says how many were left out.
pub(super) fn write(
    objects: &[Object],
    time: &Time,
    (functions, total): (&[Function], u64),
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let all: u64 = functions.iter().map(Function::ticks).sum();
    let shown = layout.rows.unwrap_or(usize::MAX).min(functions.len());
    let mut so_far = 0;
    let rows: Vec<_> = functions[..shown]
        .iter()
        .map(|function| {
            so_far += function.ticks();
            let object = &objects[function.object.index()];
            let [share, sum] = [function.ticks(), so_far].map(|part| percent(part, total));
            let error = layout.errors.then(|| error_text(function.ticks(), total));
            Row {
                numbers: [format!("{share:.2}")]
                    .into_iter()
                    .chain(error)
                    .chain([format!("{sum:.2}")])
                    .chain(time.of(function))
                    .chain([function.ticks().to_string()])
                    .collect(),
                name: function_name(function, object),
                object: match function.place {
                    Place::Task(_) => String::new(),
                    Place::Object => path_of(object),
                    _ => object_name(object),
                },
            }
        })
        .collect();
    let heads = Row {
        numbers: ["self%"]
            .into_iter()
            .chain(layout.errors.then_some("error"))
            .chain(["cum%"])
            .map(str::to_owned)
            .chain(time.heads())
            .chain(["ticks".to_owned()])
            .collect(),
        name: what_rows_are(functions).to_owned(),
        object: where_rows_are(functions).to_owned(),
    };
    write_rows(&heads, &rows, layout, out)?;
    if shown < functions.len() {
        let left_out = (functions.len() - shown, all - so_far);
        let more = and_more(left_out, total, layout.errors);
        out.write_all(more.as_bytes())?;
    }
    Ok(())
}

/// Writes rows in columns that fit.
pub(super) fn write_rows(
    heads: &Row,
    rows: &[Row],
    layout: Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let columns = Columns::fit(heads, rows, layout.width);
    columns.write(heads, out)?;
    rows.iter().try_for_each(|row| columns.write(row, out))
}

/// A line about rows for which there is no room.
pub(super) fn and_more((rows, ticks): (usize, u64), total: u64, errors: bool) -> String {
    let share = share_text(ticks, total, errors);
    format!("and {rows} more with {share} (pipe the output to see all)\n")
}

fn what_rows_are(rows: &[Function]) -> &'static str {
    let mut places = rows.iter().map(|row| &row.place);
    let is_whole = |place: &&Place| **place == Place::Whole;
    match places.find(|place| !is_whole(place)) {
        None | Some(Place::Whole) => "function",
        Some(Place::Line(_) | Place::NoLine) => "line",
        Some(Place::Offset(_)) => "address",
        Some(Place::Object) => "object",
        Some(Place::Task(_)) => "task",
    }
}

fn where_rows_are(rows: &[Function]) -> &'static str {
    match rows.first().map(|row| &row.place) {
        Some(Place::Object) => "path",
        Some(Place::Task(_)) => "",
        _ => "object",
    }
}

/// The path of an object, if it is a file.
fn path_of(object: &Object) -> String {
    match &object.kind {
        ObjectKind::File { path, .. } => printable(&path.to_string_lossy()).into_owned(),
        _ => String::new(),
    }
}

/// One line of the flat profile, ready to be laid out.
pub(super) struct Row {
    pub(super) numbers: Vec<String>,
    pub(super) name: String,
    pub(super) object: String,
}

/// Widths of the columns.
#[derive(Debug, Eq, PartialEq)]
struct Columns {
    numbers: Vec<usize>,
    name: usize,
    object: usize,
}

impl Columns {
    /// As wide as what they hold, and names as short as the terminal needs them.
    fn fit(heads: &Row, rows: &[Row], width: Option<usize>) -> Self {
        let all = || rows.iter().chain([heads]);
        let widest = |cell: &dyn Fn(&Row) -> usize| all().map(cell).max().unwrap_or(0);
        let numbers: Vec<usize> = (0..heads.numbers.len())
            .map(|index| widest(&|row| columns(&row.numbers[index])))
            .collect();
        let (name, object) = (
            widest(&|row| columns(&row.name)),
            widest(&|row| columns(&row.object)),
        );
        let taken = numbers.iter().map(|number| number + GAP).sum();
        let (name, object) = share_out(name, object, width.map(|all| all.saturating_sub(taken)));
        Self {
            numbers,
            name,
            object,
        }
    }

    fn write(&self, row: &Row, out: &mut impl Write) -> io::Result<()> {
        for (number, &width) in row.numbers.iter().zip(&self.numbers) {
            write!(out, "{number:>width$}  ")?;
        }
        let name = pad(&shorten(&row.name, self.name), self.name);
        let line = format!("{name}  {}", shorten(&row.object, self.object));
        writeln!(out, "{}", line.trim_end())
    }
}

/// Columns between two columns.
const GAP: usize = 2;

/// Widths for the longest name and the longest object in `room` columns; without a limit they
/// get what they need.
fn share_out(name: usize, object: usize, room: Option<usize>) -> (usize, usize) {
    let Some(room) = room else {
        return (name, object);
    };
    let room = room.saturating_sub(GAP).max(2 * NAME_MIN);
    if name + object <= room {
        return (name, object);
    }
    // Objects are short, as a rule: they get what they need, up to a third.
    let object = object.min((room / 3).max(NAME_MIN));
    (name.min(room - object), object)
}

pub(super) fn percent(part: u64, total: u64) -> f64 {
    if total == 0 {
        0.0
    } else {
        100.0 * part as f64 / total as f64
    }
}

/// A share, and its standard error if that is wanted.
pub(super) fn share_text(part: u64, total: u64, errors: bool) -> String {
    let share = percent(part, total);
    if errors {
        format!("{share:.2} {} %", error_text(part, total))
    } else {
        format!("{share:.2} %")
    }
}

pub(super) fn error_text(part: u64, total: u64) -> String {
    format!("± {:.2}", 100.0 * share_error(part, total))
}

/// What to call a row: the line, the name of the function, or its place and the reason why it has
/// none.
pub fn function_name(function: &Function, object: &Object) -> String {
    if let Place::Line(line) = &function.place {
        return format!("{}:{}", printable(&line.file), line.number);
    }
    match &function.name {
        Ok(name) => match function.place {
            Place::NoLine => format!("{} (no line)", printable(name)),
            Place::Offset(offset) => format!("{}+{offset:#x}", printable(name)),
            Place::Whole | Place::Line(_) | Place::Object | Place::Task(_) => {
                printable(name).into_owned()
            }
        },
        Err(why) => match object.kind {
            ObjectKind::File { .. } | ObjectKind::Vdso => {
                format!("{}+{:#x} ({why})", object_name(object), function.address)
            }
            ObjectKind::Kernel | ObjectKind::Anonymous { .. } | ObjectKind::Nowhere(_) => {
                format!("{:#x} ({why})", function.address)
            }
        },
    }
}

pub(super) fn object_name(object: &Object) -> String {
    printable(&object.name()).into_owned()
}

/// Cuts the middle out of a text that is wider than `width` columns: both ends of a name tell
/// more than its middle.
pub fn shorten(text: &str, width: usize) -> String {
    if columns(text) <= width {
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

/// Columns that a printable text takes.
fn columns(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.width()
    }
}

/// Fills up with blanks to `width` columns, as long as that helps the eye: beside a name of a
/// million letters nothing is aligned any more.
pub(super) fn pad(text: &str, width: usize) -> String {
    const WIDEST: usize = 160;

    let blanks = width.min(WIDEST).saturating_sub(columns(text));
    text.to_owned() + &" ".repeat(blanks)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::{NAME_MIN, function_name, pad, share_out, share_text, shorten};
    use crate::{
        profile::{Object, ObjectId, ObjectKind},
        symbolize::{Function, Line, Place},
    };

    #[test]
    fn a_line_is_escaped_and_so_is_a_name_without_one() {
        let line = Line {
            file: "a\x1b[2J.c".into(),
            number: 7,
        };
        let function = |place| Function {
            task: crate::profile::TaskId::ALL,
            object: ObjectId::new(0),
            address: 0,
            name: Ok("f\x1b".to_owned()),
            mangled: None,
            place,
            user: 1,
            system: 0,
        };
        let object = Object {
            kind: ObjectKind::Vdso,
            is_main: false,
            build_id: None,
            text: Vec::new(),
        };
        let shown = |place| function_name(&function(place), &object);
        assert_eq!(shown(Place::Line(line)), r"a\u{1b}[2J.c:7");
        assert_eq!(shown(Place::NoLine), r"f\u{1b} (no line)");
        assert_eq!(shown(Place::Whole), r"f\u{1b}");
    }

    #[test]
    fn a_share_has_its_error_if_that_is_wanted() {
        assert_eq!(share_text(50, 100, false), "50.00 %");
        assert_eq!(share_text(50, 100, true), "50.00 ± 5.00 %");
        assert_eq!(share_text(0, 0, true), "0.00 ± 0.00 %");
    }

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
    fn a_name_without_end_is_written_whole() {
        let name = "q".repeat(1_000_000);
        assert_eq!(shorten(&name, 1_000_000), name);
        assert_eq!(pad(&name, 1_000_000), name);
        assert!(pad("main", 1_000_000).len() < 200);
    }

    #[test]
    fn without_a_terminal_nothing_is_cut() {
        assert_eq!(share_out(4000, 300, None), (4000, 300));
    }

    #[test]
    fn on_a_terminal_both_names_fit() {
        for room in [20, 40, 160] {
            let (name, object) = share_out(4000, 300, Some(room));
            assert!(name + super::GAP + object <= room, "{room}");
            assert!(name >= NAME_MIN && object >= NAME_MIN);
        }
        assert_eq!(share_out(10, 8, Some(200)), (10, 8));
    }
}
