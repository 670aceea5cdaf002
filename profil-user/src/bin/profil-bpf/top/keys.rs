//! Keys → what is asked for.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::rows::List;

/// What a key can ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    Quit,
    /// Shows the keys, or hides them.
    Help,
    /// Shows another list.
    Show(List),
    /// Goes into what is chosen.
    Enter,
    /// Goes back to where that was.
    Back,
    /// Chooses the row so many further down.
    Move(Step),
    /// Sorts by the column so many further right.
    Column(isize),
    /// Sorts by the column of this number, from 0.
    ColumnAt(usize),
    /// Sorts the other way round.
    Reverse,
    /// Asks for a pattern.
    Filter,
    /// Asks for the name of a file.
    Save,
    /// Holds the picture still, or lets it go on.
    Freeze,
    /// Switches the clock off, or on.
    Clock,
    /// Draws everything again, over what others have written.
    Repaint,
    /// What is typed at a question.
    Type(char),
    Erase,
    EraseAll,
    Accept,
    Cancel,
}

/// How far to move.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    Rows(isize),
    Pages(isize),
    First,
    Last,
}

/// What keys are for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// The list.
    List,
    /// A question is to be answered.
    Question,
    /// The keys are shown, until any is pressed.
    Help,
}

/// What a key asks for, if anything.
pub(crate) fn action(mode: Mode, key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && matches!(key.code, KeyCode::Char('c' | 'C')) {
        return Some(Action::Quit);
    }
    match mode {
        Mode::List => in_list(key.code, control),
        Mode::Question => in_question(key.code, key.modifiers),
        Mode::Help if key.code == KeyCode::Char('q') => Some(Action::Quit),
        Mode::Help => Some(Action::Help),
    }
}

fn in_list(code: KeyCode, control: bool) -> Option<Action> {
    Some(match code {
        KeyCode::Up => Action::Move(Step::Rows(-1)),
        KeyCode::Down => Action::Move(Step::Rows(1)),
        KeyCode::PageUp => Action::Move(Step::Pages(-1)),
        KeyCode::PageDown => Action::Move(Step::Pages(1)),
        KeyCode::Home => Action::Move(Step::First),
        KeyCode::End => Action::Move(Step::Last),
        KeyCode::Left => Action::Column(-1),
        KeyCode::Right => Action::Column(1),
        KeyCode::Enter => Action::Enter,
        KeyCode::Esc | KeyCode::Backspace => Action::Back,
        KeyCode::F(1) => Action::Help,
        KeyCode::Char('l') if control => Action::Repaint,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(letter) => match letter {
            'q' => Action::Quit,
            '?' | 'h' => Action::Help,
            'f' => Action::Show(List::Functions),
            'o' => Action::Show(List::Objects),
            'p' => Action::Show(List::Processes),
            'k' => Action::Move(Step::Rows(-1)),
            'j' => Action::Move(Step::Rows(1)),
            'g' => Action::Move(Step::First),
            'G' => Action::Move(Step::Last),
            '<' => Action::Column(-1),
            '>' => Action::Column(1),
            '1'..='6' => Action::ColumnAt(letter as usize - '1' as usize),
            'r' => Action::Reverse,
            '/' => Action::Filter,
            's' => Action::Save,
            ' ' => Action::Freeze,
            'c' => Action::Clock,
            _ => return None,
        },
        _ => return None,
    })
}

fn in_question(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
    let held = modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    Some(match code {
        KeyCode::Enter => Action::Accept,
        KeyCode::Esc => Action::Cancel,
        KeyCode::Backspace => Action::Erase,
        KeyCode::Char('u') if modifiers.contains(KeyModifiers::CONTROL) => Action::EraseAll,
        // Terminals send this for backspace, too.
        KeyCode::Char('h') if modifiers.contains(KeyModifiers::CONTROL) => Action::Erase,
        KeyCode::Char(letter) if !held && !letter.is_control() => Action::Type(letter),
        _ => return None,
    })
}

