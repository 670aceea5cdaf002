//! What pictures are made of: text in its place, bars, trends, and colours where they are wanted.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
};
use unicode_width::UnicodeWidthStr as _;

use super::plain::{LEFT_TO_RIGHT, is_right_to_left};
use profil_user::export::text::shorten;

/// What is drawn full, and what is drawn light.
const FULL: &str = "█";
const LIGHT: &str = "▒";

/// From least to most.
const TREND: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Styles, with colours or without.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ink {
    pub(crate) colours: bool,
}

impl Ink {
    /// Blocks of a chosen row are not reversed: they would be holes.
    const BLOCK: Style = Style::new().remove_modifier(Modifier::REVERSED);

    const fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colours {
            style.fg(colour)
        } else {
            style
        }
    }

    pub(crate) const fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is there to be read once.
    pub(crate) const fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Heads of columns.
    pub(crate) const fn head(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) const fn chosen(self) -> Style {
        self.coloured(Style::new(), Color::Cyan)
            .add_modifier(Modifier::REVERSED)
    }

    pub(crate) const fn user(self) -> Style {
        self.coloured(Self::BLOCK, Color::Green)
    }

    pub(crate) const fn system(self) -> Style {
        self.coloured(Self::BLOCK, Color::Red)
    }

    pub(crate) const fn trend(self) -> Style {
        self.coloured(Self::BLOCK, Color::Cyan)
    }

    /// What must not be overlooked.
    pub(crate) const fn warning(self) -> Style {
        self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Yellow)
    }

    pub(crate) const fn error(self) -> Style {
        self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Red)
    }
}

/// On which side a text is cut off blanks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// One line of a picture, written from left to right.
pub(crate) struct Pen<'a> {
    buffer: &'a mut Buffer,
    /// The line.
    area: Rect,
    at: u16,
}

impl<'a> Pen<'a> {
    /// On the line that is so many below the first of an area; none, if that is not in it.
    pub(crate) fn on(buffer: &'a mut Buffer, area: Rect, line: u16) -> Option<Self> {
        let area = area.intersection(buffer.area);
        (line < area.height && area.width > 0).then(|| Self {
            at: area.x,
            area: Rect {
                y: area.y + line,
                height: 1,
                ..area
            },
            buffer,
        })
    }

    /// Columns that are left.
    pub(crate) fn room(&self) -> usize {
        usize::from(self.area.right().saturating_sub(self.at))
    }

    /// Gives the whole line a style.
    pub(crate) fn fill(&mut self, style: Style) {
        self.buffer.set_style(self.area, style);
    }

    /// Writes a text, without its middle if there is no room for all of it.
    pub(crate) fn write(&mut self, text: &str, style: Style) {
        let text = shorten(text, self.room());
        self.put(&text, self.room(), style);
    }

    /// Writes a text into a column of this width, on its left or right side.
    pub(crate) fn cell(&mut self, text: &str, width: usize, side: Side, style: Style) {
        let width = width.min(self.room());
        let text = shorten(text, width);
        let start = self.at;
        if side == Side::Right {
            self.skip(width.saturating_sub(text.width()));
        }
        self.put(&text, width, style);
        // Wherever the text has ended, the next column begins here.
        self.at = start;
        self.skip(width);
    }

    /// Leaves columns blank.
    pub(crate) fn skip(&mut self, columns: usize) {
        let columns = columns.min(self.room());
        self.at += u16::try_from(columns).unwrap_or(0);
    }

    fn put(&mut self, text: &str, width: usize, style: Style) {
        if width == 0 || text.is_empty() {
            return;
        }
        let line = self.area.y;
        let (end, _) = self.buffer.set_stringn(self.at, line, text, width, style);
        if is_right_to_left(text) {
            // Terminals that know directions read a line as a whole. It is one from left to right,
            // and so is what follows the name.
            for column in [self.area.x, end] {
                if column < self.area.right()
                    && let Some(cell) = self.buffer.cell_mut((column, line))
                {
                    let marked = match column {
                        _ if column == end => format!("{}{LEFT_TO_RIGHT}", cell.symbol()),
                        _ => format!("{LEFT_TO_RIGHT}{}", cell.symbol()),
                    };
                    cell.set_symbol(&marked);
                }
            }
        }
        self.at = end;
    }

    /// A bar of user time and system time, in columns of which each stands for a part of `full`.
    pub(crate) fn bar(&mut self, (user, system): (f64, f64), full: f64, width: usize, ink: Ink) {
        let (user, system) = bar((user, system), full, width.min(self.room()));
        self.put(&FULL.repeat(user), user, ink.user());
        self.put(&LIGHT.repeat(system), system, ink.system());
        self.skip(width.saturating_sub(user + system));
    }

