//! Outputs: opened before the first tick, filled after the last.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{
    destination::{Destination, Format},
    escape::printable,
    gmon,
    replace::{Target, without_path},
    text,
};
use crate::{
    profile::{ElfClass, ObjectId, ObjectKind, Profile},
    symbolize::Function,
};

/// Why an output could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Opening, before the first tick.
    #[error("cannot write to {}", .path.display())]
    Open {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing. What was there before is still there, whole.
    #[error("cannot write the profile to {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The executable was not found among the objects.
    #[error("cannot write {}: the executable of the process is not known", .0.display())]
    NoExecutable(PathBuf),
}

/// An output that is open and waits for its profile.
#[derive(Debug)]
pub struct Output {
    destination: Destination,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Stdout,
    File(Target),
    Directory(Directory),
}

impl Output {
    /// Opens an output, so that a bad path fails before anything is measured.
    ///
    /// # Errors
    ///
    /// If it cannot be written to. Nothing is left behind then.
    pub fn open(destination: Destination) -> Result<Self, OutputError> {
        let sink = match &destination {
            Destination::Stdout(_) => Ok(Sink::Stdout),
            Destination::File(path, _) => Target::open(path).map(Sink::File),
            Destination::Directory(path) => Directory::open(path).map(Sink::Directory),
        };
        let path = destination.path();
        let sink = sink.map_err(|source| OutputError::Open { path, source })?;
        Ok(Self { destination, sink })
    }

    /// Whether it is standard output.
    pub const fn is_stdout(&self) -> bool {
        matches!(self.destination, Destination::Stdout(_))
    }

    /// Writes the profile and puts it in place. Returns what a person should know, if anything.
    ///
    /// # Errors
    ///
    /// If it cannot be written whole. What was there before is left alone.
    pub fn write(
        self,
        profile: &Profile,
        functions: &[Function],
    ) -> Result<Option<String>, OutputError> {
        let path = self.destination.path();
        let to_stdout = self.is_stdout();
        let fail = |path: &Path, source| OutputError::Write {
            path: path.to_owned(),
            source,
        };
        match (self.sink, self.destination) {
            (Sink::Directory(directory), _) => directory.write(profile, fail).map(Some),
            (sink, Destination::Stdout(format) | Destination::File(_, format)) => {
                let object = match format {
                    Format::Text => None,
                    Format::Gmon => match profile.main_object() {
                        Some(object) => Some(object),
                        None => return Err(OutputError::NoExecutable(path)),
                    },
                };
                let fill = |out: &mut dyn Write| match object {
                    Some(object) => gmon::write(profile, object, &mut &mut *out),
                    None => {
                        text::write(profile, functions, text::Layout::default(), &mut &mut *out)
                    }
                };
                match sink {
                    Sink::File(target) => target.fill(fill),
                    _ => {
                        let mut out = io::stdout().lock();
                        fill(&mut out).and_then(|()| out.flush())
                    }
                }
                .map_err(|source| fail(&path, source))?;
                let note = |object| how_to_read(profile, object, &path);
                Ok(object.filter(|_| !to_stdout).map(note))
            }
            (_, Destination::Directory(_)) => Ok(None),
        }
    }
}

fn how_to_read(profile: &Profile, object: ObjectId, path: &Path) -> String {
    let here: u64 = profile
        .counts_in(object)
        .iter()
        .map(|count| count.ticks())
        .sum();
    let all = profile.ticks();
    let name = profile.object(object).name();
    let path = shell_word(&path.to_string_lossy());
    let mut text = format!(
        "{path}: {here} of {all} ticks, those in {}; read it with: gprof -p {} {path}",
        printable(&name),
        shell_word(&object_path(profile, object)),
    );
    if here < all {
        text += "\nthe other objects' ticks go to one file each with: -o DIR/";
    }
    text
}

/// A name as one word of a shell command: somebody may paste it, and it was chosen by others.
fn shell_word(name: &str) -> String {
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+')
    };
    let name = printable(name);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.into_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

