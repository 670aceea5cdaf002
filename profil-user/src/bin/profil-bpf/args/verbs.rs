//! What else there is to do than to take a profile.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, error::ErrorKind};
use profil_user::{compare::Measure, export::Format, symbolize::Grouping};

use super::{
    annotate::AnnotateFlags, names::NameFlags, outputs::destinations, serve::ServeFlags,
    top::TopFlags, view::ViewFlags,
};
use crate::{diff, report};

/// What else there is to do.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Verb {
    /// Print the flat profile of a pprof file, or of gmon.out files: ours, and those of others; or write
    /// it in another format
    #[command(
        override_usage = "profil-bpf report <FILE.pb.gz> [-o <FILE>]...\n       profil-bpf report <GMON-FILE>... --exe <BINARY>"
    )]
    Report(Box<ReportFlags>),
    /// Tell what changed between two profiles, and whether that can be chance
    Diff(Box<DiffFlags>),
    /// Add up profiles of one rate: ticks, times, and what was due
    Merge {
        /// Profiles that profil-bpf wrote
        #[arg(value_name = "FILE.pb.gz", required = true)]
        files: Vec<PathBuf>,

        /// Where the sum goes
        #[arg(short, long, value_name = "FILE.pb.gz")]
        output: PathBuf,
    },
    /// Show where in a function its ticks are: by source line and by instruction, the hottest first; of a
    /// profile of ours, or of one that is taken for it
    #[command(
        override_usage = "profil-bpf annotate <FUNCTION> <FILE.pb.gz>\n       profil-bpf annotate <FUNCTION> --pid <PID> | --all | -- <COMMAND>..."
    )]
    Annotate(Box<AnnotateFlags>),
    /// Show functions, objects or processes by the CPU time that they use, live: of everybody, unless
    /// somebody is named
    Top(Box<TopFlags>),
    /// Count all processes at a low rate, always, and answer over HTTP: metrics for Prometheus, profiles for
    /// whoever collects them, pages for people. SIGHUP reads the configuration again
    Serve(Box<ServeFlags>),
    /// Print the rates of the clocks, after hz(9): the kernel's, and ours
    Clock {
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Tell what this machine, its kernel and these privileges allow, and try it; for reports of faults
    Doctor {
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write the manual pages, and the completions for bash, zsh and fish
    Manual {
        /// Where to: /usr/local/share, ~/.local/share, or the share directory of a package
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}

/// Flags of `report`.
#[derive(Clone, Debug, Args)]
pub(super) struct ReportFlags {
    /// The file; or gmon.out files, which are added up
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The program or shared object that was profiled, for the names in a gmon.out
    #[arg(long, value_name = "BINARY")]
    exe: Option<PathBuf>,

    /// Write a profile of ours to FILE instead, in the format that its name says; repeatable, and
    /// - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,

    /// Format of every --output, whatever its name; without one, of standard output
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    #[command(flatten)]
    names: NameFlags,

    #[command(flatten)]
    view: ViewFlags,
}

impl ReportFlags {
    /// What is meant, or what is wrong.
    pub(super) fn plan(self) -> Result<report::Plan, (ErrorKind, String)> {
        // A format alone is for standard output.
        let output = match (&self.output[..], self.format) {
            ([], Some(_)) => vec![PathBuf::from("-")],
            _ => self.output,
        };
        let shown = self
            .view
            .shown()
            .map_err(|error| (ErrorKind::ArgumentConflict, error.to_owned()))?;
        let outputs = destinations(&output, self.format, shown.style)
            .map_err(|error| (ErrorKind::ValueValidation, error))?;
        report::Plan::of(self.files, self.exe, (self.names.names(), shown), outputs)
            .map_err(|error| (ErrorKind::MissingRequiredArgument, error.to_owned()))
    }
}

/// Flags of `diff`.
#[derive(Clone, Debug, Args)]
pub(super) struct DiffFlags {
    /// The profile from before
    #[arg(value_name = "A.pb.gz")]
    before: PathBuf,

    /// The profile from after
    #[arg(value_name = "B.pb.gz")]
    after: PathBuf,

    /// Compare seconds of CPU time, instead of shares of it
    #[arg(long)]
    absolute: bool,

    /// What has a row of its own; lines need DWARF debug information
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Compared::Function)]
    by: Compared,

    #[command(flatten)]
    names: NameFlags,
}

/// [`Grouping`] as a word: what is called alike in two builds.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Compared {
    /// Functions of the symbol table, with all that was inlined into them
    Function,
    /// Lines of the source
    Line,
    /// Objects: programs, libraries, the kernel
    Object,
}

impl DiffFlags {
    pub(super) fn plan(self) -> diff::Plan {
        diff::Plan {
            files: [self.before, self.after],
            measure: if self.absolute {
                Measure::Seconds
            } else {
                Measure::Share
            },
            grouping: match self.by {
                Compared::Function => Grouping::Function,
                Compared::Line => Grouping::Line,
                Compared::Object => Grouping::Object,
            },
            names: self.names.names(),
        }
    }
}
