//! Other people's names between columns: nothing in them moves, hides or covers what is beside them.

use std::borrow::Cow;

use profil_user::export::printable;
use unicode_width::UnicodeWidthChar as _;

/// Marks that may stand on one character; more than that are a way to write over other lines.
const MOST_MARKS: usize = 3;

/// A mark of no width that is written from left to right: what follows it is not drawn into a name
/// that is written from right to left.
pub(crate) const LEFT_TO_RIGHT: char = '\u{200e}';

/// A name without what a terminal would obey, and without towers of marks.
pub(crate) fn plain(name: &str) -> Cow<'_, str> {
    let name = printable(name);
    let mut marks = 0;
    let is_tower = |character: char| {
        marks = if character.width() == Some(0) {
            marks + 1
        } else {
            0
        };
        marks > MOST_MARKS
    };
    if !name.chars().any(is_tower) {
        return name;
    }
    let mut low = String::with_capacity(name.len());
    let mut marks = 0;
    for character in name.chars() {
        marks = if character.width() == Some(0) {
            marks + 1
        } else {
            0
        };
        if marks > MOST_MARKS {
            low.extend(character.escape_unicode());
        } else {
            low.push(character);
        }
    }
    Cow::Owned(low)
}

/// Whether some of it is written from right to left: Hebrew, Arabic and their relatives.
pub(crate) fn is_right_to_left(text: &str) -> bool {
    text.chars().any(|character| {
        matches!(
            character,
            '\u{590}'..='\u{8ff}'
                | '\u{fb1d}'..='\u{fdff}'
                | '\u{fe70}'..='\u{feff}'
                | '\u{10800}'..='\u{10fff}'
                | '\u{1e800}'..='\u{1efff}'
        )
    })
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::{is_right_to_left, plain};

    #[test]
    fn towers_of_marks_are_cut_down() {
        let tower = format!("e{}x", "\u{301}".repeat(50));
        let low = plain(&tower);
        assert!(low.starts_with("e\u{301}\u{301}\u{301}\\u{301}"), "{low}");
        assert!(low.ends_with('x'));
        assert_eq!(plain("e\u{301}\u{302}"), "e\u{301}\u{302}");
        assert_eq!(plain("\u{1b}[2J").width(), 9);
    }

    #[test]
    fn directions_are_seen() {
        assert!(is_right_to_left("f_שלום"));
        assert!(is_right_to_left("مرحبا"));
        assert!(!is_right_to_left("größe<関数>"));
    }
}
