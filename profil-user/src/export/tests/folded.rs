//! Folded stacks as their readers take them apart: frames between semicolons, and the count after the last
//! blank.

use super::{assert_golden, assert_neutral, sample, written};
use crate::{export::folded, symbolize::Function};

#[test]
fn same_profile_same_bytes() {
    let golden = include_str!("../../../tests/golden/plain.folded");
    let plain = written(folded::write, &sample::plain());
    assert_golden("plain.folded", golden, &plain);
}

#[test]
fn every_line_is_three_frames_and_a_count() {
    for sample in [sample::plain(), sample::hostile(), sample::empty()] {
        let text = written(folded::write, &sample);
        assert_neutral(&text, "\n");
        let mut total = 0;
        for line in text.lines() {
            let (stack, ticks) = line.rsplit_once(' ').expect("a count");
            assert_eq!(stack.split(';').count(), 3, "{line}");
            // A second number would be that of another profile, to which this one is compared.
            let last = stack.rsplit(char::is_whitespace).next().expect("a word");
            last.parse::<f64>().unwrap_err();
            total += ticks.parse::<u64>().expect("a number");
        }
        assert_eq!(total, sample.1.iter().map(Function::ticks).sum::<u64>());
    }
}

#[test]
fn tasks_that_are_kept_apart_are_apart() {
    let text = written(folded::write, &sample::hostile());
    for start in [
        "+a\\u{3b}b-10/10;",
        "\\u{202e}c\\u{a}-10/11;",
        "[no name]-10;",
    ] {
        assert!(text.lines().any(|line| line.starts_with(start)), "{text}");
    }
}

#[test]
fn stacks_of_one_name_are_one() {
    let (profile, mut functions) = sample::plain();
    functions.push(Function {
        address: 0x3000,
        user: 5,
        system: 0,
        ..functions[0].clone()
    });
    let text = written(folded::write, &(profile, functions));
    assert!(text.contains("prog;prog;f(int) 655\n"), "{text}");
}
