//! The code in a mapped file, and what it is for.

use std::{fs, io, os::unix::fs::FileExt as _};

use super::{ObjectFile, Segment};

/// Where an ELF file tells the machine that it is for: `e_machine`, after `e_ident` and `e_type` (elf(5)).
const E_MACHINE: u64 = 18;

impl ObjectFile {
    /// The machine that it is for (`e_machine`, elf(5)).
    pub(crate) fn machine(&self) -> io::Result<u16> {
        let mut machine = [0; 2];
        self.file.read_exact_at(&mut machine, E_MACHINE)?;
        Ok(if self.is_little_endian() {
            u16::from_le_bytes(machine)
        } else {
            u16::from_be_bytes(machine)
        })
    }

    /// Whose it is, and when it was written.
    pub(crate) fn metadata(&self) -> io::Result<fs::Metadata> {
        self.file.metadata()
    }

    /// The bytes of text from a link-time address on: at most so many, fewer where the text ends, and
    /// none where there is no text.
    pub(crate) fn text_at(&self, link_address: u64, most: usize) -> io::Result<Vec<u8>> {
        let segments = self.segments.iter().filter(|segment| segment.executable);
        let left = |segment: &Segment| {
            let distance = link_address.checked_sub(segment.address)?;
            segment.file_bytes.checked_sub(distance)
        };
        let left = segments.filter_map(left).find(|&left| left > 0);
        let (Some(left), Some(mut offset)) = (left, self.offset_of(link_address)) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(most).min(most)];
        let mut read = 0;
        while read < bytes.len() {
            match self.file.read_at(&mut bytes[read..], offset) {
                Ok(0) => break,
                Ok(length) => {
                    read += length;
                    offset += length as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(read);
        Ok(bytes)
    }
}