    /// Values over time, latest at the right; the highest is `full`.
    pub(crate) fn trend(&mut self, latest_first: &[f64], full: f64, width: usize, ink: Ink) {
        let width = width.min(self.room());
        let shown = latest_first.len().min(width);
        self.skip(width - shown);
        let marks = latest_first[..shown].iter().rev();
        let line: String = marks.map(|&value| mark(value, full)).collect();
        self.put(&line, shown, ink.trend());
    }
}

/// Columns of user time and of system time: together as many as both are worth.
fn bar((user, system): (f64, f64), full: f64, width: usize) -> (usize, usize) {
    if full <= 0.0 || width == 0 {
        return (0, 0);
    }
    let columns = |value: f64| {
        let share = (value / full).clamp(0.0, 1.0);
        (share * width as f64).round() as usize
    };
    let all = columns(user + system);
    let of_user = columns(user).min(all);
    (of_user, all - of_user)
}

/// A blank for nothing, and something for anything.
fn mark(value: f64, full: f64) -> &'static str {
    if value <= 0.0 || full <= 0.0 {
        return " ";
    }
    let step = (value / full * TREND.len() as f64).ceil() as usize;
    TREND[step.clamp(1, TREND.len()) - 1]
}

#[cfg(test)]
mod tests {
    use ratatui::{buffer::Buffer, layout::Rect, style::Style};

    use super::{Ink, LEFT_TO_RIGHT, Pen, Side, bar, mark};

    #[test]
    fn a_bar_is_as_long_as_both_parts() {
        assert_eq!(bar((0.5, 0.25), 1.0, 8), (4, 2));
        assert_eq!(bar((1.0, 1.0), 1.0, 8), (8, 0));
        assert_eq!(bar((0.0, 0.0), 1.0, 8), (0, 0));
        assert_eq!(bar((0.3, 0.3), 0.0, 8), (0, 0));
        assert_eq!(bar((f64::NAN, 0.0), 1.0, 8), (0, 0));
        for part in 0..=100 {
            let user = f64::from(part) / 100.0;
            let (user, system) = bar((user, 1.0 - user), 1.0, 10);
            assert_eq!(user + system, 10);
        }
    }

    #[test]
    fn something_is_seen_and_nothing_is_blank() {
        assert_eq!(mark(0.0, 10.0), " ");
        assert_eq!(mark(0.001, 10.0), "▁");
        assert_eq!(mark(5.0, 10.0), "▄");
        assert_eq!(mark(10.0, 10.0), "█");
        assert_eq!(mark(99.0, 10.0), "█");
        assert_eq!(mark(1.0, 0.0), " ");
    }

    #[test]
    fn columns_begin_where_they_should_whatever_is_in_them() {
        let area = Rect::new(0, 0, 12, 1);
        for name in [
            "f",
            "関数関数関数",
            "e\u{301}\u{302}",
            "a_very_long_name",
            "שלום",
        ] {
            let mut buffer = Buffer::empty(area);
            let mut pen = Pen::on(&mut buffer, area, 0).expect("a line");
            pen.cell(name, 6, Side::Left, Style::new());
            pen.skip(1);
            pen.cell("42", 4, Side::Right, Style::new());
            assert_eq!(buffer[(9, 0)].symbol(), "4", "{name}");
            assert_eq!(buffer[(10, 0)].symbol(), "2", "{name}");
        }
    }

    #[test]
    fn a_name_from_right_to_left_ends_where_it_ends() {
        let area = Rect::new(0, 0, 12, 1);
        let mut buffer = Buffer::empty(area);
        let mut pen = Pen::on(&mut buffer, area, 0).expect("a line");
        pen.cell("7", 2, Side::Left, Style::new());
        pen.cell("שלום", 6, Side::Left, Style::new());
        pen.cell("42", 2, Side::Left, Style::new());
        let is_marked = |column| buffer[(column, 0)].symbol().contains(LEFT_TO_RIGHT);
        let marked: Vec<u16> = (0..12).filter(|&column| is_marked(column)).collect();
        assert_eq!(marked, [0, 6]);
    }

    #[test]
    fn outside_there_is_nothing_to_write_on() {
        let area = Rect::new(0, 0, 3, 1);
        let mut buffer = Buffer::empty(area);
        assert!(Pen::on(&mut buffer, area, 1).is_none());
        assert!(Pen::on(&mut buffer, Rect::new(5, 5, 3, 3), 0).is_none());
        let mut pen = Pen::on(&mut buffer, area, 0).expect("a line");
        pen.write("long", Style::new());
        pen.write("er", Style::new());
        pen.bar((1.0, 1.0), 2.0, 9, Ink { colours: true });
        pen.trend(&[1.0; 9], 1.0, 9, Ink { colours: true });
        assert_eq!(pen.room(), 0);
    }
}
