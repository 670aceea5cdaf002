//! Reports for people, in every manner.

use unicode_width::UnicodeWidthStr as _;

use super::{assert_golden, assert_neutral, sample};
use crate::{
    export::{Style, text},
    profile::Profile,
    symbolize::Function,
};

const STYLES: [Style; 4] = [Style::Flat, Style::Perf, Style::Gprof, Style::Prof];

fn report((profile, functions): &(Profile, Vec<Function>), layout: text::Layout) -> String {
    let mut bytes = Vec::new();
    text::write(profile, functions, layout, &mut bytes).expect("memory");
    String::from_utf8(bytes).expect("UTF-8")
}

fn whole(sample: &(Profile, Vec<Function>), style: Style) -> String {
    let layout = text::Layout {
        style,
        ..text::Layout::default()
    };
    report(sample, layout)
}

#[test]
fn same_profile_same_bytes() {
    let files = [
        ("flat.txt", include_str!("../../../tests/golden/flat.txt")),
        ("perf.txt", include_str!("../../../tests/golden/perf.txt")),
        ("gprof.txt", include_str!("../../../tests/golden/gprof.txt")),
        ("prof.txt", include_str!("../../../tests/golden/prof.txt")),
    ];
    for (style, (name, golden)) in STYLES.into_iter().zip(files) {
        let both = whole(&sample::plain(), style) + &whole(&sample::empty(), style);
        assert_golden(name, golden, &both);
    }
}

#[test]
fn names_are_neutral_and_whole_in_a_pipe() {
    for style in STYLES {
        let text = whole(&sample::hostile(), style);
        assert_neutral(&text, "\n");
        assert!(text.contains(&sample::long()), "{style:?}");
        assert!(text.contains("関数<größe>") && text.contains("\\u{202e}gnp.exe"));
    }
}

#[test]
fn rows_fit_a_terminal() {
    for style in STYLES {
        for width in [80, 100, 132] {
            let layout = text::Layout {
                width: Some(width),
                rows: None,
                style,
                errors: false,
            };
            let text = report(&sample::hostile(), layout);
            for name in ["std::", "関数", "=cmd"] {
                let mut rows = text.lines().filter(|line| line.contains(name));
                let row = rows.next().expect("a row");
                assert!(row.width() <= width, "{style:?}: {row}");
            }
        }
    }
}

#[test]
fn what_has_no_room_is_counted() {
    for style in STYLES {
        let layout = text::Layout {
            width: None,
            rows: Some(3),
            style,
            errors: false,
        };
        let text = report(&sample::plain(), layout);
        assert!(text.contains("and 2 more with 5.00 %"), "{text}");
        assert!(!text.contains("generated code"), "{text}");
    }
}

/// By the rules of gprof2dot and of perf's scripts: numbers, and then names.
#[test]
fn rows_are_read_by_columns() {
    let sample = sample::plain();
    let gprof = whole(&sample, Style::Gprof);
    let rows = gprof
        .lines()
        .skip_while(|line| !line.contains("time   seconds"))
        .skip(1);
    let rows: Vec<Vec<_>> = rows
        .map_while(|line| (!line.is_empty()).then(|| line.split_whitespace().take(4).collect()))
        .collect();
    assert_eq!(rows[0], ["65.00", "0.65", "0.65", "f(int)"]);
    assert_eq!(rows[1], ["20.00", "0.85", "0.20", "entry_SYSCALL_64"]);
    assert_eq!(rows.len(), sample.1.len());
    let perf = whole(&sample, Style::Perf);
    let rows: Vec<_> = perf
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert_eq!(rows.len(), sample.1.len());
    let words: Vec<_> = rows[1].split_whitespace().collect();
    assert_eq!(
        words,
        ["20.00%", "prog", "[kernel]", "[k]", "entry_SYSCALL_64"]
    );
}

/// 650 of 1000 ticks: sqrt(0.65 * 0.35 / 1000).
#[test]
fn shares_have_errors_where_there_is_a_column() {
    for style in [Style::Flat, Style::Perf] {
        let layout = text::Layout {
            style,
            rows: Some(3),
            errors: true,
            ..text::Layout::default()
        };
        let text = report(&sample::plain(), layout);
        assert!(text.contains("± 1.51  "), "{text}");
        assert!(text.contains("and 2 more with 5.00 ± 0.69 %"), "{text}");
    }
}
