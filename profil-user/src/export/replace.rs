//! Files that are replaced as a whole, or not at all.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// A file that is replaced as a whole, or something that cannot be (a device, a FIFO) and is
/// written to directly.
#[derive(Debug)]
pub(super) enum Target {
    Replace {
        temporary: NamedTempFile,
        path: PathBuf,
    },
    Direct(File),
}

impl Target {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Through a symbolic link, so that the link stays and its target is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut mode = 0o666;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a directory; end the name in / for one file an object",
                ));
            }
            Ok(metadata) if !metadata.is_file() => {
                return Ok(Self::Direct(OpenOptions::new().write(true).open(&path)?));
            }
            Ok(metadata) => {
                // A file that we may not write is not ours to replace.
                OpenOptions::new().write(true).open(&path)?;
                mode = metadata.permissions().mode();
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let directory = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let temporary = tempfile::Builder::new()
            .prefix(".profil-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(directory.unwrap_or(Path::new(".")))
            .map_err(|error| without_path(&error))?;
        Ok(Self::Replace { temporary, path })
    }

    pub(super) fn fill(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = match &self {
            Self::Replace { temporary, .. } => BufWriter::new(temporary.as_file()),
            Self::Direct(file) => BufWriter::new(file),
        };
        fill(&mut file)?;
        file.flush()?;
        drop(file);
        if let Self::Replace { temporary, path } = self {
            // Delayed allocation can report a full disk as late as here, and a rename can reach
            // the disk before the data does.
            temporary.as_file().sync_all()?;
            temporary.persist(path).map_err(|error| error.error)?;
        }
        Ok(())
    }
}

/// What the system said about a temporary file, without that file's name: it means nothing to
/// the person, who gave another.
pub(super) fn without_path(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let said = text.split(" at path \"").next().unwrap_or_default();
    io::Error::new(error.kind(), said)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::Target;

    fn names_in(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        let target = Target::open(&path).unwrap();
        assert!(!path.exists());
        target.fill(|out| out.write_all(b"whole")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names_in(directory.path()), ["a.txt"]);
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let target = Target::open(&path).unwrap();
        let half = target.fill(|out| out.write_all(b"half").and(Err(std::io::Error::other("no"))));
        half.unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(directory.path()), ["a.txt"]);
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        Target::open(&path)
            .unwrap()
            .fill(|out| out.write_all(b"new"))
            .unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (
            directory.path().join("a.txt"),
            directory.path().join("b.txt"),
        );
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        Target::open(&link)
            .unwrap()
            .fill(|out| out.write_all(b"new"))
            .unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_refusal_is_told_without_the_temporary_name() {
        let error = Target::open(Path::new("/nowhere/a.txt")).unwrap_err();
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}
