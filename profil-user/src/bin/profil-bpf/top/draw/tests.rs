//! Whole screens, as they should be seen.

use profil_common::{Outcome, Tally};
use profil_user::{Balance, Task, symbolize::WhyUnnamed};
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, style::Color};
use unicode_width::UnicodeWidthStr as _;

use super::{
    super::{
        ink::Ink,
        keys::{Action, Step},
        model::{
            Cell, Model, Spot,
            tests::{cell, labels, spot, ticks, update},
        },
        rows::{List, Row},
        state::State,
    },
    Title, draw, page,
};

const COLOURS: Ink = Ink { colours: true };

fn model() -> Model {
    let mut model = Model::default();
    for second in 1..=12 {
        let other = Cell::At {
            process: Some(1),
            spot: Spot {
                address: 0x2f40,
                name: Err(WhyUnnamed::NoSymbols),
                ..spot("")
            },
        };
        let gains = vec![
            (cell(0, "spin_alpha"), ticks(600 + 10 * second, 0)),
            (cell(0, "spin_beta"), ticks(100, 150)),
            (other, ticks(0, 7 * (second % 2))),
        ];
        let mut tally = Tally {
            runs: 1000 * second,
            ..Tally::default()
        };
        tally.outcomes[Outcome::Binned as usize] = 960 * second;
        tally.outcomes[Outcome::Stray as usize] = 40 * second;
        let mut update = update(1000 * second, gains);
        update.balance = Balance {
            tally,
            binned: 960 * second,
            strays: 40 * second,
            due_ns: 1_001_000_000 * second,
            others_are_due: true,
            kernel_bytes: 41_523_609,
            ..update.balance
        };
        model.ingest(update);
    }
    model
}

fn screen(model: &Model, state: &mut State, (columns, rows): (u16, u16), ink: Ink) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("memory");
    let shown = state.rows(model);
    state.place.settle(&shown, page(rows));
    let title = Title {
        subject: "pid 4242 (hot)".to_owned(),
    };
    terminal
        .draw(|frame| draw(model, state, &shown, (&title, ink), frame.buffer_mut()))
        .expect("memory");
    terminal.backend().buffer().clone()
}

/// Lines as they are seen: what is behind a wide character is not.
fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let line = |row: u16| {
        let mut line = String::new();
        let mut column = 0;
        while column < area.width {
            let symbol = buffer[(column, row)].symbol();
            line += symbol;
            column += u16::try_from(symbol.width().max(1)).expect("a column");
        }
        line.trim_end().to_owned()
    };
    (0..area.height).map(line).collect()
}

#[track_caller]
fn assert_golden(name: &str, golden: &str, buffer: &Buffer) {
    let seen = lines(buffer).join("\n") + "\n";
    assert!(seen == golden, "{name} is another screen:\n{seen}");
}

fn state() -> State {
    State::new("4242".to_owned())
}

#[test]
fn eighty_columns() {
    let screen = screen(&model(), &mut state(), (80, 24), COLOURS);
    assert_golden("80x24", include_str!("golden/80x24.txt"), &screen);
}

#[test]
fn forty_columns() {
    let screen = screen(&model(), &mut state(), (40, 10), COLOURS);
    assert_golden("40x10", include_str!("golden/40x10.txt"), &screen);
}

#[test]
fn more_than_is_needed() {
    let mut state = state();
    state.apply(Action::Freeze, &[], 1, "");
    let screen = screen(&model(), &mut state, (120, 14), COLOURS);
    assert_golden("120x14", include_str!("golden/120x14.txt"), &screen);
}

#[test]
fn addresses() {
    let mut state = state();
    let shown = state.rows(&model());
    state.apply(Action::Enter, &shown, 1, "");
    let row = |address, user, system| {
        Row::of_address(
            address,
            format!("+{:#x}", address - 0x1000),
            ticks(user, system),
        )
    };
    state.listing = vec![
        row(0x1004, 600, 20),
        row(0x1010, 30, 0),
        row(0x1012, 1, 349),
    ];
    let screen = screen(&model(), &mut state, (80, 12), COLOURS);
    assert_golden("addresses", include_str!("golden/addresses.txt"), &screen);
}

