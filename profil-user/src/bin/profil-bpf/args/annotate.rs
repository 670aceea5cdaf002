//! Flags of `annotate`: a function, and a file or whom to profile.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use profil_user::{
    Options, Rate, Split, Target, Wanted,
    symbolize::{ObjectPattern, Sieve},
};

use super::{Whom, names::NameFlags, parse_duration, whom::WhomFlags};
use crate::annotate;

/// What is annotated, and from which profile.
#[derive(Clone, Debug, Args)]
pub(super) struct AnnotateFlags {
    /// The function, just as a report calls it or as its symbol table does
    #[arg(value_name = "FUNCTION")]
    function: String,

    /// A profile that profil-bpf wrote; without one, a profile is taken
    #[arg(value_name = "FILE.pb.gz")]
    file: Option<PathBuf>,

    /// Only the function in this object: its name or path, or a pattern for one with *, ? and [a-z]
    #[arg(long, value_name = "GLOB")]
    object: Option<ObjectPattern>,

    /// Look for source files in DIR, by the longest end of their path that is there; repeatable. Else they
    /// are read from where they were when the program was built
    #[arg(long, value_name = "DIR")]
    source_dir: Vec<PathBuf>,

    #[command(flatten)]
    names: NameFlags,

    #[command(flatten)]
    whom: WhomFlags,

    /// Ticks per second of the target's CPU time, where a profile is taken
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = Rate::DEFAULT)]
    rate: Rate,

    /// Stop after this long, for example 10s, 500ms or 2m; a plain number is seconds
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
}

impl AnnotateFlags {
    /// What is meant, or what is wrong.
    pub(super) fn plan(mut self) -> Result<annotate::Plan, String> {
        if self.whom.split() != Split::Summed {
            return Err(
                "annotate adds processes and threads up: leave out --per-process and \
                        --per-thread"
                    .to_owned(),
            );
        }
        let from = match (self.file, self.whom.is_empty()) {
            (Some(file), true) if self.duration.is_none() => annotate::From::File(file),
            (Some(_), true) => {
                return Err(
                    "a file is as long as it is: --duration is for taking a profile".to_owned(),
                );
            }
            (Some(_), false) => {
                return Err(
                    "either a file is annotated or a profile is taken: leave out one of both"
                        .to_owned(),
                );
            }
            (None, true) => {
                return Err(
                    "nothing to annotate: FILE.pb.gz, or --pid PID, or a command after --"
                        .to_owned(),
                );
            }
            (None, false) => {
                // As a plain run does it, but for the kernel's own text, of which there is no code.
                let whom = self.whom.whom()?;
                let target = match &whom {
                    Whom::Target(target) => target.clone(),
                    Whom::Command(..) => Target::Everything,
                };
                let options = Options {
                    rate: self.rate,
                    mode: Wanted::Both,
                    ..Options::new(target)
                };
                annotate::From::Run(Box::new(super::Plan {
                    whom,
                    options,
                    duration: self.duration,
                    outputs: Vec::new(),
                    names: self.names.clone().names(),
                    shown: super::Shown::default(),
                }))
            }
        };
        Ok(annotate::Plan {
            function: self.function,
            sieve: Sieve {
                object: self.object,
                ..Sieve::default()
            },
            names: self.names.names(),
            source_dirs: self.source_dir,
            from,
        })
    }
}