fn object_path(profile: &Profile, object: ObjectId) -> String {
    match &profile.object(object).kind {
        ObjectKind::File { path, .. } => path.to_string_lossy().into_owned(),
        _ => profile.object(object).name(),
    }
}

/// A directory that gets one file an object.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Whether we made it, and take it back if nothing is written.
    made: bool,
}

impl Directory {
    fn open(path: &Path) -> io::Result<Self> {
        let made = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        let directory = Self {
            path: path.to_owned(),
            made,
        };
        // Whether files can be made in it shows only by making one.
        NamedTempFile::new_in(path).map_err(|error| without_path(&error))?;
        Ok(directory)
    }

    fn write(
        mut self,
        profile: &Profile,
        fail: impl Fn(&Path, io::Error) -> OutputError,
    ) -> Result<String, OutputError> {
        let mut used: Vec<String> = Vec::new();
        let mut ticks = 0;
        for index in 0..profile.objects.len() {
            let object = ObjectId::new(index);
            let here: u64 = profile
                .counts_in(object)
                .iter()
                .map(|count| count.ticks())
                .sum();
            if !has_image(profile, object) || (here == 0 && !profile.object(object).is_main) {
                continue;
            }
            let name = file_name(&profile.object(object).name(), &used);
            let path = self.path.join(&name);
            Target::open_in_directory(&path)
                .and_then(|target| target.fill(|mut out| gmon::write(profile, object, &mut out)))
                .map_err(|source| fail(&path, source))?;
            self.made = false;
            used.push(name);
            ticks += here;
        }
        Ok(format!(
            "{}: {} files with {ticks} of {} ticks; read one with: gprof -p OBJECT {}OBJECT.gmon",
            self.path.display(),
            used.len(),
            profile.ticks(),
            self.path.display(),
        ))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.made {
            // It is empty, or the system refuses, and either is right.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Whether gprof could be given a file to read the symbols from.
fn has_image(profile: &Profile, object: ObjectId) -> bool {
    matches!(
        profile.object(object).kind,
        ObjectKind::File {
            class: Some(ElfClass::Elf32 | ElfClass::Elf64),
            ..
        }
    )
}

/// A name for an object's file that is not `used` yet.
fn file_name(object: &str, used: &[String]) -> String {
    /// Room for the ending in the 255 bytes of a name.
    const LONGEST: usize = 200;

    let plain: String = object
        .strip_suffix(" (deleted)")
        .unwrap_or(object)
        .chars()
        .map(|character| {
            if character.is_control() || character == '/' {
                '_'
            } else {
                character
            }
        })
        .collect();
    let plain = &plain[..plain.floor_char_boundary(LONGEST)];
    let mut name = format!("{plain}.gmon");
    let mut number = 1;
    while used.contains(&name) {
        number += 1;
        name = format!("{plain}-{number}.gmon");
    }
    name
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{Directory, file_name, shell_word};

    fn names_in(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_directory_that_is_not_used_is_taken_back() {
        let parent = tempfile::tempdir().unwrap();
        drop(Directory::open(&parent.path().join("out")).unwrap());
        assert!(names_in(parent.path()).is_empty());
        let existing = parent.path().join("mine");
        fs::create_dir(&existing).unwrap();
        drop(Directory::open(&existing).unwrap());
        assert_eq!(names_in(parent.path()), ["mine"]);
    }

    #[test]
    fn every_object_has_a_file_of_its_own() {
        assert_eq!(file_name("libc.so.6", &[]), "libc.so.6.gmon");
        assert_eq!(file_name("a (deleted)", &[]), "a.gmon");
        let used = ["a.gmon".to_owned(), "a-2.gmon".to_owned()];
        assert_eq!(file_name("a", &used), "a-3.gmon");
        assert_eq!(file_name("a\n\u{1b}/b", &[]), "a___b.gmon");
        assert!(file_name(&"ü".repeat(300), &[]).len() < 255);
    }

    #[test]
    fn a_name_is_one_word_of_a_command() {
        assert_eq!(shell_word("/usr/bin/a-b.c"), "/usr/bin/a-b.c");
        assert_eq!(shell_word("we ird;touch x"), "'we ird;touch x'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
