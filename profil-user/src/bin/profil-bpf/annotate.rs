//! One function of a profile, by line and by instruction.

use std::{
    io::{self, Write as _},
    mem,
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use profil_user::{
    Object, Profile,
    annotate::{Listing, NotAnnotated, annotate, named, nearest},
    export::{
        Style,
        annotated::{self, Annotated},
        printable,
    },
    pprof::PprofFile,
    symbolize::{Function, Grouping, Sieve, Symbolizer, Ticks, View},
};

use crate::{
    args::{self, Names},
    progress::naming,
    report,
    run::{self, Stream, layout_of},
    talk,
};

/// Which function, of which profile.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) function: String,
    /// In which objects.
    pub(crate) sieve: Sieve,
    pub(crate) names: Names,
    /// Where sources may be.
    pub(crate) source_dirs: Vec<PathBuf>,
    pub(crate) from: From,
}

/// Where the profile comes from.
#[derive(Debug)]
pub(crate) enum From {
    /// A file of record.
    File(PathBuf),
    /// A run.
    Run(Box<args::Plan>),
}

/// Functions of other names that are named where there is none of the one that was asked for.
const NEAREST: usize = 5;

/// Returns the status to exit with: a command's own, or none.
pub(crate) fn run(plan: Plan) -> anyhow::Result<Option<u8>> {
    let symbolizer = plan.names.symbolizer(Grouping::Function);
    let wanted = (plan.function.as_str(), &plan.sieve, &plan.source_dirs[..]);
    match plan.from {
        From::File(file) => {
            let name = file.to_string_lossy();
            let PprofFile::Saved(mut saved) = report::read(&file)? else {
                bail!(
                    "{} is of another tool, or was changed by one: only profiles that profil-bpf \
                     wrote can be annotated",
                    printable(&name)
                );
            };
            saved.open_files(&plan.names.debug_dirs, Grouping::Line);
            let recorded = mem::take(&mut saved.record.names);
            let symbolizer = naming(symbolizer, |symbolizer| {
                symbolizer.complete(&*saved, recorded);
            });
            let found = look(&saved.profile, &*saved, &symbolizer, wanted)?;
            show(&saved.profile, &found, Stream::Stdout)?;
            Ok(None)
        }
        From::Run(run) => {
            let (taken, to, status) = run::only_take(*run)?;
            let symbolizer = naming(symbolizer, |symbolizer| symbolizer.look_up(&taken));
            let found = look(&taken.profile, &taken, &symbolizer, wanted)?;
            show(&taken.profile, &found, to)?;
            Ok(status)
        }
    }
}

/// Looks into all functions of the name; says of which that cannot be done, if it can be done of one.
fn look<'a>(
    profile: &Profile,
    ticks: impl Into<Ticks<'a>>,
    symbolizer: &Symbolizer,
    (name, sieve, source_dirs): (&str, &Sieve, &[PathBuf]),
) -> anyhow::Result<Vec<(Function, Listing)>> {
    let ticks = ticks.into();
    let view = View {
        grouping: Grouping::Function,
        sieve: sieve.clone(),
    };
    let functions = view.summed(ticks, symbolizer);
    let wanted = named(&functions, name);
    if wanted.is_empty() {
        let view = View {
            grouping: Grouping::Function,
            sieve: Sieve::default(),
        };
        let everywhere = view.summed(ticks, symbolizer);
        let elsewhere: Vec<_> = named(&everywhere, name)
            .into_iter()
            .map(|function| profile.object(function.object).name())
            .collect();
        if !elsewhere.is_empty() {
            bail!(
                "no tick is in a function called {} in an object that --object asks for; some are \
                 in one in: {}",
                printable(name),
                printable(&elsewhere.join(", "))
            );
        }
        bail!("{}", nobody(&everywhere, name, profile));
    }
    let mut found = Vec::new();
    let mut failures = Vec::new();
    for function in wanted {
        match annotate(ticks, symbolizer, function, source_dirs) {
            Ok(listing) => found.push((function.clone(), listing)),
            Err(why) => failures.push(failure(function, profile.object(function.object), why)),
        }
    }
    if found.is_empty()
        && let Some(first) = failures.pop()
    {
        failures.iter().for_each(talk::error);
        return Err(first);
    }
    failures.iter().for_each(talk::error);
    Ok(found)
}

fn failure(function: &Function, object: &Object, why: NotAnnotated) -> anyhow::Error {
    let name = function.name.as_deref().unwrap_or_default();
    let (name, object) = (printable(name), object.name());
    let object = printable(&object);
    anyhow::Error::new(why).context(format!("cannot annotate {name} in {object}"))
}

/// That there is no such function, and what there is.
fn nobody(functions: &[Function], name: &str, profile: &Profile) -> String {
    let near: Vec<_> = nearest(functions, name, NEAREST)
        .into_iter()
        .map(|function| {
            let name = function.name.as_deref().unwrap_or_default();
            let object = profile.object(function.object).name();
            format!("{} in {object} ({})", name, function.ticks())
        })
        .collect();
    let name = printable(name);
    if near.is_empty() {
        return format!("no tick is in a function called {name}, nor in any that has a name");
    }
    let near = near.join(", ");
    format!(
        "no tick is in a function called {name}; some with ticks are: {}",
        printable(&near)
    )
}

fn show(profile: &Profile, found: &[(Function, Listing)], to: Stream) -> anyhow::Result<()> {
    let shown = match to {
        Stream::Stdout => {
            let stdout = io::stdout();
            let layout = layout_of(&stdout, Style::Flat, false);
            write(profile, found, layout, stdout.lock())
        }
        Stream::Stderr => {
            let stderr = io::stderr();
            let layout = layout_of(&stderr, Style::Flat, false);
            write(profile, found, layout, stderr.lock())
        }
    };
    shown.context("cannot write the listing")
}

fn write(
    profile: &Profile,
    found: &[(Function, Listing)],
    layout: profil_user::export::text::Layout,
    out: impl io::Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let total = profile.ticks();
    for (index, (function, listing)) in found.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let annotated = Annotated {
            function,
            object: profile.object(function.object),
            listing,
            total,
        };
        annotated::write(&annotated, layout, &mut out)?;
    }
    out.flush()
}
