//! The build id in an ELF file's notes (elf(5)).

use object::{
    Endianness, ReadRef, elf,
    read::elf::{FileHeader, NoteIterator, ProgramHeader as _, SectionHeader as _},
};

use super::object_file::{MAX_PROGRAM_HEADERS, MAX_SECTIONS};
use crate::profile::BuildId;

/// More than the notes of any program: a build id is some forty bytes.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// The build id that a file has. Its segments are asked first, because no `strip` removes them; a
/// separate debug file has its notes in a section only.
///
/// What is broken, or larger than anybody writes it, is as if it were not there.
pub(super) fn build_id<'data, Header>(data: impl ReadRef<'data>) -> Option<BuildId>
where
    Header: FileHeader<Endian = Endianness>,
{
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let mut left = MAX_NOTE_BYTES;
    let mut affordable = |bytes: u64| {
        let enough = left.checked_sub(bytes);
        left = enough.unwrap_or(left);
        enough.is_some()
    };

    if header.phnum(endian, data).ok()? as u64 <= MAX_PROGRAM_HEADERS {
        for segment in header.program_headers(endian, data).unwrap_or_default() {
            if segment.p_type(endian) == elf::PT_NOTE
                && affordable(segment.p_filesz(endian).into())
                && let Ok(Some(notes)) = segment.notes(endian, data)
                && let Some(id) = id_among::<Header>(notes, endian)
            {
                return Some(id);
            }
        }
    }
    if header.shnum(endian, data).ok()? as u64 <= MAX_SECTIONS {
        for section in header.section_headers(endian, data).unwrap_or_default() {
            if section.sh_type(endian) == elf::SHT_NOTE
                && affordable(section.sh_size(endian).into())
                && let Ok(Some(notes)) = section.notes(endian, data)
                && let Some(id) = id_among::<Header>(notes, endian)
            {
                return Some(id);
            }
        }
    }
    None
}

fn id_among<Header>(notes: NoteIterator<'_, Header>, endian: Header::Endian) -> Option<BuildId>
where
    Header: FileHeader<Endian = Endianness>,
{
    notes
        .map_while(Result::ok)
        .find(|note| {
            note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID
        })
        .and_then(|note| BuildId::new(note.desc()))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _, process::Command};

    use super::MAX_NOTE_BYTES;
    use crate::{profile::BuildId, target::ObjectFile};

    /// A program of one instruction with a build id of the linker's choice.
    fn program(build_id: &str, strip: &[&str]) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let source = directory.path().join("program.c");
        std::fs::write(&source, "int main(void) { return 0; }").unwrap();
        let run = |command: &mut Command| assert!(command.status().unwrap().success());
        run(Command::new("cc")
            .arg(&source)
            .args(["-g", &format!("-Wl,--build-id={build_id}"), "-o"])
            .arg(&path));
        if !strip.is_empty() {
            run(Command::new("objcopy").args(strip).arg(&path));
        }
        std::fs::read(&path).unwrap()
    }

    fn id_of(image: &[u8]) -> Option<BuildId> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(image).unwrap();
        ObjectFile::parse(file).unwrap().build_id()
    }

    #[test]
    fn the_linkers_id_is_read_from_program_and_debug_file() {
        for (asked, id) in [
            ("0x00112233445566778899aabbccddeeff00112233", 20),
            ("0xabcd", 2),
        ] {
            let id = Some(asked[2..2 + 2 * id].parse().unwrap());
            assert_eq!(id_of(&program(asked, &[])), id);
            assert_eq!(id_of(&program(asked, &["--strip-all"])), id);
            assert_eq!(id_of(&program(asked, &["--only-keep-debug"])), id);
        }
    }

    #[test]
    fn segments_are_enough_and_so_are_sections() {
        let image = program("0xabcd", &[]);
        // e_phnum of files that have no segments, e_shoff and e_shnum of those without sections.
        for fields in [&[(56, 2)][..], &[(40, 8), (60, 2)]] {
            let mut image = image.clone();
            for &(at, bytes) in fields {
                image[at..at + bytes].fill(0);
            }
            assert_eq!(id_of(&image), Some("abcd".parse().unwrap()), "{fields:?}");
        }
    }

    #[test]
    fn one_that_is_missing_or_too_long_is_none() {
        assert_eq!(id_of(&program("none", &[])), None);
        let long = format!("0x{}", "ab".repeat(BuildId::MAX_BYTES + 1));
        assert_eq!(id_of(&program(&long, &[])), None);
    }

    #[test]
    fn notes_that_nobody_wrote_are_not_read() {
        let mut image = program("0xabcd", &[]);
        // e_phoff, e_phnum, e_shoff, e_shnum: all notes are said to be as large as the hole.
        let word = |image: &[u8], at: usize, bytes: usize| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&image[at..at + bytes]);
            u64::from_le_bytes(value) as usize
        };
        let huge = (MAX_NOTE_BYTES + 1).to_le_bytes();
        let (segments, count) = (word(&image, 32, 8), word(&image, 56, 2));
        for at in (0..count).map(|index| segments + 56 * index) {
            if word(&image, at, 4) == 4 {
                image[at + 32..at + 40].copy_from_slice(&huge);
            }
        }
        let (sections, count) = (word(&image, 40, 8), word(&image, 60, 2));
        for at in (0..count).map(|index| sections + 64 * index) {
            if word(&image, at + 4, 4) == 7 {
                image[at + 32..at + 40].copy_from_slice(&huge);
            }
        }
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(&image).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(ObjectFile::parse(file).unwrap().build_id(), None);
    }

    #[test]
    fn the_vdso_has_one() {
        let this = ObjectFile::parse(File::open("/proc/self/exe").unwrap()).unwrap();
        let vdso = crate::target::vdso::image().unwrap();
        assert!(vdso.build_id().is_some());
        assert_ne!(this.build_id(), vdso.build_id());
    }
}
