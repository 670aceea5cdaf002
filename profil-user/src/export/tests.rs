//! Every writer of text on one profile, byte by byte, and by a reader that knows the rules and not the
//! writer.

mod csv;
mod flamegraph;
mod folded;
mod json;
mod sample;
mod schema;
mod speedscope;
mod styles;

use std::io;

use crate::{profile::Profile, symbolize::Function};

type Writer = fn(&Profile, &[Function], &mut Vec<u8>) -> io::Result<()>;

/// What a writer makes of a profile.
fn written(write: Writer, (profile, functions): &(Profile, Vec<Function>)) -> String {
    let mut bytes = Vec::new();
    write(profile, functions, &mut bytes).expect("memory");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Compares with a file in `tests/golden`, whose text is given too.
#[track_caller]
fn assert_golden(name: &str, golden: &str, written: &str) {
    if written != golden {
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, written).expect("room for a file");
        panic!("other bytes than tests/golden/{name}: {}", path.display());
    }
}

/// That no text has anything that a terminal would obey, or that reorders what is beside it.
#[track_caller]
fn assert_neutral(text: &str, line_end: &str) {
    for line in text.split(line_end) {
        assert_eq!(super::printable(line), line);
    }
}
