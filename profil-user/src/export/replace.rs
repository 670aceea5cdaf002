//! Files that are replaced as a whole, or not at all.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Writes a file that a person named, as a whole or not at all.
///
/// # Errors
///
/// If it cannot be written; what was there before is there still.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Target::open(path)?.fill(|out| out.write_all(bytes))
}

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
    /// Opens a file that a person named: through symbolic links, so that a link stays and its
    /// target is replaced.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let Some(metadata) = existing(path)? else {
            return Self::create(path, None);
        };
        if metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory; end the name in / for one file an object",
            ));
        }
        // A file that we may not write is not ours to replace. By the path that was given, so
        // that the kernel's protection of links in shared directories applies.
        let file = OpenOptions::new().write(true).open(path)?;
        match fs::canonicalize(path) {
            Ok(real) if metadata.is_file() => Self::create(&real, Some(metadata)),
            // Also a file that has no name any more.
            _ => Ok(Self::Direct(file)),
        }
    }

    /// Opens a file in a directory that others may write to as well: a link in its place is
    /// replaced, never followed.
    pub(super) fn open_in_directory(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::create(path, Some(metadata)),
            _ => Self::create(path, None),
        }
    }

    /// Makes the temporary file beside `path`, with the permissions and the owner of the file
    /// that it will replace.
    fn create(path: &Path, replaces: Option<Metadata>) -> io::Result<Self> {
        let directory = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let temporary = tempfile::Builder::new()
            .prefix(".profil-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory.unwrap_or(Path::new(".")))
            .map_err(|error| without_path(&error))?;
        if let Some(old) = replaces {
            let file = temporary.as_file();
            // Only root can give files away; for others the owner is theirs already, or changes.
            let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
            file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
        }
        Ok(Self::Replace {
            temporary,
            path: path.to_owned(),
        })
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

/// What is at a path, if anything; a symbolic link to nowhere is an error.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) if path.is_symlink() => Err(io::Error::other("it is a symbolic link to nothing")),
        Err(_) => Ok(None),
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
        // More than any usual umask would leave.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        Target::open(&path)
            .unwrap()
            .fill(|out| out.write_all(b"new"))
            .unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o666
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
    fn a_link_that_others_planted_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (victim, link) = (
            directory.path().join("victim"),
            directory.path().join("a.gmon"),
        );
        fs::write(&victim, "old").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        Target::open_in_directory(&link)
            .unwrap()
            .fill(|out| out.write_all(b"new"))
            .unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"old");
        assert!(!link.is_symlink());
    }

    #[test]
    fn a_link_to_nothing_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("a.txt");
        std::os::unix::fs::symlink(directory.path().join("nothing"), &link).unwrap();
        Target::open(&link).unwrap_err();
        assert!(link.is_symlink());
    }

    #[test]
    fn a_refusal_is_told_without_the_temporary_name() {
        let error = Target::open(Path::new("/nowhere/a.txt")).unwrap_err();
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}
