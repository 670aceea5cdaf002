//! Files that were written earlier: their flat profile, or the same in another format.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use profil_user::{
    Executable, Recorded,
    export::{Content, Destination, Output, other, printable, recorded, text},
    pprof::{self, Other, PprofFile, Saved},
    symbolize::{Function, Grouping, Symbolizer, functions, rows, rows_by_task},
};

use crate::{
    args::{Names, OF_ONE_PROGRAM, View},
    run::layout_of,
    talk,
};

/// Which files, and where their names are.
#[derive(Debug)]
pub(crate) enum Plan {
    /// gmon.out files, and the program that they are of.
    Gmon {
        files: Vec<PathBuf>,
        executable: PathBuf,
        names: Names,
        view: View,
    },
    /// A pprof file, which knows what it is of.
    Pprof {
        file: PathBuf,
        names: Names,
        view: View,
        /// Where it goes instead of the report, if anywhere.
        outputs: Vec<Destination>,
    },
}

impl Plan {
    /// What is meant, or what is wrong.
    pub(crate) fn of(
        files: Vec<PathBuf>,
        executable: Option<PathBuf>,
        (names, view): (Names, View),
        outputs: Vec<Destination>,
    ) -> Result<Self, &'static str> {
        let is_pprof = files.iter().any(|file| is_pprof(file));
        match (&files[..], executable) {
            ([], _) => Err("no file is named, profile.pb.gz or gmon.out for example"),
            ([file], None) if is_pprof => Ok(Self::Pprof {
                file: file.clone(),
                names,
                view,
                outputs,
            }),
            (_, None) if is_pprof => Err("only one pprof file can be reported at a time"),
            (_, Some(_)) if is_pprof => {
                Err("a pprof file knows its programs: --exe is for gmon.out files")
            }
            (_, None) => Err(
                "a gmon.out has addresses only; name the program that was profiled: --exe BINARY",
            ),
            (_, Some(_)) if !outputs.is_empty() => {
                Err("only a profile of ours (*.pb.gz) can be written in another format")
            }
            (_, Some(_)) if names.grouping != Grouping::Function => {
                Err("a gmon.out is shown by function only")
            }
            (_, Some(executable)) => Ok(Self::Gmon {
                files,
                executable,
                names,
                view,
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
            view,
        } => gmon(files, executable, (names, view)),
        Plan::Pprof {
            file,
            names,
            view,
            outputs,
        } if outputs.is_empty() => match read(file)? {
            PprofFile::Saved(profile) => saved(*profile, (names, view)),
            PprofFile::Other(profile) => other(*profile, file, (names, view)),
        },
        Plan::Pprof {
            file,
            names,
            view,
            outputs,
        } => {
            let outputs = outputs.iter().cloned().map(Output::open);
            let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
            match read(file)? {
                PprofFile::Saved(profile) => convert(*profile, (names, view), outputs),
                PprofFile::Other(_) => bail!(
                    "{} was not written by profil-bpf, or was changed since: it can be shown, and not \
                     written in another format",
                    printable(&file.to_string_lossy())
                ),
            }
        }
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

fn gmon(
    files: &[PathBuf],
    executable: &Path,
    (names, view): (&Names, &View),
) -> anyhow::Result<()> {
    let executable = Executable::open(executable, &names.debug_dirs)?;
    let profile = Recorded::read(files, &executable)?;
    let mut symbolizer = names.symbolizer();
    symbolizer.look_up(&profile);
    let functions = functions(&profile, &symbolizer);
    print(view, |layout, out| {
        recorded::write(&profile, &functions, layout, out)
    })
}

/// A profile of ours: what was printed when it was taken.
fn saved(mut saved: Saved, (names, view): (&Names, &View)) -> anyhow::Result<()> {
    saved.open_files(&names.debug_dirs);
    let mut symbolizer = names.symbolizer();
    symbolizer.complete(&saved, &saved.record.names);
    let rows = rows_of(&saved, &symbolizer, names.grouping);
    print(view, |layout, out| {
        text::write(&saved.profile, &rows, layout, out)
    })
}

/// A profile of ours in other formats, as if they had been asked for when it was taken.
fn convert(
    mut saved: Saved,
    (names, view): (&Names, &View),
    outputs: Vec<Output>,
) -> anyhow::Result<()> {
    let of_many = !saved.profile.subject.is_of_one_program();
    if of_many && outputs.iter().any(Output::is_of_one_program) {
        bail!(OF_ONE_PROGRAM);
    }
    if saved.profile.buffers.is_empty() && outputs.iter().any(Output::takes_buffers) {
        bail!("a buffer is that of a region, and the profile was taken without one");
    }
    saved.open_files(&names.debug_dirs);
    let keeps_names = outputs.iter().any(Output::keeps_names);
    let mut symbolizer = if keeps_names {
        names.recorder()
    } else {
        names.symbolizer()
    };
    symbolizer.complete(&saved, &saved.record.names);
    if keeps_names {
        saved.record.names = symbolizer.names();
    }
    let content = Content {
        profile: &saved.profile,
        functions: &functions(&saved, &symbolizer),
        rows: &rows_of(&saved, &symbolizer, names.grouping),
        record: &saved.record,
        errors: view.errors,
    };
    // Files first: standard output can be a pipe that nobody reads.
    let (to_stdout, files): (Vec<_>, Vec<_>) = outputs.into_iter().partition(Output::is_stdout);
    for output in files.into_iter().chain(to_stdout) {
        if let Some(note) = output.write(&content)? {
            talk::note(&note);
        }
    }
    Ok(())
}

fn rows_of(saved: &Saved, symbolizer: &Symbolizer, grouping: Grouping) -> Vec<Function> {
    if saved.profile.tasks.is_empty() {
        rows(saved, symbolizer, grouping)
    } else {
        rows_by_task(saved, symbolizer, grouping)
    }
}

fn other(mut profile: Other, path: &Path, (names, view): (&Names, &View)) -> anyhow::Result<()> {
    profile.open_files(&names.debug_dirs);
    let mut symbolizer = names.symbolizer();
    symbolizer.complete(&profile, &profile.names);
    let rows = rows(&profile, &symbolizer, names.grouping);
    print(view, |layout, out| {
        other::write(&profile, path, &rows, layout, out)
    })
}

fn print(
    view: &View,
    write: impl FnOnce(text::Layout, &mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let layout = layout_of(&stdout, view);
    let mut out = io::BufWriter::new(stdout.lock());
    write(layout, &mut out)
        .and_then(|()| out.flush())
        .context("cannot write the report")
}
