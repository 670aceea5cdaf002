//! CSV, as RFC 4180 has it.

use std::io;

use super::{assert_golden, assert_neutral, sample, written};
use crate::{export::csv, profile::Profile, symbolize::Function};

/// Without errors.
fn plain(profile: &Profile, functions: &[Function], out: &mut Vec<u8>) -> io::Result<()> {
    csv::write(profile, functions, false, out)
}

/// The records of a file.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![Vec::new()];
    let mut rest = text;
    while !rest.is_empty() {
        let mut cell = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let (part, after) = quoted.split_once('"').expect("a quote that ends");
                cell += part;
                match after.strip_prefix('"') {
                    Some(more) => {
                        cell.push('"');
                        quoted = more;
                    }
                    None => {
                        rest = after;
                        break;
                    }
                }
            }
        } else {
            let end = rest.find([',', '\r', '\n', '"']).expect("an end");
            cell += &rest[..end];
            rest = &rest[end..];
        }
        records.last_mut().expect("one").push(cell);
        if let Some(after) = rest.strip_prefix(',') {
            rest = after;
        } else {
            rest = rest
                .strip_prefix("\r\n")
                .expect("a comma or the end of a line");
            records.push(Vec::new());
        }
    }
    assert_eq!(records.pop(), Some(Vec::new()), "the last line has an end");
    records
}

#[test]
fn same_profile_same_bytes() {
    let text = written(plain, &sample::plain());
    let golden = include_str!("../../../tests/golden/plain.csv");
    assert_golden("plain.csv", golden, &text);
    let hostile = written(plain, &sample::hostile());
    let golden = include_str!("../../../tests/golden/hostile.csv");
    assert_golden("hostile.csv", golden, &hostile);
}

#[test]
fn every_record_has_the_same_columns_and_no_formula() {
    for sample in [sample::plain(), sample::hostile(), sample::empty()] {
        let text = written(plain, &sample);
        assert_neutral(&text, "\r\n");
        let records = records(&text);
        let (heads, rows) = records.split_first().expect("heads");
        assert_eq!(rows.len(), sample.1.len());
        let ticks = heads
            .iter()
            .position(|head| head == "ticks")
            .expect("ticks");
        let mut total = 0;
        for row in rows {
            assert_eq!(row.len(), heads.len());
            for start in row.iter().flat_map(|cell| cell.split(';')) {
                assert!(
                    !start.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']),
                    "{row:?}"
                );
            }
            total += row[ticks].parse::<u64>().expect("a number");
        }
        assert_eq!(total, sample.1.iter().map(Function::ticks).sum::<u64>());
    }
}

#[test]
fn names_are_read_as_they_are_shown() {
    let (profile, functions) = sample::hostile();
    let text = written(plain, &(profile, functions));
    let names: Vec<_> = records(&text)
        .into_iter()
        .skip(1)
        .map(|row| row[5].clone())
        .collect();
    let shown = [
        "'=cmd|'/c calc'!A0",
        "\\u{9}@SUM(1+1)",
        "a;'=b",
        "quote\" and, comma\\u{d}\\u{a}and line",
        "\\u{1b}[2J\\u{7}",
        "\\u{202e}gnp.exe",
        "関数<größe>",
        "worker 7",
        &sample::long(),
    ];
    assert_eq!(names, shown);
}

/// 650 of 1000 ticks: sqrt(0.65 * 0.35 / 1000).
#[test]
fn errors_are_the_last_column() {
    let text = written(
        |profile, functions, out| csv::write(profile, functions, true, out),
        &sample::plain(),
    );
    let records = records(&text);
    assert_eq!(records[0].last().map(|head| &**head), Some("error"));
    assert_eq!(records[1].last().map(|cell| &**cell), Some("1.5083"));
    assert_eq!(records[0].len(), records[1].len());
}