/// The keys, in words: what to press, and what it does.
pub(crate) const HELP: [(&str, &str); 17] = [
    ("f  o  p", "functions, objects, processes"),
    ("Enter", "into what is chosen: process, object, function"),
    ("Esc, Backspace", "back, and out of a filter"),
    ("up, down, j, k", "choose; also PgUp, PgDn, Home, End"),
    ("left, right, 1-6", "sort by another column"),
    ("r", "sort the other way round"),
    ("/", "only names that a regular expression matches"),
    ("Space", "hold the picture; counting goes on"),
    ("c", "switch the clock off and on; nothing is counted"),
    ("s", "save all since the start as a .pb.gz file"),
    ("Ctrl-L", "draw everything again"),
    ("?, h", "these lines"),
    ("q, Ctrl-C", "end"),
    ("", ""),
    (
        "1s 10s all",
        "% of one CPU, over that time with the clock on",
    ),
    ("bar", "user time full, system time light; by the 10 s"),
    ("last lines", "where every tick went: it adds up"),
];

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

    use super::{Action, List, Mode, Step, action};

    fn press(mode: Mode, code: KeyCode) -> Option<Action> {
        action(mode, KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn with_control(mode: Mode, letter: char) -> Option<Action> {
        action(
            mode,
            KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL),
        )
    }

    #[test]
    fn letters_are_commands_in_the_list_and_text_at_a_question() {
        for (letter, expected) in [
            ('q', Action::Quit),
            ('?', Action::Help),
            ('h', Action::Help),
            ('f', Action::Show(List::Functions)),
            ('o', Action::Show(List::Objects)),
            ('p', Action::Show(List::Processes)),
            ('/', Action::Filter),
            ('s', Action::Save),
            (' ', Action::Freeze),
            ('c', Action::Clock),
            ('r', Action::Reverse),
            ('1', Action::ColumnAt(0)),
            ('6', Action::ColumnAt(5)),
            ('j', Action::Move(Step::Rows(1))),
        ] {
            let code = KeyCode::Char(letter);
            assert_eq!(press(Mode::List, code), Some(expected), "{letter}");
            assert_eq!(press(Mode::Question, code), Some(Action::Type(letter)));
        }
        assert_eq!(with_control(Mode::List, 'l'), Some(Action::Repaint));
        assert_eq!(with_control(Mode::List, 's'), None);
        assert_eq!(press(Mode::List, KeyCode::Char('x')), None);
        assert_eq!(press(Mode::List, KeyCode::Char('7')), None);
        assert_eq!(
            press(Mode::Question, KeyCode::Char('語')),
            Some(Action::Type('語'))
        );
        assert_eq!(press(Mode::Question, KeyCode::Char('\u{1b}')), None);
    }

    #[test]
    fn the_end_is_always_one_key_away() {
        for mode in [Mode::List, Mode::Question, Mode::Help] {
            assert_eq!(with_control(mode, 'c'), Some(Action::Quit), "{mode:?}");
        }
        assert_eq!(press(Mode::Help, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(press(Mode::Help, KeyCode::Char('f')), Some(Action::Help));
    }

    #[test]
    fn a_question_is_answered_erased_or_left() {
        for (code, expected) in [
            (KeyCode::Enter, Action::Accept),
            (KeyCode::Esc, Action::Cancel),
            (KeyCode::Backspace, Action::Erase),
        ] {
            assert_eq!(press(Mode::Question, code), Some(expected));
        }
        assert_eq!(with_control(Mode::Question, 'u'), Some(Action::EraseAll));
        assert_eq!(with_control(Mode::Question, 'x'), None);
        assert_eq!(press(Mode::Question, KeyCode::Up), None);
    }

    #[test]
    fn a_key_that_is_let_go_is_none() {
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(action(Mode::List, key), None);
    }
}
