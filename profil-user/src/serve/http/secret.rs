//! Small files, and who may read them.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

/// Largest file that is read, in bytes: a few hundred certificates.
const LARGEST: u64 = 1 << 20;

/// Permission bits of those who are not to read a file.
pub(super) const ANYBODY: u32 = 0;
pub(in crate::serve) const GROUP_OR_OTHERS: u32 = 0o077;
pub(super) const OTHERS: u32 = 0o007;

/// Reads a file that none of some people may read or write; or why not, and what to do.
pub(in crate::serve) fn read(path: &Path, forbidden: u32) -> Result<Vec<u8>, String> {
    let said = |error: io::Error| error.to_string();
    // Nobody is waited for who would write into a pipe.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(said)?;
    let metadata = file.metadata().map_err(said)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mode = metadata.mode() & 0o777;
    if mode & forbidden != 0 {
        let who = if forbidden == OTHERS {
            "everybody"
        } else {
            "others than its owner"
        };
        let right = mode & !forbidden;
        return Err(format!(
            "its mode is {mode:04o}, so {who} may read or write it; `chmod {right:04o}` it"
        ));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(said)?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 1 MiB".to_owned());
    }
    Ok(bytes)
}
