//! The vDSO: the kernel maps the same image into every process, so ours names the target's.

use std::{fs::File, io::Write as _, os::fd::OwnedFd};

use rustix::fs::MemfdFlags;

use super::{
    mappings::{self, Backing},
    object_file::{ObjectError, ObjectFile},
};

/// Returns our own vDSO as an object, for a process of our own architecture.
pub(super) fn image() -> Result<ObjectFile, ObjectError> {
    let mappings = mappings::read(std::process::id())?;
    let mapping = mappings
        .iter()
        .find(|mapping| mapping.backing == Backing::Vdso)
        .ok_or_else(|| std::io::Error::other("this process has no vDSO"))?;
    let length = usize::try_from(mapping.end - mapping.start)
        .map_err(|_| std::io::Error::other("the vDSO is too large"))?;
    // SAFETY: the kernel maps the vDSO readable for the life of the process, and never changes
    // it; the range is the kernel's own account of it.
    let image = unsafe { std::slice::from_raw_parts(mapping.start as *const u8, length) };

    let memory: OwnedFd =
        rustix::fs::memfd_create("vdso", MemfdFlags::CLOEXEC).map_err(std::io::Error::from)?;
    let mut file = File::from(memory);
    file.write_all(image)?;
    ObjectFile::parse(file)
}

#[cfg(test)]
mod tests {
    use super::image;

    #[test]
    fn the_image_is_an_elf_file_with_text_at_its_start() {
        // The vDSO is one segment linked at 0, so that offsets are addresses.
        assert_eq!(image().unwrap().link_address(0x800), Some(0x800));
    }
}
