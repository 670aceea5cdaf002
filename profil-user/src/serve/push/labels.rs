//! Names that receivers take as they are.
//!
//! Pyroscope gets them in a text of its own, `application{name=value,name=value}`, in which nothing can
//! be quoted; so what would be cut there is refused when the daemon starts, by name, for every kind of
//! receiver.

use std::fmt::Write as _;

use super::{Kind, PushError};
use crate::export::printable;

/// Bytes of a name or a value at most.
const MOST_BYTES: usize = 256;

/// Labels at most: all of them are in the URL.
const MOST_LABELS: usize = 32;

/// What the query of a pprof push says already.
const TAKEN: [&str; 4] = ["name", "from", "until", "sampleRate"];

/// Looks at all of them.
pub(super) fn check(
    kind: Kind,
    application: &str,
    labels: &[(String, String)],
) -> Result<(), PushError> {
    if application.is_empty()
        || application.len() > MOST_BYTES
        || !application.bytes().all(is_of_application)
    {
        return refuse(
            "the application",
            application,
            "it is made of letters, digits, dots, dashes and underscores, 256 at most",
        );
    }
    for (place, (name, value)) in labels.iter().enumerate() {
        check_name(name)?;
        if kind == Kind::Pprof && TAKEN.contains(&&name[..]) {
            return refuse(
                "the label",
                name,
                "the query says that already; choose another name",
            );
        }
        if place == MOST_LABELS {
            return refuse("the label", name, "there are 32 before it; leave some out");
        }
        if labels[..place].iter().any(|(earlier, _)| earlier == name) {
            return refuse("the label", name, "it is there twice; leave one out");
        }
        if value.is_empty()
            || value.len() > MOST_BYTES
            || value.trim() != value
            || value.contains([',', '}'])
            || printable(value) != *value
        {
            return refuse(
                "the value of a label",
                value,
                "it has 1 to 256 bytes, no comma, no }, no control character and no space at its ends",
            );
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), PushError> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !starts_well || !is_plain || name.len() > MOST_BYTES {
        return refuse(
            "the label",
            name,
            "it is made of letters, digits and underscores, 256 at most, and begins with no digit",
        );
    }
    if name.starts_with("__") {
        return refuse(
            "the label",
            name,
            "two underscores begin the receiver's own names",
        );
    }
    Ok(())
}

const fn is_of_application(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

fn refuse(what: &'static str, text: &str, why: &'static str) -> Result<(), PushError> {
    let text = text.chars().take(MOST_BYTES).collect();
    Err(PushError::Name { what, text, why })
}

/// Names that were looked at, as Pyroscope wants them.
pub(super) fn series(application: &str, labels: &[(String, String)]) -> String {
    let mut text = format!("{application}{{");
    for (place, (name, value)) in labels.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{name}={value}");
    }
    text.push('}');
    text
}
