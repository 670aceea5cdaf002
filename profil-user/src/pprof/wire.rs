//! The bytes of a message, before they are believed: how many parts it has. A part of two bytes takes
//! fifty times as much in memory.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

use super::read::PprofError;

/// Parts of a file, and parts of these, that are read at most. A profile of a large machine has some
/// hundred thousand.
pub(super) const MOST_PARTS: usize = 1 << 22;

/// The fields of a file that are messages or texts: samples, mappings, locations, functions, texts.
const PARTS: std::ops::RangeInclusive<u64> = 1..=6;

/// Checks that a file does not have too many parts.
pub(super) fn check(bytes: &[u8]) -> Result<(), PprofError> {
    let mut parts = 0;
    count(bytes, &mut parts, true)?;
    Ok(())
}

/// Counts the parts of a message, and of those that are in it.
fn count(mut bytes: &[u8], parts: &mut usize, is_file: bool) -> Result<(), PprofError> {
    /// The field of a file that holds texts, and nothing further.
    const TEXTS: u64 = 6;

    while !bytes.is_empty() {
        let key = number(&mut bytes)?;
        let (field, kind) = (key >> 3, key & 7);
        match kind {
            0 => {
                number(&mut bytes)?;
            }
            1 => skip(&mut bytes, 8)?,
            5 => skip(&mut bytes, 4)?,
            2 => {
                let length = number(&mut bytes)?;
                let inner = skip_to(&mut bytes, length)?;
                *parts += 1;
                if *parts > MOST_PARTS {
                    return Err(PprofError::TooManyParts);
                }
                // Labels and lines: the others hold numbers only.
                let nested = is_file && PARTS.contains(&field) && field != TEXTS;
                if nested {
                    count(inner, parts, false)?;
                }
            }
            _ => return Err(PprofError::Bytes),
        }
    }
    Ok(())
}

fn number(bytes: &mut &[u8]) -> Result<u64, PprofError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(PprofError::Bytes)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(PprofError::Bytes)
}

fn skip(bytes: &mut &[u8], length: u64) -> Result<(), PprofError> {
    skip_to(bytes, length).map(|_| ())
}

fn skip_to<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], PprofError> {
    let length = usize::try_from(length).map_err(|_| PprofError::Bytes)?;
    let (inner, rest) = bytes.split_at_checked(length).ok_or(PprofError::Bytes)?;
    *bytes = rest;
    Ok(inner)
}
