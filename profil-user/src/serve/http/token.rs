//! The token that whoever asks must show.

use std::{fmt, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use subtle::ConstantTimeEq as _;

use super::{
    ServeError,
    secret::{self, GROUP_OR_OTHERS},
};

/// Fewest and most characters of a token.
const SHORTEST: usize = 16;
const LONGEST: usize = 256;

/// A token, which is never shown.
pub(super) struct Token {
    /// Filled up with zeros, so that a comparison takes as long for every length.
    padded: [u8; LONGEST],
    length: u64,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token in a file: one line of visible ASCII.
    pub(super) fn read(path: &Path) -> Result<Self, ServeError> {
        let token = secret::read(path, GROUP_OR_OTHERS).and_then(|bytes| {
            let token = bytes.trim_ascii();
            if !token.iter().all(u8::is_ascii_graphic) {
                return Err("it must be one line of visible ASCII".to_owned());
            }
            if token.len() < SHORTEST {
                return Err(format!(
                    "it has {} characters, and {SHORTEST} is the least; `openssl rand -hex 24` \
                     makes a good one",
                    token.len()
                ));
            }
            Self::of(token).ok_or_else(|| format!("it has more than {LONGEST} characters"))
        });
        token.map_err(|why| ServeError::Token {
            path: path.to_owned(),
            why,
        })
    }

    fn of(token: &[u8]) -> Option<Self> {
        let mut padded = [0; LONGEST];
        padded.get_mut(..token.len())?.copy_from_slice(token);
        Some(Self {
            padded,
            length: token.len() as u64,
        })
    }

    /// Whether what was shown is the token. How long it takes does not depend on the token, nor on how
    /// much of it was right.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        let Some(shown) = Self::of(shown) else {
            return false;
        };
        let same = self.padded.ct_eq(&shown.padded) & self.length.ct_eq(&shown.length);
        same.into()
    }
}

/// The token that an `Authorization` header shows: `Bearer TOKEN` (RFC 6750), or the password of
/// `Basic …` (RFC 7617), which browsers and `https://user:token@host` send.
pub(crate) fn shown(header: &[u8]) -> Option<Vec<u8>> {
    let space = header.iter().position(|&byte| byte == b' ')?;
    let (scheme, rest) = header.split_at(space);
    let rest = rest.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Some(rest.to_vec());
    }
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return None;
    }
    let decoded = STANDARD.decode(rest).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use rustix::fs::{CWD, FileType, Mode};

    use super::{Token, shown};

    const TOKEN: &str = "0123456789abcdef";

    fn read(content: &[u8], mode: u32) -> Result<Token, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let path = format!("{:?}", file.path());
        let token = Token::read(file.path());
        token.map_err(|error| error.to_string().replace(&path, "FILE"))
    }

    #[test]
    fn only_the_token_is_the_token() {
        let token = read(b"0123456789abcdef\n", 0o600).unwrap();
        assert!(token.is(TOKEN.as_bytes()));
        for wrong in [
            "",
            "0123456789abcdeg",
            "0123456789abcde",
            "0123456789abcdef\0",
            "X",
        ] {
            assert!(!token.is(wrong.as_bytes()), "{wrong:?}");
        }
        assert!(!token.is(&[b'0'; 4096]));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn files_that_others_may_read_and_weak_tokens_are_refused() {
        for (content, mode, wanted) in [
            (
                TOKEN,
                0o640,
                "its mode is 0640, so others than its owner may read or write it; `chmod 0600` it",
            ),
            (
                TOKEN,
                0o604,
                "its mode is 0604, so others than its owner may read or write it; `chmod 0600` it",
            ),
            (
                "0123456789abcde\n",
                0o600,
                "it has 15 characters, and 16 is the least; `openssl rand -hex 24` makes a good one",
            ),
            (
                "two words of a token",
                0o600,
                "it must be one line of visible ASCII",
            ),
            (&"x".repeat(257), 0o600, "it has more than 256 characters"),
        ] {
            let error = read(content.as_bytes(), mode).unwrap_err();
            assert_eq!(error, format!("cannot take the token from FILE: {wanted}"));
        }
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let error = Token::read(&pipe).unwrap_err().to_string();
        assert!(error.ends_with("it is not a regular file"), "{error}");
    }

    #[test]
    fn tokens_are_shown_in_two_ways() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer   abc ", Some("abc")),
            // u:abc, and u:a:b
            ("Basic dTphYmM=", Some("abc")),
            ("BASIC dTphOmI=", Some("a:b")),
            ("Basic dTphYmM", None),
            ("Basic YWJj", None),
            ("Basic !!!!", None),
            ("Digest abc", None),
            ("Bearer", None),
            ("", None),
        ] {
            let found = shown(header.as_bytes());
            assert_eq!(found.as_deref(), token.map(str::as_bytes), "{header}");
        }
    }
}
