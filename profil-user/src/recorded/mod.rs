//! A profile from files: what `session` is for a process that runs.
//!
//! Files say how many ticks a bin has, the executable says which functions lie in the bin, and
//! [`shares`] gives each its part.

mod executable;
mod groups;
mod shares;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

pub use executable::Executable;

use crate::{
    import::gmon::{self, Clock, Gmon, GmonError, Histogram, MergeError, Variant},
    profile::{Count, ElfClass, Object, ObjectId, ObjectKind},
    target::ObjectFile,
};

/// Larger files are not read: gmon.out has two bytes a bin, and no text is that large.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Ticks of one executable, from files that were written earlier.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What ticks stand for.
    pub clock: Clock,
    /// The executable, which is all that such files know of.
    pub objects: Vec<Object>,
    /// The ticks by address, each address once. In a function, that of its first byte; elsewhere
    /// that of the bin.
    pub counts: Vec<Count>,
    /// The files.
    pub sources: Vec<Source>,
    /// Ticks of bins that lie in several functions, and were shared out.
    pub shared: u64,
    /// Ticks at addresses where the executable has no text.
    pub outside: u64,
    /// How many bytes of text a line without a name stands for, where bins without a name were
    /// too many to keep apart.
    pub grouped: Option<u64>,
    /// The open file of the executable.
    pub(crate) executables: Vec<Option<Arc<ObjectFile>>>,
}

/// One file of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its name.
    pub path: PathBuf,
    /// Whose format it has.
    pub variant: Variant,
    /// The width of its addresses.
    pub class: ElfClass,
    /// Ticks in it.
    pub ticks: u64,
    /// Ranges of text that it counts.
    pub ranges: usize,
    /// Bins in all ranges.
    pub bins: usize,
    /// Bytes of text of the narrowest and of the widest bin.
    pub widths: (f64, f64),
    /// Calls in it, which are not a part of a flat profile.
    pub calls: usize,
}

/// Why files give no profile.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// A file cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is larger than any profile.
    #[error("cannot read {}: more than {} MiB are no gmon.out", .0.display(), MAX_FILE_BYTES >> 20)]
    TooLarge(PathBuf),
    /// A file is not what it should be.
    #[error("cannot read {}", .path.display())]
    Gmon {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: GmonError,
    },
    /// A file is of a program with other addresses.
    #[error("cannot read {} with {}: the file has {}-bit addresses", .path.display(),
            .executable.display(), bits(*.class))]
    OtherClass {
        /// The file.
        path: PathBuf,
        /// The executable that was named.
        executable: PathBuf,
        /// The width of the file's addresses.
        class: ElfClass,
    },
    /// A file cannot be added to those before it.
    #[error("cannot add {} to the files before it", .path.display())]
    Merge {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: MergeError,
    },
    /// No file has a histogram.
    #[error("there is no histogram in {}", .0.display())]
    NoHistogram(PathBuf),
    /// The executable cannot be used.
    #[error("cannot take names from {}: {reason}", .path.display())]
    Executable {
        /// Its name.
        path: PathBuf,
        /// What was wrong.
        reason: String,
    },
}

impl RecordedError {
    /// What to do next, in one line, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OtherClass { .. } => Some("name the program that wrote it with --exe"),
            Self::Merge { .. } => Some("only files of one program and one rate add up"),
            Self::NoHistogram(_) => Some(
                "only calls were recorded: the program was linked with -pg, but ended too soon, or \
                 had its clock off",
            ),
            Self::Gmon {
                source: GmonError::Unknown,
                ..
            } => Some("the profile comes first, and the program after --exe"),
            Self::Executable { .. } => {
                Some("--exe wants the program itself, an ELF file, not a profile or a script")
            }
            _ => None,
        }
    }
}

const fn bits(class: ElfClass) -> u32 {
    match class {
        ElfClass::Elf32 => 32,
        ElfClass::Elf64 => 64,
    }
}

impl Recorded {
    /// Reads files of one program, and adds them up.
    ///
    /// # Errors
    ///
    /// If one cannot be read or is none, or they do not belong together.
    pub fn read(files: &[PathBuf], executable: &Executable) -> Result<Self, RecordedError> {
        let mut sources = Vec::new();
        let mut all: Option<Gmon> = None;
        for path in files {
            let gmon = read_file(path, executable)?;
            sources.push(Source::of(path, &gmon));
            match &mut all {
                None => all = Some(gmon),
                Some(all) => all.add(gmon).map_err(|source| RecordedError::Merge {
                    path: path.clone(),
                    source,
                })?,
            }
        }
        let none = || RecordedError::NoHistogram(files.first().cloned().unwrap_or_default());
        let all = all.ok_or_else(none)?;
        let clock = all.clock.ok_or_else(none)?;
        Ok(Self::of(clock, &all.histograms, sources, executable))
    }

    /// Gives the functions of an executable their parts of some histograms.
    pub fn of(
        clock: Clock,
        histograms: &[Histogram],
        sources: Vec<Source>,
        executable: &Executable,
    ) -> Self {
        let shares = shares::of(histograms, executable.extents());
        let outside = |count: &&Count| !executable.file().holds_text(count.address);
        Self {
            clock,
            objects: vec![Object {
                kind: ObjectKind::File {
                    path: executable.path().to_owned(),
                    class: Some(executable.class()),
                },
                is_main: true,
                build_id: executable.file().build_id(),
                text: Vec::new(),
            }],
            outside: shares
                .counts
                .iter()
                .filter(outside)
                .map(Count::ticks)
                .fold(0, u64::saturating_add),
            counts: shares.counts,
            shared: shares.shared,
            sources,
            grouped: shares.grouped,
            executables: vec![Some(Arc::clone(executable.file()))],
        }
    }

    /// All ticks of all files.
    pub fn ticks(&self) -> u64 {
        let ticks = self.counts.iter().map(Count::ticks);
        ticks.fold(0, u64::saturating_add)
    }

    /// The object with this number.
    ///
    /// # Panics
    ///
    /// If the number is not from this profile.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }
}

impl Source {
    fn of(path: &Path, gmon: &Gmon) -> Self {
        let widths = || gmon.histograms.iter().map(Histogram::width);
        Self {
            path: path.to_owned(),
            variant: gmon.variant,
            class: gmon.class,
            ticks: gmon.ticks(),
            ranges: gmon.histograms.len(),
            bins: gmon.histograms.iter().map(|one| one.bins.len()).sum(),
            widths: (
                widths().fold(f64::INFINITY, f64::min),
                widths().fold(0.0, f64::max),
            ),
            // An arc that was never taken is there for the sake of old readers.
            calls: gmon.arcs.iter().filter(|arc| arc.count > 0).count(),
        }
    }
}

fn read_file(path: &Path, executable: &Executable) -> Result<Gmon, RecordedError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| RecordedError::Read {
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(RecordedError::TooLarge(path.to_owned()));
    }
    let class = executable.class();
    gmon::read(&bytes, class).map_err(|source| {
        let other = match class {
            ElfClass::Elf32 => ElfClass::Elf64,
            ElfClass::Elf64 => ElfClass::Elf32,
        };
        let path = path.to_owned();
        match gmon::read(&bytes, other) {
            Ok(_) => RecordedError::OtherClass {
                path,
                executable: executable.path().to_owned(),
                class: other,
            },
            Err(_) => RecordedError::Gmon { path, source },
        }
    })
}

#[cfg(test)]
mod tests;
