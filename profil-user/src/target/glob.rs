//! Patterns for names of processes, as shells have them for files (glob(7)).

/// A pattern of bytes that a whole name must match.
///
/// `*` is any bytes, also none; `?` is any one byte; `[a-z_]` is one of these, `[!a-z_]` and
/// `[^a-z_]` any other; a backslash makes the next byte stand for itself. Lower and upper case
/// differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Glob(Vec<Token>);

/// Why a pattern is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GlobError {
    /// A set has no end.
    #[error("a `[` has no `]`; write `\\[` for the character itself")]
    OpenSet,
    /// A range would be empty.
    #[error("a range such as `z-a` has nothing in it")]
    EmptyRange,
    /// POSIX has them in sets.
    #[error("classes such as `[:alpha:]` are not known here; write `[a-zA-Z]`")]
    Class,
    /// It ends in the middle of an escape.
    #[error("nothing follows the last `\\`; write `\\\\` for the character itself")]
    OpenEscape,
}

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token {
    /// Any bytes.
    Run,
    /// One of these.
    One(Bytes),
}

/// A set of bytes: a bit for each.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Bytes([u64; 4]);

impl Bytes {
    const ALL: Self = Self([u64::MAX; 4]);

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1
    }

    fn others(self) -> Self {
        Self(self.0.map(|bits| !bits))
    }
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// If it is none; see [`GlobError`].
    pub(crate) fn parse(pattern: &[u8]) -> Result<Self, GlobError> {
        let mut tokens = Vec::new();
        let mut rest = pattern;
        while let Some(byte) = next(&mut rest) {
            let token = match byte {
                b'*' => Token::Run,
                b'?' => Token::One(Bytes::ALL),
                b'[' => Token::One(parse_set(&mut rest)?),
                b'\\' => Token::One(only(next(&mut rest).ok_or(GlobError::OpenEscape)?)),
                byte => Token::One(only(byte)),
            };
            // Two runs match what one does.
            if token != Token::Run || tokens.last() != Some(&Token::Run) {
                tokens.push(token);
            }
        }
        Ok(Self(tokens))
    }

    /// Whether it matches the whole of `name`. Takes at most as many steps as the product of both
    /// lengths: only the last run is tried again, because what comes before it can stay as it is.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        let (mut token, mut place) = (0, 0);
        // After the last run that was passed, and where that ends so far.
        let mut again = None;
        loop {
            match (self.0.get(token), name.get(place)) {
                (Some(Token::Run), _) => {
                    token += 1;
                    again = Some((token, place));
                }
                (Some(Token::One(bytes)), Some(&byte)) if bytes.contains(byte) => {
                    token += 1;
                    place += 1;
                }
                (None, None) => return true,
                _ => match again {
                    Some((after, end)) if end < name.len() => {
                        again = Some((after, end + 1));
                        (token, place) = (after, end + 1);
                    }
                    _ => return false,
                },
            }
        }
    }
}

