//! Flame graphs, as a reader of XML sees them.

use roxmltree::{Document, ParsingOptions};

use super::{sample, written};
use crate::{export::flamegraph, symbolize::Function};

fn document(text: &str) -> Document<'_> {
    // It names the document type of SVG.
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).expect("well-formed XML")
}

/// Ticks of the frames whose titles begin like this: `prog;lib (12 ticks, 3.4%)` is written for each.
fn frames(text: &str) -> Vec<(String, u64)> {
    let document = document(text);
    let titles = document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")));
    titles
        .map(|title| {
            let (name, counts) = title
                .text()
                .expect("a text")
                .rsplit_once(" (")
                .expect("counts");
            let ticks = counts.split(' ').next().expect("a number").replace(',', "");
            (name.to_owned(), ticks.parse().expect("a number"))
        })
        .collect()
}

#[test]
fn every_function_is_a_frame_with_its_ticks() {
    let sample = sample::plain();
    let text = written(flamegraph::write, &sample);
    assert_eq!(text, written(flamegraph::write, &sample), "the same bytes");
    let frames = frames(&text);
    let total: u64 = sample.1.iter().map(Function::ticks).sum();
    let has = |name: &str, ticks| frames.contains(&(name.to_owned(), ticks));
    assert!(has("all", total), "{frames:?}");
    assert!(
        has("f(int)", 650) && has("entry_SYSCALL_64", 200),
        "{frames:?}"
    );
    assert!(text.contains("less than 0.01 % are not drawn"));
    // Nothing is fetched when it is looked at.
    for place in ["src=", "href=\"http", "@import", "url("] {
        let outside = text.matches(place).count();
        let inside = text.matches("url(#").count();
        assert_eq!(outside, if place == "url(" { inside } else { 0 }, "{place}");
    }
}

#[test]
fn names_are_text() {
    let text = written(flamegraph::write, &sample::hostile());
    let frames = frames(&text);
    let has = |name: &str| frames.iter().any(|(frame, _)| frame == name);
    assert!(
        has("関数<größe>") && has("quote\" and, comma\\u{d}\\u{a}and line"),
        "{frames:?}"
    );
    let obeyed = |character: char| character.is_control() && character != '\n';
    assert!(!text.contains(obeyed) && !text.contains('\u{202e}'));
}

#[test]
fn nothing_is_a_picture_too() {
    let text = written(flamegraph::write, &sample::empty());
    document(&text);
}
