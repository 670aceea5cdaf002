//! The bytes of a message as the fields that they are made of, before they are believed: none is too
//! large, and there are not too many. A field of two bytes can take fifty times as much in memory.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

use super::error::PprofError;

/// Samples, addresses, functions, texts and the like that are read at most. A profile of a million
/// addresses has about three million.
pub(super) const MOST_PARTS: usize = 1 << 23;

/// Bytes of one of these, unless it is a text.
pub(super) const MOST_BYTES_OF_PART: usize = 1 << 20;

/// A field of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    /// Its number in the schema.
    pub(super) number: u64,
    /// All of its bytes.
    pub(super) whole: &'a [u8],
    /// Of a message, a text or a list, what is in it.
    pub(super) inner: Option<&'a [u8]>,
}

/// The fields of a message, in the order in which they come.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Those of a message of so many bytes.
    pub(crate) const fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, PprofError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = field(&mut self.0);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Takes the next field off.
fn field<'a>(bytes: &mut &'a [u8]) -> Result<Field<'a>, PprofError> {
    let all = *bytes;
    let key = number(bytes)?;
    let inner = match key & 7 {
        0 => {
            number(bytes)?;
            None
        }
        1 => {
            take(bytes, 8)?;
            None
        }
        2 => {
            let length = number(bytes)?;
            Some(take(bytes, length)?)
        }
        5 => {
            take(bytes, 4)?;
            None
        }
        _ => return Err(PprofError::Bytes),
    };
    Ok(Field {
        number: key >> 3,
        whole: &all[..all.len() - bytes.len()],
        inner,
    })
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

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], PprofError> {
    let length = usize::try_from(length).map_err(|_| PprofError::Bytes)?;
    let (inner, rest) = bytes.split_at_checked(length).ok_or(PprofError::Bytes)?;
    *bytes = rest;
    Ok(inner)
}