fn next(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

fn only(byte: u8) -> Bytes {
    let mut bytes = Bytes::default();
    bytes.insert(byte);
    bytes
}

/// Reads a set after its `[`, and takes its `]`, which stands for itself if it comes first.
fn parse_set(rest: &mut &[u8]) -> Result<Bytes, GlobError> {
    let is_others = matches!(rest.first(), Some(b'!' | b'^'));
    if is_others {
        *rest = &rest[1..];
    }
    let mut bytes = Bytes::default();
    let mut is_first = true;
    loop {
        let first = match next(rest).ok_or(GlobError::OpenSet)? {
            b']' if !is_first => break,
            b'[' if rest.first() == Some(&b':') => return Err(GlobError::Class),
            byte => unescape(byte, rest)?,
        };
        is_first = false;
        // A dash before the end stands for itself.
        let last = match *rest {
            [b'-', byte, after @ ..] if *byte != b']' => {
                *rest = after;
                unescape(*byte, rest)?
            }
            _ => first,
        };
        if first > last {
            return Err(GlobError::EmptyRange);
        }
        (first..=last).for_each(|byte| bytes.insert(byte));
    }
    Ok(if is_others { bytes.others() } else { bytes })
}

/// A byte of a set, or what it escapes.
fn unescape(byte: u8, rest: &mut &[u8]) -> Result<u8, GlobError> {
    match byte {
        b'\\' => next(rest).ok_or(GlobError::OpenSet),
        byte => Ok(byte),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Glob, GlobError, Token};

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::parse(pattern.as_bytes())
            .expect("a pattern")
            .matches(name.as_bytes())
    }

    /// What a match is, without care for the time that it takes.
    fn is_match(tokens: &[Token], name: &[u8]) -> bool {
        match tokens {
            [] => name.is_empty(),
            [Token::Run, tokens @ ..] => {
                (0..=name.len()).any(|length| is_match(tokens, &name[length..]))
            }
            [Token::One(bytes), tokens @ ..] => name
                .split_first()
                .is_some_and(|(&byte, name)| bytes.contains(byte) && is_match(tokens, name)),
        }
    }

    #[test]
    fn patterns_mean_what_they_mean_to_shells() {
        for (pattern, name) in [
            ("", ""),
            ("nginx", "nginx"),
            ("*", ""),
            ("*", "anything"),
            ("py*", "python3"),
            ("*[0-9]", "python3"),
            ("kworker/?:*", "kworker/0:1-events"),
            ("[!a-y]?", "zz"),
            ("[^a-y]?", "zz"),
            ("[]-]", "-"),
            ("[]-]", "]"),
            ("[!]]", "["),
            ("[a-]", "-"),
            (r"[\]-a]", "^"),
            (r"\*\\", r"*\"),
            ("*a*b*c", "xxaxxbxxcxxc"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("nginx", "Nginx"),
            ("nginx", "nginx2"),
            ("?", ""),
            ("[!a]", "a"),
            ("[!a]", ""),
            ("*a", "ab"),
            (r"\*", "a"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for (pattern, error) in [
            ("[a", GlobError::OpenSet),
            ("[]", GlobError::OpenSet),
            ("[!", GlobError::OpenSet),
            ("[a\\", GlobError::OpenSet),
            ("[z-a]", GlobError::EmptyRange),
            ("[[:alpha:]]", GlobError::Class),
            ("a\\", GlobError::OpenEscape),
        ] {
            assert_eq!(Glob::parse(pattern.as_bytes()), Err(error), "{pattern}");
        }
    }

    #[test]
    fn many_runs_take_no_time() {
        let pattern = "*a".repeat(1000) + "b";
        assert!(!matches(&pattern, &"a".repeat(10_000)));
    }

    proptest! {
        #[test]
        fn the_fast_way_is_the_right_one(pattern in r"[ab*?]{0,8}", name in "[abc]{0,10}") {
            let glob = Glob::parse(pattern.as_bytes()).expect("a pattern");
            let name = name.as_bytes();
            prop_assert_eq!(glob.matches(name), is_match(&glob.0, name));
        }

        #[test]
        fn whatever_is_escaped_stands_for_itself(
            name in prop::collection::vec(any::<u8>(), 0..20),
            other in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let pattern: Vec<u8> = name.iter().flat_map(|&byte| [b'\\', byte]).collect();
            let glob = Glob::parse(&pattern).expect("a pattern");
            prop_assert!(glob.matches(&name));
            prop_assert_eq!(glob.matches(&other), name == other);
        }

        #[test]
        fn a_byte_is_in_a_set_or_in_the_others(set in "[a-c!^-]{1,5}", byte in any::<u8>()) {
            let is_in = |pattern: String| {
                Glob::parse(pattern.as_bytes()).map(|glob| glob.matches(&[byte]))
            };
            if let (Ok(is_in_set), Ok(is_other)) =
                (is_in(format!("[b{set}]")), is_in(format!("[!b{set}]")))
            {
                prop_assert_ne!(is_in_set, is_other);
            }
        }

        #[test]
        fn whatever_the_pattern_nothing_panics(
            pattern in prop::collection::vec(any::<u8>(), 0..30),
            name in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            if let Ok(glob) = Glob::parse(&pattern) {
                glob.matches(&name);
            }
        }
    }
}