#[test]
fn hostile_names() {
    let mut model = Model::default();
    let long = format!("ns::{}<last>()", "very_long<int, ".repeat(300));
    let names = [
        "red\u{1b}[31m\u{7}\u{9b}2J",
        "two\nlines\r\t",
        "関数関数関数関数関数関数関数関数関数",
        "f_שלום",
        "over\u{202e}ride\u{200f}",
        &format!("tower{}", "\u{301}".repeat(100)),
        "",
        &long,
    ];
    let gains = names.iter().enumerate().map(|(place, name)| {
        let fewer = u64::try_from(place).expect("small");
        (cell(place % 2, name), ticks(900 - 100 * fewer, 0))
    });
    let mut update = update(1000, gains.collect());
    let mut labels = labels();
    labels.tasks[0] = Task {
        name: "\u{1b}c\u{202e}sh".to_owned(),
        ..labels.tasks[0].clone()
    };
    update.labels = labels.into();
    model.ingest(update);
    let mut state = state();
    let functions = screen(&model, &mut state, (80, 16), COLOURS);
    assert_golden("hostile", include_str!("golden/hostile.txt"), &functions);
    // Columns begin where they begin.
    for row in 3..10 {
        assert_eq!(functions[(67, row)].symbol(), "h", "line {row}");
    }
    for list in [List::Functions, List::Processes, List::Objects] {
        state.apply(Action::Show(list), &[], 1, "");
        let screen = screen(&model, &mut state, (80, 16), COLOURS);
        let all: String = lines(&screen).concat();
        assert!(!all.chars().any(char::is_control), "{list}: {all:?}");
        assert!(
            !all.contains('\u{202e}') && !all.contains('\u{200f}'),
            "{list}"
        );
    }
}

#[test]
fn every_size_is_one_that_can_be_drawn() {
    const COLUMNS: [u16; 16] = [1, 2, 3, 7, 11, 12, 21, 22, 40, 59, 60, 69, 70, 80, 100, 500];

    let model = model();
    for help in [false, true] {
        for asks in [
            None,
            Some(Action::Filter),
            Some(Action::Save),
            Some(Action::Freeze),
        ] {
            let mut state = state();
            state.help = help;
            if let Some(action) = asks {
                state.apply(action, &[], 1, "20261130T161501Z");
                "(関数".chars().for_each(|letter| {
                    state.apply(Action::Type(letter), &[], 1, "");
                });
            }
            state.apply(Action::Move(Step::Last), &[], 1, "");
            for columns in COLUMNS {
                for rows in (1..10).chain([13, 14, 24, 60]) {
                    screen(&model, &mut state, (columns, rows), COLOURS);
                }
                screen(&Model::default(), &mut state, (columns, 10), COLOURS);
            }
        }
    }
}

#[test]
fn one_cell() {
    let screen = screen(&model(), &mut state(), (1, 1), COLOURS);
    assert_eq!(lines(&screen).len(), 1);
}

#[test]
fn without_colours_there_are_none() {
    let of = |ink| screen(&model(), &mut state(), (80, 24), ink);
    let has_colour = |buffer: &Buffer| {
        let mut cells = buffer.content.iter();
        cells.any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(has_colour(&of(COLOURS)));
    assert!(!has_colour(&of(Ink { colours: false })));
}

#[test]
fn states_questions_and_messages_are_said() {
    let shows = |state: &mut State, model: &Model, text: &str| {
        let all = lines(&screen(model, state, (80, 24), COLOURS)).join("\n");
        assert!(all.contains(text), "no {text:?} in\n{all}");
    };
    let mut model = model();
    let mut state = state();
    state.apply(Action::Freeze, &[], 1, "");
    shows(&mut state, &model, "PICTURE HELD");
    model.paused = true;
    shows(&mut state, &model, "CLOCK OFF");
    state.apply(Action::Save, &[], 1, "20261130T161501Z");
    shows(
        &mut state,
        &model,
        "save as: profil-bpf-4242-20261130T161501Z.pb.gz",
    );
    state.apply(Action::Cancel, &[], 1, "");
    state.say("saved\u{1b}[2J", false);
    shows(&mut state, &model, "saved\\u{1b}[2J");
    state.apply(Action::Filter, &[], 1, "");
    state.apply(Action::Type('('), &[], 1, "");
    shows(&mut state, &model, "not a regular expression");
    state.apply(Action::Cancel, &[], 1, "");
    state.ended = true;
    shows(&mut state, &model, "ENDED");
    state.apply(Action::Help, &[], 1, "");
    shows(&mut state, &model, "switch the clock off and on");
}
