//! The sum of profiles that were saved.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use profil_user::{
    Headway, compare,
    export::{Content, Destination, Output, printable},
    pprof::{PprofFile, Saved},
};

use crate::{
    progress::{Doing, Progress},
    report, talk,
};

/// Which files, and where their sum goes.
#[derive(Debug)]
pub(crate) struct Plan {
    files: Vec<PathBuf>,
    output: Destination,
}

impl Plan {
    /// What is meant, or what is wrong.
    pub(crate) fn of(files: Vec<PathBuf>, output: &Path) -> Result<Self, String> {
        let output = Destination::parse(output, None).map_err(|error| error.to_string())?;
        if !output.keeps_names() {
            return Err(
                "a sum is a profile that can be read again: --output FILE.pb.gz".to_owned(),
            );
        }
        if files.len() < 2 {
            return Err("a sum is of two profiles or more".to_owned());
        }
        Ok(Self { files, output })
    }
}

pub(crate) fn run(plan: Plan) -> anyhow::Result<()> {
    let output = Output::open(plan.output)?;
    let mut sum: Option<Saved> = None;
    let headway = Headway::default();
    headway.begin(plan.files.len() as u64);
    let progress = Progress::of(Doing::counted("adding up", &headway, "files"));
    for file in &plan.files {
        let saved = ours(report::read_quietly(file)?, file)?;
        match &mut sum {
            None => sum = Some(saved),
            Some(sum) => compare::merge(sum, &saved).with_context(|| {
                let name = file.to_string_lossy();
                format!("cannot add {}", printable(&name))
            })?,
        }
        headway.step();
    }
    drop(progress);
    let sum = sum.context("there is nothing to add up")?;
    let note = output.write(&Content {
        profile: &sum.profile,
        functions: &[],
        rows: &[],
        record: &sum.record,
        errors: false,
    })?;
    note.iter().for_each(|note| talk::note(note));
    Ok(())
}

/// Reads a profile of ours: others do not say what became of their ticks.
pub(crate) fn read(file: &Path) -> anyhow::Result<Saved> {
    ours(report::read(file)?, file)
}

fn ours(read: PprofFile, file: &Path) -> anyhow::Result<Saved> {
    match read {
        PprofFile::Saved(saved) => Ok(*saved),
        PprofFile::Other(_) => {
            let name = file.to_string_lossy();
            bail!(
                "{} is of another tool, or was changed by one: only profiles that profil-bpf wrote \
                 can be added up or compared",
                printable(&name)
            )
        }
    }
}
