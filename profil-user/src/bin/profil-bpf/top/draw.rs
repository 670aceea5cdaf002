//! The picture: a function of what is known and what is chosen.

use profil_common::Outcome;
use profil_user::{Balance, export::text::shorten};
use ratatui::{buffer::Buffer, layout::Rect};
use unicode_width::UnicodeWidthStr as _;

use super::{
    ink::{Ink, Pen, Side},
    keys::HELP,
    model::{Model, SECONDS, Ticks},
    rows::{self, Row},
    state::{About, State},
    table::{self, percent_text},
};

/// Lines of a screen, by what they are for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Lines {
    title: u16,
    summary: u16,
    /// With their heads.
    rows: u16,
    account: u16,
    keys: u16,
}

impl Lines {
    /// Rows are what it is about; the rest comes as there is room.
    const fn of(height: u16) -> Self {
        let mut lines = Self {
            title: (height >= 5) as u16,
            summary: (height >= 8) as u16,
            rows: 0,
            account: (height >= 7) as u16,
            keys: (height >= 4) as u16,
        };
        if height >= 14 {
            lines.account = 2;
        }
        lines.rows = height - lines.title - lines.summary - lines.account - lines.keys;
        lines
    }
}

/// How many rows are seen on a screen of this height.
pub(crate) fn page(height: u16) -> usize {
    usize::from(Lines::of(height).rows.saturating_sub(1))
}

/// What it is of.
#[derive(Clone, Debug)]
pub(crate) struct Title {
    /// Whom the session is of, fit for a terminal.
    pub(crate) subject: String,
}

/// Draws all of it.
pub(crate) fn draw(
    model: &Model,
    state: &State,
    rows: &[Row],
    (title, ink): (&Title, Ink),
    buffer: &mut Buffer,
) {
    let area = buffer.area;
    let lines = Lines::of(area.height);
    let mut at = area.y;
    let mut next = |height: u16| {
        let part = Rect {
            y: at,
            height,
            ..area
        };
        at += height;
        part
    };
    let (first, second) = (next(lines.title), next(lines.summary));
    let (middle, account, last) = (next(lines.rows), next(lines.account), next(lines.keys));
    if let Some(mut pen) = Pen::on(buffer, first, 0) {
        draw_title(model, state, rows.len(), title, ink, &mut pen);
    }
    if let Some(mut pen) = Pen::on(buffer, second, 0) {
        draw_summary(model, ink, &mut pen);
    }
    table::draw(model, state, rows, ink, buffer, middle);
    if rows.is_empty()
        && let Some(mut pen) = Pen::on(buffer, middle, 1)
    {
        pen.write(why_empty(model, state), ink.quiet());
    }
    for (line, text) in (0..).zip(account_lines(model, lines.account, area.width)) {
        if let Some(mut pen) = Pen::on(buffer, account, line) {
            pen.write(&text, ink.plain());
        }
    }
    if state.help {
        draw_help(ink, buffer, middle);
    }
    // Where there is hardly a line, it is for what needs an answer.
    let last = if last.height == 0 && area.height > 0 && needs_line(state) {
        Rect {
            y: area.bottom() - 1,
            height: 1,
            ..area
        }
    } else {
        last
    };
    if let Some(mut pen) = Pen::on(buffer, last, 0) {
        draw_last(state, ink, &mut pen);
    }
}

const fn needs_line(state: &State) -> bool {
    state.question.is_some() || state.message.is_some()
}

fn why_empty(model: &Model, state: &State) -> &'static str {
    if state.place.filter.is_some() {
        "nothing matches"
    } else if state.place.list == rows::List::Addresses {
        "its addresses are being looked up"
    } else if model.balance.tally.runs == 0 {
        "no ticks yet"
    } else {
        "nothing here yet"
    }
}

fn draw_title(
    model: &Model,
    state: &State,
    shown: usize,
    title: &Title,
    ink: Ink,
    pen: &mut Pen<'_>,
) {
    let mut states = Vec::new();
    if state.frozen {
        states.push("PICTURE HELD".to_owned());
    }
    if state.ended {
        states.push("ENDED".to_owned());
    } else if model.paused {
        states.push("CLOCK OFF".to_owned());
    }
    let list = state.place.list;
    let what = match &state.place.filter {
        Some(filter) => format!("{shown} {list} with /{}/", filter.text),
        None => format!("{shown} {list}"),
    };
    let mut whole = vec![title.subject.clone()];
    whole.extend(state.path(&model.labels));
    let states: String = states.iter().map(|state| format!(" {state} ")).collect();
    let right = shorten(&what, pen.room() / 2);
    let width = right.width() + states.width() + usize::from(!states.is_empty());
    let room = pen.room().saturating_sub(width + 1);
    pen.cell(&whole.join(" › "), room, Side::Left, ink.strong());
    pen.skip(1);
    if !states.is_empty() {
        pen.cell(&states, states.width(), Side::Left, ink.warning());
        pen.skip(1);
    }
    pen.write(&right, ink.plain());
}

