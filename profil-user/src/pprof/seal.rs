//! The last comment: that the file is as we have written it.

use prost::Message as _;

use super::schema::Profile;

const BEGINS: &str = "#profil-bpf 1 ";

/// Seals a file that is complete.
pub(super) fn put(file: &mut Profile) {
    let seal = format!("{BEGINS}{:08x}", crc(file));
    file.comment.push(file.string_table.len() as i64);
    file.string_table.push(seal.into_bytes());
}

/// Takes the seal off. Returns whether there was one, and it was true.
pub(super) fn take(file: &mut Profile) -> bool {
    let is_last = file.comment.last() == Some(&(file.string_table.len() as i64 - 1));
    let seal = file.string_table.last().filter(|_| is_last);
    let Some(crc_in_seal) = seal.and_then(|seal| seal.strip_prefix(BEGINS.as_bytes())) else {
        return false;
    };
    let crc_in_seal = crc_in_seal.to_vec();
    file.comment.pop();
    file.string_table.pop();
    format!("{:08x}", crc(file)).into_bytes() == crc_in_seal
}

fn crc(file: &Profile) -> u32 {
    crc32fast::hash(&file.encode_to_vec())
}

/// The file with a true seal on whatever is in it, as somebody would make it who means harm. For tests.
#[doc(hidden)]
pub fn sealed_anew(bytes: &[u8]) -> Option<Vec<u8>> {
    super::wire::check(bytes).ok()?;
    let mut file = Profile::decode(bytes).ok()?;
    let is_seal = |text: &Vec<u8>| text.starts_with(BEGINS.as_bytes());
    let seal = file.string_table.iter().position(is_seal);
    file.comment
        .retain(|&place| Some(place) != seal.map(|seal| seal as i64));
    put(&mut file);
    Some(file.encode_to_vec())
}
