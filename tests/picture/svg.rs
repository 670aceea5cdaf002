//! A screen as an SVG image: text in runs of one style, and blocks as the rectangles that they are.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// The size of a cell, in pixels; type of this size is about as wide in common fonts, and is made to be.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
const TYPE: f64 = 14.0;
/// From the top of a cell to the line that letters stand on.
const BASE: f64 = 13.5;
const MARGIN: f64 = 12.0;

const GROUND: &str = "#14171c";
const INK: &str = "#d5d9de";

/// The first sixteen colours.
const COLOURS: [&str; 16] = [
    "#14171c", "#e0625c", "#7fb868", "#d9b35b", "#5f9fd8", "#b285c9", "#5bb5b5", "#d5d9de",
    "#6b737d", "#f0857f", "#9fd489", "#f0cf7f", "#86bdee", "#cda6e2", "#82d4d4", "#ffffff",
];

/// How a cell looks.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    ink: &'static str,
    ground: &'static str,
    bold: bool,
    dim: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let (ink, ground) = (colour(cell.fgcolor(), INK), colour(cell.bgcolor(), GROUND));
        let (ink, ground) = if cell.inverse() {
            (ground, ink)
        } else {
            (ink, ground)
        };
        Self {
            ink,
            ground,
            bold: cell.bold(),
            dim: cell.dim(),
        }
    }
}

fn colour(colour: Color, usual: &'static str) -> &'static str {
    match colour {
        Color::Idx(number) => COLOURS.get(usize::from(number)).copied().unwrap_or(usual),
        Color::Default | Color::Rgb(..) => usual,
    }
}

/// Draws a screen.
pub(crate) fn of(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = f64::from(columns) * WIDTH + 2.0 * MARGIN;
    let height = f64::from(rows) * HEIGHT + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"{TYPE}\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n",
        escaped(title)
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            column = run(&mut svg, screen, row, column, columns);
        }
    }
    svg += "</svg>\n";
    svg
}

/// Draws cells that look alike; where the next ones begin.
fn run(svg: &mut String, screen: &Screen, row: u16, start: u16, columns: u16) -> u16 {
    let Some(first) = screen.cell(row, start) else {
        return start + 1;
    };
    let look = Look::of(first);
    let filled = block(first.contents());
    let (mut end, mut text) = (start, String::new());
    while end < columns
        && let Some(cell) = screen.cell(row, end)
        && Look::of(cell) == look
        && block(cell.contents()) == filled
    {
        if !cell.is_wide_continuation() {
            text += if cell.has_contents() {
                cell.contents()
            } else {
                " "
            };
        }
        end += 1;
    }
    let x = MARGIN + f64::from(start) * WIDTH;
    let y = MARGIN + f64::from(row) * HEIGHT;
    let width = f64::from(end - start) * WIDTH;
    if look.ground != GROUND {
        rect(svg, (x, y), (width, HEIGHT), look.ground, 1.0);
    }
    match filled {
        Some((part, dense)) => {
            // Rows of bars are told apart.
            let height = part * (HEIGHT - 3.0);
            let top = y + HEIGHT - 1.5 - height;
            rect(svg, (x, top), (width, height), look.ink, dense);
        }
        None => write_text(svg, (x, y), &text, look),
    }
    end
}

/// Writes text from the left upper corner of its first cell on.
fn write_text(svg: &mut String, (x, y): (f64, f64), text: &str, look: Look) {
    // It is placed where its first letter is.
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return;
    }
    let x = x + WIDTH * blanks as f64;
    let width = WIDTH * text.chars().count() as f64;
    let mut style = String::new();
    if look.bold {
        style += " font-weight=\"bold\"";
    }
    if look.dim {
        style += " opacity=\"0.65\"";
    }
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" xml:space=\"preserve\" \
         fill=\"{}\"{style}>{}</text>",
        y + BASE,
        look.ink,
        escaped(text)
    );
}

/// The part of a cell that a block fills from below, and how densely.
fn block(contents: &str) -> Option<(f64, f64)> {
    const EIGHTHS: &str = "▁▂▃▄▅▆▇█";

    match contents {
        "" => None,
        "▒" => Some((1.0, 0.5)),
        _ => {
            let place = EIGHTHS
                .chars()
                .position(|eighth| contents.starts_with(eighth))?;
            Some(((place + 1) as f64 / 8.0, 1.0))
        }
    }
}

fn rect(svg: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str, dense: f64) {
    let opacity = if dense < 1.0 {
        format!(" opacity=\"{dense}\"")
    } else {
        String::new()
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         fill=\"{fill}\"{opacity}/>"
    );
}

/// Text in XML, with what no XML may have left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            _ if character.is_control() => {}
            _ => escaped.push(character),
        }
    }
    escaped
}
