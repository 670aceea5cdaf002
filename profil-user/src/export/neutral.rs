//! JSON that can be looked at: what a terminal would obey, or what reorders text, is an escape in it.
//!
//! An escape is read as the character that it stands for, so nothing is lost to a program.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::escape::is_unprintable;

/// Writes a document: each of its fields and each item of its lists on a line, so that two can be
/// compared.
pub(super) fn write(document: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut out, Neutral::default());
    document.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Lists that are deeper inside stay on one line.
const DEEPEST_LIST: u32 = 4;

/// How it is laid out.
#[derive(Default)]
struct Neutral {
    /// How many lists and objects it is inside of.
    depth: u32,
}

impl Neutral {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(bracket)
    }
}

impl Formatter for Neutral {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        separate(out, first, self.depth <= DEEPEST_LIST)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        separate(out, first, self.depth == 1)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain = 0;
        for (at, character) in fragment.char_indices() {
            if is_unprintable(character) {
                out.write_all(&fragment.as_bytes()[plain..at])?;
                plain = at + character.len_utf8();
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        out.write_all(&fragment.as_bytes()[plain..])
    }
}

fn separate<W: ?Sized + Write>(out: &mut W, first: bool, on_a_line: bool) -> io::Result<()> {
    if !first {
        out.write_all(b",")?;
    }
    if on_a_line {
        out.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_read_again() {
        for (text, expected) in [
            ("größe<関数>", r#""größe<関数>""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\u{1b}[2J\u{7f}\n", r#""\u001b[2J\u007f\n""#),
            ("\u{9b}\u{202e}x", r#""\u009b\u202ex""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
        ] {
            let mut bytes = Vec::new();
            write(&text, &mut bytes).expect("memory");
            let written = String::from_utf8(bytes).expect("UTF-8");
            assert_eq!(written.trim_end(), expected);
            let read: String = serde_json::from_str(&written).expect("JSON");
            assert_eq!(read, text);
        }
    }
}
