//! The rows on the screen: numbers, a bar, a name, what it is in, and a trend if there is room.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    ink::{Ink, Pen, Side},
    model::{Model, SECONDS, Ticks},
    rows::{self, Column, List, Row},
    state::State,
};

/// Width of a rate: `1234.5 `.
const RATE: usize = 6;
/// Width of CPU seconds.
const TIME: usize = 9;
const BAR: usize = 10;
/// Columns between columns.
const GAP: usize = 1;
/// A name is not shortened below this for the sake of other columns.
const NAME_MIN: usize = 22;
const SIDE_MIN: usize = 12;
const SIDE_MAX: usize = 30;
/// Trends are given room from this width on.
const WIDE: usize = 100;

/// Which columns there is room for, and how wide they are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Columns {
    numbers: Vec<Column>,
    bar: usize,
    name: usize,
    side: usize,
    trend: usize,
}

impl Columns {
    /// What fits: the less is known without a column, the later it goes.
    fn fit(width: usize, list: List) -> Self {
        let has_side = list != List::Addresses;
        let wanted: &[Column] = match list {
            List::Addresses => &[Column::All, Column::Seconds],
            _ => &[Column::Now, Column::Ten, Column::All, Column::Seconds],
        };
        let mut columns = Self {
            numbers: wanted.to_vec(),
            bar: BAR,
            side: if has_side { SIDE_MIN } else { 0 },
            ..Self::default()
        };
        loop {
            columns.name = width.saturating_sub(columns.taken());
            if columns.name >= NAME_MIN {
                break;
            }
            // In this order.
            if columns.bar > 0 && columns.numbers.len() <= wanted.len() && width < 70 {
                columns.bar = 0;
            } else if columns.numbers.len() > 2 {
                columns.numbers.pop();
            } else if columns.side > 0 {
                columns.side = 0;
            } else if columns.bar > 0 {
                columns.bar = 0;
            } else if columns.numbers.len() > 1 || (width < 12 && !columns.numbers.is_empty()) {
                columns.numbers.pop();
            } else {
                break;
            }
        }
        if width >= WIDE && has_side {
            columns.trend = ((width - WIDE) / 2 + 10).min(SECONDS);
            columns.name = columns.name.saturating_sub(columns.trend + GAP);
        }
        if columns.side > 0 {
            // What is more than enough for names is for what they are in.
            let more = (columns.name.saturating_sub(NAME_MIN) / 3).min(SIDE_MAX - SIDE_MIN);
            columns.side += more;
            columns.name -= more;
        }
        columns
    }

    fn taken(&self) -> usize {
        let numbers = self.numbers.iter().map(|&column| width_of(column) + GAP);
        let others = [self.bar, self.side];
        let others = others
            .iter()
            .filter(|&&width| width > 0)
            .map(|width| width + GAP);
        numbers.chain(others).sum()
    }
}

const fn width_of(column: Column) -> usize {
    match column {
        Column::Seconds => TIME,
        _ => RATE,
    }
}

/// The heads of the columns.
fn head(column: Column, list: List) -> &'static str {
    match (column, list) {
        (Column::Now, _) => "1s %",
        (Column::Ten, _) => "10s %",
        (Column::All, List::Addresses) => "share%",
        (Column::All, _) => "all %",
        (Column::Seconds, _) => "cpu s",
        (Column::Name, List::Functions) => "function",
        (Column::Name, List::Objects) => "object",
        (Column::Name, List::Processes) => "process",
        (Column::Name, List::Addresses) => "address",
        (Column::Side, List::Objects) => "path",
        (Column::Side, List::Processes) => "pid",
        (Column::Side, _) => "object",
    }
}

/// How long the bars are.
struct Scale {
    /// What rates are shares of, of addresses.
    total: Ticks,
    /// What the longest bar is.
    full: f64,
    /// What the highest trend is.
    high: f64,
}

/// Draws the rows below their heads. `rows` are all of them.
pub(crate) fn draw(
    model: &Model,
    state: &State,
    rows: &[Row],
    ink: Ink,
    buffer: &mut Buffer,
    area: Rect,
) {
    let columns = Columns::fit(usize::from(area.width), state.place.list);
    let below = usize::from(area.height.saturating_sub(1));
    let offset = state.place.offset.min(rows.len());
    let seen = &rows[offset..rows.len().min(offset + below)];
    if let Some(mut pen) = Pen::on(buffer, area, 0) {
        draw_heads(&columns, state, ink, &mut pen);
    }
    let trends = if columns.trend > 0 {
        rows::trends(model, seen)
    } else {
        Vec::new()
    };
    let mut total = Ticks::default();
    rows.iter().for_each(|row| total += row.sums.all);
    let by_bar = |row: &Row| of_bar(row, state.place.list).all() as f64;
    let scale = Scale {
        total,
        full: rows.iter().map(by_bar).fold(0.0, f64::max),
        high: trends.iter().flatten().copied().fold(0.0, f64::max),
    };
    for (place, row) in seen.iter().enumerate() {
        let line = u16::try_from(place + 1).unwrap_or(u16::MAX);
        let Some(mut pen) = Pen::on(buffer, area, line) else {
            break;
        };
        if offset + place == state.place.index {
            pen.fill(ink.chosen());
        }
        let trend = trends.get(place).map_or(&[][..], Vec::as_slice);
        draw_row(
            model,
            state.place.list,
            (row, trend),
            &columns,
            &scale,
            ink,
            &mut pen,
        );
    }
}

