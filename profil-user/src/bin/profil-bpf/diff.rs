//! What changed between two profiles that were saved.

use std::{
    io::{self, Write as _},
    mem,
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use profil_user::{
    compare::{Measure, diff},
    export::{self, Style, printable},
    symbolize::Grouping,
};

use crate::{args::Names, merge, progress::naming, run::layout_of};

/// Which two, and how they are compared.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) files: [PathBuf; 2],
    pub(crate) measure: Measure,
    pub(crate) grouping: Grouping,
    pub(crate) names: Names,
}

pub(crate) fn run(plan: &Plan) -> anyhow::Result<()> {
    let mut sides = Vec::new();
    for file in &plan.files {
        let mut saved = merge::read(file)?;
        let name = file.to_string_lossy();
        if saved.profile.ticks() == 0 {
            bail!(
                "there are no ticks in {}, so nothing to compare",
                printable(&name)
            );
        }
        saved.open_files(&plan.names.debug_dirs, plan.grouping);
        let recorded = mem::take(&mut saved.record.names);
        let symbolizer = naming(plan.names.symbolizer(plan.grouping), |symbolizer| {
            symbolizer.complete(&saved, recorded);
        });
        sides.push((name, saved, symbolizer));
    }
    let [before, after] = &sides[..] else {
        bail!("two profiles are compared");
    };
    let both = [before, after];
    let changes = diff(
        both.map(|(_, saved, symbolizer)| (saved, symbolizer)),
        plan.grouping,
        plan.measure,
    );
    let stdout = io::stdout();
    let layout = layout_of(&stdout, Style::Flat, true);
    let mut out = io::BufWriter::new(stdout.lock());
    let profiles = both.map(|(name, saved, _)| (&**name, &saved.profile));
    export::diff::write(profiles, &changes, layout, &mut out)
        .and_then(|()| out.flush())
        .context("cannot write the comparison")
}
