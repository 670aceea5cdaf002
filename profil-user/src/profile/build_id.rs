//! Which build of a program it is, by the note that its linker wrote.

use std::{fmt, str::FromStr};

/// A GNU build id: equal in files that were linked as one, the separate debug file among them, and
/// in no others.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BuildId {
    /// Zero past the length, so that equal ids compare so.
    bytes: [u8; Self::MAX_BYTES],
    length: u8,
}

impl BuildId {
    /// The longest: a SHA-1. The kernel knows no longer ones either.
    pub const MAX_BYTES: usize = 20;

    /// The id with these bytes, if it is not empty and not too long.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() || bytes.len() > Self::MAX_BYTES {
            return None;
        }
        let mut id = Self {
            bytes: [0; Self::MAX_BYTES],
            length: bytes.len() as u8,
        };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for BuildId {
    /// In hexadecimal digits, as every tool writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.bytes().iter();
        bytes.try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

/// The text is no build id: an even number of hexadecimal digits, forty at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a build id is an even number of hexadecimal digits, {} at most", 2 * BuildId::MAX_BYTES)]
pub struct NoBuildId;

impl FromStr for BuildId {
    type Err = NoBuildId;

    fn from_str(text: &str) -> Result<Self, NoBuildId> {
        let digits = text.as_bytes();
        if !digits.len().is_multiple_of(2) || digits.len() > 2 * Self::MAX_BYTES {
            return Err(NoBuildId);
        }
        let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(NoBuildId);
        let bytes = digits
            .chunks_exact(2)
            .map(|pair| Ok((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
            .collect::<Result<Vec<_>, _>>()?;
        Self::new(&bytes).ok_or(NoBuildId)
    }
}

#[cfg(test)]
mod tests {
    use super::{BuildId, NoBuildId};

    #[test]
    fn it_is_written_and_read_in_hexadecimal() {
        let id = BuildId::new(&[0x00, 0x0a, 0xff]).unwrap();
        assert_eq!(id.to_string(), "000aff");
        assert_eq!("000aff".parse(), Ok(id));
        assert_eq!("000AFF".parse(), Ok(id));
        assert_eq!(id.bytes(), [0x00, 0x0a, 0xff]);
    }

    #[test]
    fn one_without_bytes_or_with_too_many_is_none() {
        assert_eq!(BuildId::new(&[]), None);
        assert!(BuildId::new(&[1; 20]).is_some());
        assert_eq!(BuildId::new(&[1; 21]), None);
        for text in ["", "0", "0x", "00a", "zz", "+1", "é", &"00".repeat(21)] {
            assert_eq!(text.parse::<BuildId>(), Err(NoBuildId), "{text:?}");
        }
    }

    #[test]
    fn zeros_at_the_end_tell_ids_apart() {
        assert_ne!(BuildId::new(&[1]), BuildId::new(&[1, 0]));
    }
}
