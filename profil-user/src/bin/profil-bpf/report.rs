//! The flat profile of files that were written earlier.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use profil_user::{Executable, Recorded, export::recorded, symbolize::functions};

use crate::{args::Names, run::layout_of};

/// Which files, and of which program.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) executable: PathBuf,
    pub(crate) names: Names,
}

pub(crate) fn run(plan: &Plan) -> anyhow::Result<()> {
    let executable = Executable::open(&plan.executable, &plan.names.debug_dirs)?;
    let profile = Recorded::read(&plan.files, &executable)?;
    let mut symbolizer = plan.names.symbolizer();
    symbolizer.look_up(&profile);
    let functions = functions(&profile, &symbolizer);
    let stdout = io::stdout();
    let layout = layout_of(&stdout);
    let mut out = io::BufWriter::new(stdout.lock());
    recorded::write(&profile, &functions, layout, &mut out)
        .and_then(|()| out.flush())
        .context("cannot write the report")
}