fn draw_summary(model: &Model, ink: Ink, pen: &mut Pen<'_>) {
    const BAR: usize = 10;

    let (total, windows) = (model.total(), model.windows);
    let rate = |ticks: Ticks, seconds| percent_text(model.cpus(ticks, seconds));
    let [now, ten, all] = [
        rate(total.now, windows.now),
        rate(total.ten, windows.ten),
        rate(total.all, windows.all),
    ];
    let text = if pen.room() < 60 {
        format!("CPU % {now}, 10 s {ten}, all {all} ")
    } else {
        format!("CPU % {now} now, {ten} in 10 s, {all} since start  ")
    };
    pen.write(&text, ink.plain());
    let parts = (total.ten.user as f64, total.ten.system as f64);
    if pen.room() > BAR {
        pen.bar(parts, parts.0 + parts.1, BAR, ink);
        pen.skip(1);
    }
    let trend = rows::trend(model);
    let high = trend.iter().copied().fold(0.0, f64::max);
    pen.trend(&trend, high, pen.room().min(SECONDS), ink);
}

/// Where every tick went, in at most so many lines.
fn account_lines(model: &Model, lines: u16, width: u16) -> Vec<String> {
    let balance = &model.balance;
    let width = usize::from(width);
    let runs = runs_text(balance);
    let rest = format!(
        "seen {} / due {:.0} ({:.3}); kernel memory {:.1} MiB; own CPU {} %; {:.0} s",
        balance.seen(),
        balance.due(),
        balance.seen_per_due(),
        balance.kernel_bytes as f64 / f64::from(1 << 20),
        percent_text(model.own),
        model.windows.all,
    );
    match lines {
        0 => Vec::new(),
        1 => {
            let ratio = balance.seen_per_due();
            let shorter = [
                format!("{runs}; {rest}"),
                format!("{runs}; seen/due {ratio:.3}"),
                runs.clone(),
            ];
            let seen = format!("seen/due {ratio:.3}, runs {}", balance.tally.runs);
            let mut fitting = shorter.into_iter().filter(|text| text.width() <= width);
            vec![fitting.next().unwrap_or(seen)]
        }
        _ => vec![runs, rest],
    }
}

/// Runs, and what became of them. While the clock is on a few are under way, and then it says so.
fn runs_text(balance: &Balance) -> String {
    let mut text = format!("runs {}", balance.tally.runs);
    let mut sign = if balance.holds() { " =" } else { " ≈" };
    for &outcome in Outcome::ALL {
        let always = matches!(outcome, Outcome::Binned | Outcome::Stray);
        if always || balance.of(outcome) > 0 {
            text += &format!("{sign} {} {}", outcome.name(), balance.of(outcome));
            sign = " +";
        }
    }
    if balance.unwanted > 0 {
        text += &format!("; {} strays of others", balance.unwanted);
    }
    text
}

fn draw_last(state: &State, ink: Ink, pen: &mut Pen<'_>) {
    if let Some(question) = &state.question {
        let asked = match question.about {
            About::Filter => "/",
            About::Save => "save as: ",
        };
        let error = question.error.as_deref().unwrap_or_default();
        pen.write(asked, ink.strong());
        // The end of an answer is where it is written.
        let room = pen.room().saturating_sub(1);
        let text = super::plain::plain(&question.text);
        pen.write(&tail(&text, room), ink.plain());
        pen.write("▏", ink.strong());
        if !error.is_empty() {
            pen.skip(1);
            pen.write(error, ink.error());
        }
        return;
    }
    if let Some(message) = &state.message {
        let style = if message.is_error {
            ink.error()
        } else {
            ink.strong()
        };
        pen.write(&message.text, style);
        return;
    }
    const HINTS: [&str; 8] = [
        "? help",
        "q end",
        "f o p lists",
        "Enter in",
        "Esc back",
        "/ filter",
        "s save",
        "Space hold",
    ];
    for hint in HINTS {
        if pen.room() < hint.len() {
            break;
        }
        pen.write(hint, ink.quiet());
        pen.skip(2);
    }
}

/// The last columns of a text.
fn tail(text: &str, width: usize) -> String {
    let mut start = 0;
    while text[start..].width() > width {
        let first = text[start..].chars().next().map_or(1, char::len_utf8);
        start += first;
    }
    text[start..].to_owned()
}

fn draw_help(ink: Ink, buffer: &mut Buffer, area: Rect) {
    const KEY: usize = 16;

    let area = area.intersection(buffer.area);
    for line in area.top()..area.bottom() {
        for column in area.left()..area.right() {
            buffer[(column, line)].reset();
        }
    }
    for (line, (key, what)) in (0..).zip(HELP) {
        let Some(mut pen) = Pen::on(buffer, area, line) else {
            return;
        };
        let key_width = KEY.min(pen.room() / 2);
        pen.cell(key, key_width, Side::Left, ink.strong());
        pen.skip(1);
        pen.write(what, ink.plain());
    }
}

#[cfg(test)]
mod tests;
