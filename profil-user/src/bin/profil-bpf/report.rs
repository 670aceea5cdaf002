//! The flat profile of files that were written earlier.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use profil_user::{
    Executable, Recorded,
    export::{other, printable, recorded, text},
    pprof::{self, Other, PprofFile, Saved},
    symbolize::{Grouping, functions, rows, rows_by_task},
};

use crate::{args::Names, run::layout_of};

/// Which files, and where their names are.
#[derive(Debug)]
pub(crate) enum Plan {
    /// gmon.out files, and the program that they are of.
    Gmon {
        files: Vec<PathBuf>,
        executable: PathBuf,
        names: Names,
    },
    /// A pprof file, which knows what it is of.
    Pprof { file: PathBuf, names: Names },
}

impl Plan {
    /// What is meant, or what is wrong.
    pub(crate) fn of(
        files: Vec<PathBuf>,
        executable: Option<PathBuf>,
        names: Names,
    ) -> Result<Self, &'static str> {
        let is_pprof = files.iter().any(|file| is_pprof(file));
        match (&files[..], executable) {
            ([], _) => Err("no file is named, profile.pb.gz or gmon.out for example"),
            ([file], None) if is_pprof => Ok(Self::Pprof {
                file: file.clone(),
                names,
            }),
            (_, None) if is_pprof => Err("only one pprof file can be reported at a time"),
            (_, Some(_)) if is_pprof => {
                Err("a pprof file knows its programs: --exe is for gmon.out files")
            }
            (_, None) => Err(
                "a gmon.out has addresses only; name the program that was profiled: --exe BINARY",
            ),
            (_, Some(_)) if names.grouping != Grouping::Function => {
                Err("a gmon.out is shown by function only")
            }
            (_, Some(executable)) => Ok(Self::Gmon {
                files,
                executable,
                names,
            }),
        }
    }
}

/// Whether a file is a pprof file, by its name or by how it begins.
fn is_pprof(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    if name.ends_with(b".pb.gz") || name.ends_with(b".pb") {
        return true;
    }
    // Nothing that would have to be waited for.
    let mut begins = [0; 2];
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    is_file && read().is_ok() && pprof::is_packed(&begins)
}

pub(crate) fn run(plan: &Plan) -> anyhow::Result<()> {
    match plan {
        Plan::Gmon {
            files,
            executable,
            names,
        } => gmon(files, executable, names),
        Plan::Pprof { file, names } => match read(file)? {
            PprofFile::Saved(profile) => saved(*profile, names),
            PprofFile::Other(profile) => other(*profile, file, names),
        },
    }
}

fn read(path: &Path) -> anyhow::Result<PprofFile> {
    let read = || {
        let mut bytes = Vec::new();
        // Too large a file is cut off here, and refused there.
        let most = pprof::MOST_BYTES + 1;
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
        anyhow::Ok(pprof::read(&bytes)?)
    };
    read().with_context(|| format!("cannot read {}", printable(&path.to_string_lossy())))
}

fn gmon(files: &[PathBuf], executable: &Path, names: &Names) -> anyhow::Result<()> {
    let executable = Executable::open(executable, &names.debug_dirs)?;
    let profile = Recorded::read(files, &executable)?;
    let mut symbolizer = names.symbolizer();
    symbolizer.look_up(&profile);
    let functions = functions(&profile, &symbolizer);
    print(|layout, out| recorded::write(&profile, &functions, layout, out))
}

/// A profile of ours: what was printed when it was taken.
fn saved(mut saved: Saved, names: &Names) -> anyhow::Result<()> {
    saved.open_files(&names.debug_dirs);
    let mut symbolizer = names.symbolizer();
    symbolizer.complete(&saved, &saved.record.names);
    let rows = if saved.profile.tasks.is_empty() {
        rows(&saved, &symbolizer, names.grouping)
    } else {
        rows_by_task(&saved, &symbolizer, names.grouping)
    };
    print(|layout, out| text::write(&saved.profile, &rows, layout, out))
}

fn other(mut profile: Other, path: &Path, names: &Names) -> anyhow::Result<()> {
    profile.open_files(&names.debug_dirs);
    let mut symbolizer = names.symbolizer();
    symbolizer.complete(&profile, &profile.names);
    let rows = rows(&profile, &symbolizer, names.grouping);
    print(|layout, out| other::write(&profile, path, &rows, layout, out))
}

fn print(
    write: impl FnOnce(text::Layout, &mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let layout = layout_of(&stdout);
    let mut out = io::BufWriter::new(stdout.lock());
    write(layout, &mut out)
        .and_then(|()| out.flush())
        .context("cannot write the report")
}