fn draw_heads(columns: &Columns, state: &State, ink: Ink, pen: &mut Pen<'_>) {
    let place = &state.place;
    pen.fill(ink.head());
    let marked = |column: Column| {
        let text = head(column, place.list);
        if column != place.order.column {
            return text.to_owned();
        }
        // Numbers begin with the largest, names with A.
        let falls = !matches!(column, Column::Name | Column::Side) != place.order.reversed;
        // In place of the unit: the column is as wide as it is.
        let text = text
            .strip_suffix(" %")
            .or_else(|| text.strip_suffix('%'))
            .unwrap_or(text);
        format!("{text}{}", if falls { "▼" } else { "▲" })
    };
    let style = |column: Column| {
        if column == place.order.column {
            ink.strong()
        } else {
            ink.plain()
        }
    };
    for &column in &columns.numbers {
        pen.cell(
            &marked(column),
            width_of(column),
            Side::Right,
            style(column),
        );
        pen.skip(GAP);
    }
    if columns.bar > 0 {
        pen.cell("user sys", columns.bar, Side::Left, ink.plain());
        pen.skip(GAP);
    }
    pen.cell(
        &marked(Column::Name),
        columns.name,
        Side::Left,
        style(Column::Name),
    );
    pen.skip(GAP);
    if columns.side > 0 {
        pen.cell(
            &marked(Column::Side),
            columns.side,
            Side::Left,
            style(Column::Side),
        );
        pen.skip(GAP);
    }
    if columns.trend > 0 {
        pen.cell("by second", columns.trend, Side::Right, ink.plain());
    }
}

fn draw_row(
    model: &Model,
    list: List,
    (row, trend): (&Row, &[f64]),
    columns: &Columns,
    scale: &Scale,
    ink: Ink,
    pen: &mut Pen<'_>,
) {
    for &column in &columns.numbers {
        let text = number(model, list, row, column, scale);
        pen.cell(&text, width_of(column), Side::Right, ink.plain());
        pen.skip(GAP);
    }
    if columns.bar > 0 {
        let ticks = of_bar(row, list);
        let parts = (ticks.user as f64, ticks.system as f64);
        pen.bar(parts, scale.full, columns.bar, ink);
        pen.skip(GAP);
    }
    let labels = &model.labels;
    let name = match list {
        List::Addresses => format!("{}  {}", row.side(labels), row.name(labels)),
        _ => row.name(labels),
    };
    pen.cell(&name, columns.name, Side::Left, ink.plain());
    pen.skip(GAP);
    if columns.side > 0 {
        pen.cell(&row.side(labels), columns.side, Side::Left, ink.plain());
        pen.skip(GAP);
    }
    if columns.trend > 0 {
        pen.trend(trend, scale.high, columns.trend, ink);
    }
}

/// The ticks that a bar is of: of the last ten seconds, and of an address of all.
const fn of_bar(row: &Row, list: List) -> Ticks {
    match list {
        List::Addresses => row.sums.all,
        _ => row.sums.ten,
    }
}

fn number(model: &Model, list: List, row: &Row, column: Column, scale: &Scale) -> String {
    let (sums, windows) = (row.sums, model.windows);
    let percent = match (column, list) {
        (Column::Now, _) => model.cpus(sums.now, windows.now),
        (Column::Ten, _) => model.cpus(sums.ten, windows.ten),
        (Column::All, List::Addresses) => sums.all.all() as f64 / scale.total.all().max(1) as f64,
        (Column::All, _) => model.cpus(sums.all, windows.all),
        _ => {
            let seconds = model.cpu_seconds(sums.all);
            return if seconds < 100_000.0 {
                format!("{seconds:.2}")
            } else {
                format!("{seconds:.0}")
            };
        }
    };
    percent_text(percent)
}

/// CPUs in percent of one; nothing at all is a dot, to tell it from little.
pub(crate) fn percent_text(cpus: f64) -> String {
    let percent = 100.0 * cpus;
    if percent <= 0.0 {
        ".".to_owned()
    } else if percent < 9999.95 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Columns, List, percent_text};

    #[test]
    fn columns_fit_whatever_the_width() {
        for list in [
            List::Functions,
            List::Objects,
            List::Processes,
            List::Addresses,
        ] {
            for width in 0..400 {
                let columns = Columns::fit(width, list);
                let trend = if columns.trend > 0 {
                    columns.trend + 1
                } else {
                    0
                };
                let all = columns.taken() + columns.name + trend;
                assert!(all <= width.max(7), "{all} of {width}: {columns:?}");
                assert!(width < 22 || columns.name >= 15, "{width}: {columns:?}");
            }
        }
    }

    #[test]
    fn at_eighty_columns_nothing_is_missing() {
        let columns = Columns::fit(80, List::Functions);
        assert_eq!((columns.numbers.len(), columns.bar), (4, 10));
        assert!(columns.name >= 22 && columns.side >= 12, "{columns:?}");
    }

    #[test]
    fn rates_fit_their_column() {
        for (cpus, expected) in [
            (0.0, "."),
            (0.0004, "0.0"),
            (0.123, "12.3"),
            (1.0, "100.0"),
            (63.999, "6399.9"),
            (1024.0, "102400"),
        ] {
            assert_eq!(percent_text(cpus), expected);
        }
    }
}
