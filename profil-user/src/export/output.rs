//! Outputs: opened before the first tick, filled after the last.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{
    advice, csv,
    destination::{Destination, Format},
    flamegraph, folded, gmon, json,
    replace::{Target, without_path},
    speedscope, syms, text,
};
use crate::{
    pprof::{self, Record},
    profile::{ElfClass, ObjectId, ObjectKind, Profile},
    symbolize::Function,
};

/// What outputs are made of. Each takes what its format has room for.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// It by function, which some formats are made of.
    pub functions: &'a [Function],
    /// It by what a person asked for.
    pub rows: &'a [Function],
    /// What a file of record has of names.
    pub record: &'a Record,
    /// Whether shares have their standard errors.
    pub errors: bool,
}

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
            Destination::Directory(path, _) => Directory::open(path).map(Sink::Directory),
        };
        let path = destination.path();
        let sink = sink.map_err(|source| OutputError::Open { path, source })?;
        Ok(Self { destination, sink })
    }

    /// Whether it is standard output.
    pub const fn is_stdout(&self) -> bool {
        matches!(self.destination, Destination::Stdout(_))
    }

    /// Whether it is of one program.
    pub const fn is_of_one_program(&self) -> bool {
        self.destination.is_of_one_program()
    }

    /// Whether it takes the buffers of explicit regions.
    pub fn takes_buffers(&self) -> bool {
        self.destination.takes_buffers()
    }

    /// Whether it keeps all that is known of names.
    pub fn keeps_names(&self) -> bool {
        self.destination.keeps_names()
    }

    /// Writes the profile and puts it in place. Returns what a person should know, if anything.
    ///
    /// # Errors
    ///
    /// If it cannot be written whole. What was there before is left alone.
    pub fn write(self, content: &Content<'_>) -> Result<Option<String>, OutputError> {
        let profile = content.profile;
        let path = self.destination.path();
        let to_stdout = self.is_stdout();
        let fail = |path: &Path, source| OutputError::Write {
            path: path.to_owned(),
            source,
        };
        match (self.sink, self.destination) {
            (Sink::Directory(directory), Destination::Directory(_, format)) => {
                directory.write(content, format, fail).map(Some)
            }
            (sink, Destination::Stdout(format) | Destination::File(_, format)) => {
                let object = match (format, profile.main_object()) {
                    (format, object) if format.is_of_all() => object.unwrap_or(ObjectId::new(0)),
                    (_, Some(object)) => object,
                    (_, None) => return Err(OutputError::NoExecutable(path)),
                };
                let fill = |out: &mut dyn Write| match format {
                    Format::Pprof(packing) => pprof::write(profile, content.record, packing, out),
                    _ => write_object(content, object, format, out),
                };
                match sink {
                    Sink::File(target) => target.fill(fill),
                    _ => {
                        let mut out = io::stdout().lock();
                        fill(&mut out).and_then(|()| out.flush())
                    }
                }
                .map_err(|source| fail(&path, source))?;
                if to_stdout {
                    return Ok(None);
                }
                Ok(advice::for_file(profile, object, format, &path))
            }
            (_, Destination::Directory(..)) => Ok(None),
        }
    }
}

/// Writes one object's part of a profile, or all of it, as the format has it.
fn write_object(
    content: &Content<'_>,
    object: ObjectId,
    format: Format,
    mut out: &mut dyn Write,
) -> io::Result<()> {
    let (profile, rows) = (content.profile, content.rows);
    match format {
        Format::Gmon(variant) => gmon::write(profile, object, variant, &mut out),
        Format::Symbols => syms::write(profile, content.functions, object, &mut out),
        Format::Buffer => {
            let mut buffers = profile.buffers.iter();
            buffers.try_for_each(|buffer| out.write_all(&buffer.bytes()))
        }
        // These are of the whole profile, which has no directory.
        Format::Pprof(_) => Ok(()),
        Format::Text(style) => {
            let layout = text::Layout {
                style,
                errors: content.errors,
                ..text::Layout::default()
            };
            text::write(profile, rows, layout, &mut out)
        }
        Format::Folded => folded::write(profile, rows, &mut out),
        Format::FlameGraph => flamegraph::write(profile, rows, &mut out),
        Format::Json => json::write(profile, rows, &mut out),
        Format::Csv => csv::write(profile, rows, content.errors, &mut out),
        Format::Speedscope => speedscope::write(profile, rows, &mut out),
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
        content: &Content<'_>,
        format: Format,
        fail: impl Fn(&Path, io::Error) -> OutputError,
    ) -> Result<String, OutputError> {
        let profile = content.profile;
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
            let name = file_name(&profile.object(object).name(), format.extension(), &used);
            let path = self.path.join(&name);
            Target::open_in_directory(&path)
                .and_then(|target| target.fill(|out| write_object(content, object, format, out)))
                .map_err(|source| fail(&path, source))?;
            self.made = false;
            used.push(name);
            ticks += here;
        }
        let files = advice::Files {
            directory: &self.path,
            number: used.len(),
            ticks,
        };
        Ok(advice::for_directory(profile, format, &files))
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
fn file_name(object: &str, extension: &str, used: &[String]) -> String {
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
    let mut name = format!("{plain}.{extension}");
    let mut number = 1;
    while used.contains(&name) {
        number += 1;
        name = format!("{plain}-{number}.{extension}");
    }
    name
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{Directory, file_name};

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
        assert_eq!(file_name("libc.so.6", "gmon", &[]), "libc.so.6.gmon");
        assert_eq!(file_name("a (deleted)", "gmon", &[]), "a.gmon");
        let used = ["a.gmon".to_owned(), "a-2.gmon".to_owned()];
        assert_eq!(file_name("a", "gmon", &used), "a-3.gmon");
        assert_eq!(file_name("a\n\u{1b}/b", "gmon", &[]), "a___b.gmon");
        assert!(file_name(&"ü".repeat(300), "gmon", &[]).len() < 255);
    }
}
