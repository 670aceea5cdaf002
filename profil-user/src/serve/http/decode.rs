//! Paths and queries, decoded. What is not quite right is refused rather than guessed at, so that
//! nobody in front of us can understand a request otherwise than we do.

use crate::serve::Query;

/// Most names in a query.
const MOST_PAIRS: usize = 64;

/// What is wrong with a path or a query.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Undecodable {
    #[error("a % must be followed by two hexadecimal digits")]
    Percent,
    #[error("other characters than visible ASCII must be written as %XX")]
    Raw,
    #[error("what the % stand for must be UTF-8 without control characters")]
    Text,
    #[error("a path must begin with / and have no . or .. and no %2F in it")]
    Path,
    #[error("a query must not have more than 64 names")]
    TooMany,
}

/// Decodes a path (RFC 3986, 3.3).
pub(crate) fn path(raw: &str) -> Result<String, Undecodable> {
    let has_slash = raw
        .as_bytes()
        .windows(3)
        .any(|three| three.eq_ignore_ascii_case(b"%2f"));
    let path = text(raw, false)?;
    let is_step = |part: &str| part == "." || part == "..";
    if !path.starts_with('/') || has_slash || path.split('/').any(is_step) {
        return Err(Undecodable::Path);
    }
    Ok(path)
}

/// Decodes a query as forms write it: pairs with `&` between them, `+` for a space
/// (<https://url.spec.whatwg.org/#application/x-www-form-urlencoded>).
pub(crate) fn query(raw: &str) -> Result<Query, Undecodable> {
    let pairs = raw.split('&').filter(|pair| !pair.is_empty());
    let mut query = Query::default();
    for pair in pairs {
        if query.0.len() == MOST_PAIRS {
            return Err(Undecodable::TooMany);
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        query.0.push((text(name, true)?, text(value, true)?));
    }
    Ok(query)
}

fn text(raw: &str, plus_is_space: bool) -> Result<String, Undecodable> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit(), digit());
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(Undecodable::Percent);
                };
                (high * 16 + low) as u8
            }
            b'+' if plus_is_space => b' ',
            byte if byte.is_ascii_graphic() => byte,
            _ => return Err(Undecodable::Raw),
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| Undecodable::Text)?;
    if text.chars().any(char::is_control) {
        return Err(Undecodable::Text);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::{Undecodable, path, query};

    #[test]
    fn paths() {
        for (raw, wanted) in [
            ("/", Ok("/")),
            ("/debug/pprof/", Ok("/debug/pprof/")),
            ("/a%20b/%C3%A9+", Ok("/a b/é+")),
            ("/a..b/.hidden/...", Ok("/a..b/.hidden/...")),
            ("", Err(Undecodable::Path)),
            ("*", Err(Undecodable::Path)),
            ("/../metrics", Err(Undecodable::Path)),
            ("/a/%2e%2E/b", Err(Undecodable::Path)),
            ("/a/.", Err(Undecodable::Path)),
            ("/a%2fb", Err(Undecodable::Path)),
            ("/%", Err(Undecodable::Percent)),
            ("/%4", Err(Undecodable::Percent)),
            ("/%+1", Err(Undecodable::Percent)),
            ("/é", Err(Undecodable::Raw)),
            ("/%ff", Err(Undecodable::Text)),
            ("/%00", Err(Undecodable::Text)),
            ("/%0d%0aX: y", Err(Undecodable::Raw)),
            ("/%C2%9b", Err(Undecodable::Text)),
        ] {
            assert_eq!(path(raw), wanted.map(str::to_owned), "{raw}");
        }
    }

    #[test]
    fn queries() {
        let found = query("a=1&&b&c=x%3Dy+z&a=2=3").unwrap();
        let pairs = [("a", "1"), ("b", ""), ("c", "x=y z"), ("a", "2=3")];
        let wanted = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found.0, wanted);
        assert_eq!(found.get("a"), Some("1"));
        assert_eq!(query("").unwrap().0, []);
        assert_eq!(query("a=%"), Err(Undecodable::Percent));
        assert!(query(&"a&".repeat(64)).is_ok());
        assert_eq!(query(&"a&".repeat(65)), Err(Undecodable::TooMany));
    }

    fn encode(text: &str) -> String {
        text.bytes().fold(String::new(), |mut encoded, byte| {
            let _ = match byte {
                b' ' => write!(encoded, "+"),
                byte if byte.is_ascii_alphanumeric() => write!(encoded, "{}", char::from(byte)),
                byte => write!(encoded, "%{byte:02x}"),
            };
            encoded
        })
    }

    proptest! {
        #[test]
        fn a_query_comes_out_as_it_went_in(
            pairs in proptest::collection::vec(("\\PC{1,8}", "\\PC{0,8}"), 0..8)
        ) {
            let raw: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
                .collect();
            prop_assert_eq!(query(&raw.join("&")).unwrap().0, pairs);
        }

        #[test]
        fn nothing_makes_it_panic(raw in "(?s).{0,64}") {
            if let Ok(path) = path(&raw) {
                prop_assert!(path.starts_with('/') && !path.contains("/../"));
            }
            let _ = query(&raw);
        }
    }
}
