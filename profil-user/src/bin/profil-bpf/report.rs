//! Files that were written earlier: their flat profile, or the same in another format.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    mem,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use profil_user::{
    Executable, Recorded, Task,
    export::{Content, Destination, Output, other, printable, recorded, text},
    pprof::{self, Other, PprofFile, Saved},
    symbolize::{Grouping, functions},
};

use crate::{
    args::{Names, OF_ONE_PROGRAM, Shown},
    progress::{Doing, Progress, naming},
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
        shown: Shown,
    },
    /// A pprof file, which knows what it is of.
    Pprof {
        file: PathBuf,
        names: Names,
        shown: Shown,
        /// Where it goes instead of the report, if anywhere.
        outputs: Vec<Destination>,
    },
}

impl Plan {
    /// What is meant, or what is wrong.
    pub(crate) fn of(
        files: Vec<PathBuf>,
        executable: Option<PathBuf>,
        (names, shown): (Names, Shown),
        outputs: Vec<Destination>,
    ) -> Result<Self, &'static str> {
        let is_pprof = files.iter().any(|file| is_pprof(file));
        match (&files[..], executable) {
            ([], _) => Err("no file is named, profile.pb.gz or gmon.out for example"),
            ([file], None) if is_pprof => Ok(Self::Pprof {
                file: file.clone(),
                names,
                shown,
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
            (_, Some(_)) if !is_in_gmon(shown.view.grouping) => {
                Err("a gmon.out is shown by function, object or address only")
            }
            (_, Some(executable)) => Ok(Self::Gmon {
                files,
                executable,
                names,
                shown,
            }),
        }
    }
}

/// Whether a gmon.out can be shown so: it is of one program, without lines.
const fn is_in_gmon(grouping: Grouping) -> bool {
    matches!(
        grouping,
        Grouping::Function | Grouping::Object | Grouping::Address
    )
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
            shown,
        } => gmon(files, executable, (names, shown)),
        Plan::Pprof {
            file,
            names,
            shown,
            outputs,
        } if outputs.is_empty() => match read(file)? {
            PprofFile::Saved(profile) => saved(*profile, file, (names, shown)),
            PprofFile::Other(profile) => other(*profile, file, (names, shown)),
        },
        Plan::Pprof {
            file,
            names,
            shown,
            outputs,
        } => {
            let outputs = outputs.iter().cloned().map(Output::open);
            let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
            match read(file)? {
                PprofFile::Saved(profile) => convert((*profile, file), (names, shown), outputs),
                PprofFile::Other(_) => bail!(
                    "{} was not written by profil-bpf, or was changed since: it can be shown, and not \
                     written in another format",
                    printable(&file.to_string_lossy())
                ),
            }
        }
    }
}

/// Reads a file, and says so if it takes long.
pub(crate) fn read(path: &Path) -> anyhow::Result<PprofFile> {
    let name = path.to_string_lossy();
    let _progress = Progress::of(Doing::just(format!("reading {}", printable(&name))));
    read_quietly(path)
}

pub(crate) fn read_quietly(path: &Path) -> anyhow::Result<PprofFile> {
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
    (names, shown): (&Names, &Shown),
) -> anyhow::Result<()> {
    let executable = Executable::open(executable, &names.debug_dirs)?;
    let profile = Recorded::read(files, &executable)?;
    let symbolizer = names.symbolizer(shown.view.grouping);
    let symbolizer = naming(symbolizer, |symbolizer| symbolizer.look_up(&profile));
    let functions = shown.view.rows(&profile, &symbolizer);
    print(shown, |layout, out| {
        recorded::write(&profile, &functions, layout, out)
    })
}

/// A profile of ours: what was printed when it was taken.
fn saved(mut saved: Saved, path: &Path, (names, shown): (&Names, &Shown)) -> anyhow::Result<()> {
    fits(path, shown, &saved.profile.tasks)?;
    saved.open_files(&names.debug_dirs, shown.view.grouping);
    let recorded = mem::take(&mut saved.record.names);
    let symbolizer = naming(names.symbolizer(shown.view.grouping), |symbolizer| {
        symbolizer.complete(&saved, recorded);
    });
    let rows = shown.view.rows(&saved, &symbolizer);
    print(shown, |layout, out| {
        text::write(&saved.profile, &rows, layout, out)
    })
}

/// A profile of ours in other formats, as if they had been asked for when it was taken.
fn convert(
    (mut saved, path): (Saved, &Path),
    (names, shown): (&Names, &Shown),
    outputs: Vec<Output>,
) -> anyhow::Result<()> {
    let of_many = !saved.profile.subject.is_of_one_program();
    if of_many && outputs.iter().any(Output::is_of_one_program) {
        bail!(OF_ONE_PROGRAM);
    }
    if saved.profile.buffers.is_empty() && outputs.iter().any(Output::takes_buffers) {
        bail!("a buffer is that of a region, and the profile was taken without one");
    }
    fits(path, shown, &saved.profile.tasks)?;
    let grouping = if outputs.iter().any(Output::keeps_names) {
        Names::RECORDED
    } else {
        shown.view.grouping
    };
    saved.open_files(&names.debug_dirs, grouping);
    let recorded = mem::take(&mut saved.record.names);
    let symbolizer = naming(names.symbolizer(grouping), |symbolizer| {
        symbolizer.complete(&saved, recorded);
    });
    // A file of record has addresses alone.
    let of_functions = !outputs.iter().all(Output::keeps_names);
    let functions = if of_functions {
        functions(&saved, &symbolizer)
    } else {
        Vec::new()
    };
    let is_plain = shown.view.is_plain() && saved.profile.tasks.is_empty();
    let rows = (of_functions && !is_plain).then(|| shown.view.rows(&saved, &symbolizer));
    saved.record.names = symbolizer.into_names();
    let content = Content {
        profile: &saved.profile,
        rows: rows.as_ref().unwrap_or(&functions),
        functions: &functions,
        record: &saved.record,
        errors: shown.errors,
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

fn other(mut profile: Other, path: &Path, (names, shown): (&Names, &Shown)) -> anyhow::Result<()> {
    fits(path, shown, &[])?;
    profile.open_files(&names.debug_dirs);
    let recorded = mem::take(&mut profile.names);
    let symbolizer = naming(names.symbolizer(shown.view.grouping), |symbolizer| {
        symbolizer.complete(&profile, recorded);
    });
    let rows = shown.view.rows(&profile, &symbolizer);
    print(shown, |layout, out| {
        other::write(&profile, path, &rows, layout, out)
    })
}

/// Whether a file has such rows.
fn fits(path: &Path, shown: &Shown, tasks: &[Task]) -> anyhow::Result<()> {
    let path = path.to_string_lossy();
    let fits = shown.view.fits(tasks);
    fits.with_context(|| format!("cannot show {} so", printable(&path)))
}

fn print(
    shown: &Shown,
    write: impl FnOnce(text::Layout, &mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let layout = layout_of(&stdout, shown.style, shown.errors);
    let mut out = io::BufWriter::new(stdout.lock());
    write(layout, &mut out)
        .and_then(|()| out.flush())
        .context("cannot write the report")
}
