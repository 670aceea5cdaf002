//! Other people's names, made fit for a terminal.

use std::{borrow::Cow, fmt::Write as _};

/// Returns a name with everything that a terminal would obey, or that would move or hide text,
/// written out as `\u{…}`: control characters, line and paragraph separators, and the invisible
/// characters that format or reorder.
pub fn printable(name: &str) -> Cow<'_, str> {
    if !name.chars().any(is_unprintable) {
        return Cow::Borrowed(name);
    }
    let mut plain = String::with_capacity(name.len() + 16);
    for character in name.chars() {
        if is_unprintable(character) {
            // Writing to a string cannot fail.
            let _ = write!(plain, "{}", character.escape_unicode());
        } else {
            plain.push(character);
        }
    }
    Cow::Owned(plain)
}

/// Whether a terminal would obey a character, or it moves or hides text.
pub(super) fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Zero-width and direction marks, separators, embeddings, overrides and isolates,
            // invisible operators, the byte order mark, interlinear and tag characters.
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::printable;

    #[test]
    fn a_plain_name_is_left_alone() {
        for name in ["main", "core::fmt::write", "größe<T, 7>", "関数"] {
            assert!(matches!(printable(name), Cow::Borrowed(same) if same == name));
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(printable("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(printable("a\r\nb\tc"), "a\\u{d}\\u{a}b\\u{9}c");
        assert_eq!(printable("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(printable("ab\u{202e}cd"), "ab\\u{202e}cd");
        assert_eq!(printable("a\u{200b}b"), "a\\u{200b}b");
    }
}
