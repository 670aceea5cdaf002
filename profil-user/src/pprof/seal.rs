//! The last comment: that the file is as we have written it.

use prost::Message as _;

use super::{error::PprofError, parts::number, schema::Profile, wire::Fields};

const BEGINS: &str = "#profil-bpf 1 ";

/// The seal of a file whose bytes without it have this checksum.
pub(super) fn of(crc: u32) -> String {
    format!("{BEGINS}{crc:08x}")
}

/// Whether the last comment and the last text are a seal, and a true one.
///
/// # Errors
///
/// If the bytes are no fields.
pub(super) fn is_true(bytes: &[u8], comments: &[i64], texts: &[&[u8]]) -> Result<bool, PprofError> {
    let (Some((last, others)), Some(seal)) = (comments.split_last(), texts.last()) else {
        return Ok(false);
    };
    if *last != texts.len() as i64 - 1 || !seal.starts_with(BEGINS.as_bytes()) {
        return Ok(false);
    }
    let mut crc = crc32fast::Hasher::new();
    let mut texts_left = texts.len();
    let mut others = Some(comments_alone(others));
    for field in Fields::of(bytes) {
        let field = field?;
        if field.number == number::TEXT && field.inner.is_some() {
            texts_left -= 1;
            if texts_left == 0 {
                continue;
            }
        }
        if field.number == number::COMMENT {
            // Where several lists follow one another, they are not ours.
            crc.update(&others.take().unwrap_or_default());
        } else {
            crc.update(field.whole);
        }
    }
    Ok(of(crc.finalize()).as_bytes() == *seal)
}

/// The bytes of a file that has nothing but comments.
fn comments_alone(places: &[i64]) -> Vec<u8> {
    let file = Profile {
        comment: places.to_vec(),
        ..Profile::default()
    };
    file.encode_to_vec()
}

/// The file with a true seal on whatever is in it, as somebody would make it who means harm. For tests.
#[doc(hidden)]
pub fn sealed_anew(bytes: &[u8]) -> Option<Vec<u8>> {
    super::parts::Parts::of(bytes).ok()?;
    let mut file = Profile::decode(bytes).ok()?;
    let is_seal = |text: &Vec<u8>| text.starts_with(BEGINS.as_bytes());
    let seal = file.string_table.iter().position(is_seal);
    file.comment
        .retain(|&place| Some(place) != seal.map(|seal| seal as i64));
    let crc = crc32fast::hash(&file.encode_to_vec());
    file.comment.push(file.string_table.len() as i64);
    file.string_table.push(of(crc).into_bytes());
    Some(file.encode_to_vec())
}
