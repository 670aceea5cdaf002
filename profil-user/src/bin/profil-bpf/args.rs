//! Flags as typed, and flags as meant.

mod annotate;
mod names;
mod outputs;
mod regions;
mod serve;
mod top;
mod verbs;
mod view;
mod whom;

use std::{path::PathBuf, time::Duration};

use clap::{CommandFactory as _, Parser, ValueEnum, error::ErrorKind};
use profil_user::{
    ClockScope, Options, Rate, Target, Wanted,
    export::{Destination, Format},
};

use crate::{annotate as annotating, diff, merge, report, serve as serving, top as live};
use names::NameFlags;
pub(crate) use names::Names;
pub(crate) use outputs::OF_ONE_PROGRAM;
use outputs::destinations;
use regions::RegionFlags;
use verbs::Verb;
pub(crate) use view::Shown;
use view::ViewFlags;
pub(crate) use whom::Whom;
use whom::WhomFlags;

/// profil(2) for running, unmodified processes.
///
/// Counts where a process spends its CPU time, with a histogram in the kernel: fixed memory,
/// exact counts, nothing lost, and a target that never notices.
#[derive(Debug, Parser)]
#[command(name = "profil-bpf", version, after_help = EXAMPLES, max_term_width = 100,
          args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,

    #[command(flatten)]
    whom: WhomFlags,

    /// Ticks per second of the target's CPU time
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = Rate::DEFAULT)]
    rate: Rate,

    /// What the clock follows: the target's threads in their own time, or the CPUs
    #[arg(long, value_enum, default_value_t = Clock::Task)]
    clock: Clock,

    /// Let the clock tick at random intervals, so that no process can run in step with it
    #[arg(long)]
    jitter: bool,

    /// Which ticks to keep, and at which addresses: prof, unless it is --all; split for that
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    /// Stop after this long, for example 10s, 500ms or 2m; a plain number is seconds
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Also write the profile to FILE; repeatable. *.pb.gz keeps all of it, for report, go tool
    /// pprof and others; gmon.out and *.gmon are for gprof, *.syms is a symbol table for gprof -S,
    /// *.buf the buffer of profil(2), *.svg is a flame graph, *.folded its stacks, *.json for programs,
    /// *.csv for spreadsheets, *.speedscope.json for speedscope, *.txt is the flat profile, DIR/ gets one
    /// gmon file an object, - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,

    /// Format of every --output, whatever its name: pprof, gmon, gmon-bsd (4.4BSD), syms, buffer,
    /// text, svg, folded, json, csv or speedscope
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    #[command(flatten)]
    names: NameFlags,

    #[command(flatten)]
    view: ViewFlags,

    #[command(flatten)]
    regions: RegionFlags,

    /// Leave out what the target starts: its child processes
    #[arg(long)]
    no_follow: bool,

    /// Most kernel memory for counters, in MiB; where it is short, bins get wider
    #[arg(long, value_name = "MIB", default_value_t = Options::DEFAULT_BINS_BYTES >> 20,
          value_parser = clap::value_parser!(u64).range(1..=16384))]
    memory: u64,

    /// Most distinct addresses counted outside the objects that were mapped at the start
    #[arg(long, value_name = "N", default_value_t = Options::DEFAULT_STRAYS,
          value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    strays: u32,

    /// Report rare events in the kernel half on standard error
    #[arg(short, long)]
    verbose: bool,
}

/// [`ClockScope`] as a word.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Clock {
    /// Each thread in its own CPU time, and all that it starts; disturbs nobody else
    Task,
    /// Every CPU; also sees threads that live for less than one tick, but no child processes
    Cpu,
}

/// [`Wanted`] as a word.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// User and system time, as profil(2) counts
    Prof,
    /// User time alone
    User,
    /// System time alone, charged to the code that the kernel worked for
    System,
    /// System time alone, charged to the kernel's own functions, as readprofile(8) did
    Kernel,
    /// User time, and system time charged to the kernel's own functions
    Split,
}

impl Mode {
    const fn wanted(self) -> Wanted {
        match self {
            Self::Prof => Wanted::Both,
            Self::User => Wanted::User,
            Self::System => Wanted::System,
            Self::Kernel => Wanted::Kernel,
            Self::Split => Wanted::Split,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  sudo profil-bpf --pid 4242                     until Ctrl-C, then a flat profile
  sudo profil-bpf --pid 4242 -d 10s > hot.txt    ten seconds, into a file
  sudo profil-bpf -o prof/ -- make -j8           a command and all that it starts
  sudo profil-bpf --all -d 10s                   the whole machine, and the kernel
  sudo profil-bpf top                            a live view of it, as top(1) of processes
  sudo profil-bpf --comm 'postgres*' --per-process   processes by name, apart
  sudo profil-bpf --pid 4242 --by line           by source line, where there is debug information
  sudo profil-bpf --pid 4242 --focus '^sort' --errors   some functions, and how sure that is
  sudo profil-bpf --pid 4242 -o gmon.out         for gprof -p BINARY gmon.out
  sudo profil-bpf --pid 4242 -o profiles/        one gmon file for every object
  sudo profil-bpf --pid 4242 -o hot.pb.gz        all of it, for report and go tool pprof
  profil-bpf report hot.pb.gz --debug-dir DIR    its flat profile, later or elsewhere
  profil-bpf report hot.pb.gz -o hot.json        the same in another format
  profil-bpf diff before.pb.gz after.pb.gz       what changed, and whether that can be chance
  profil-bpf merge a.pb.gz b.pb.gz -o ab.pb.gz   their sum, as one profile
  profil-bpf annotate qsort hot.pb.gz            one function by source line and instruction
  sudo profil-bpf annotate qsort --pid 4242 -d 5s   the same of a profile that is taken now
  profil-bpf report gmon.out --exe BINARY        a flat profile from such a file
  sudo profil-bpf --pid 4242 --offset main --scale 1/2 --dialect glibc -o main.buf
                                                 profil(buf, bufsiz, main, 0x8000) of another process
  sudo profil-bpf serve                          always on: /metrics, /debug/pprof/profile, a page
  sudo profil-bpf doctor                         what this machine can do, and a trial
  sudo profil-bpf manual /usr/local/share        manual pages, and completions for shells

SIGUSR1 pauses the clock, SIGUSR2 lets it go on: kill -USR1 PID-OF-PROFIL-BPF.

Exit status: 0 a profile was taken, 1 it was not, 2 wrong usage; of a command, its own, when a
profile was taken, 127 if there is no such program and 126 if it cannot be run.";

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Job {
    /// Take a profile.
    Profile(Box<Plan>),
    /// Show profiles that were taken earlier.
    Report(Box<report::Plan>),
    /// Tell what changed between two.
    Diff(Box<diff::Plan>),
    /// Add profiles up.
    Merge(merge::Plan),
    /// Look into a function.
    Annotate(Box<annotating::Plan>),
    /// Show one as it is taken.
    Top(Box<live::Plan>),
    /// Always count, and answer over HTTP.
    Serve(Box<serving::Plan>),
    /// Tell the rates of its clocks.
    Clock {
        /// For a program.
        as_json: bool,
    },
    /// Examine the machine.
    Doctor {
        /// For a program.
        as_json: bool,
    },
    /// Write manual pages and completions below a directory.
    Manual(PathBuf),
}

/// How to take a profile.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) whom: Whom,
    /// Their target is that of [`Plan::whom`], or a command's, once it has a number.
    pub(crate) options: Options,
    pub(crate) duration: Option<Duration>,
    pub(crate) outputs: Vec<Destination>,
    pub(crate) names: Names,
    pub(crate) shown: Shown,
}

impl Args {
    /// Turns what was typed into what is meant.
    pub(crate) fn job(mut self) -> Result<Job, clap::Error> {
        match self.verb.take() {
            Some(Verb::Doctor { json }) => Ok(Job::Doctor { as_json: json }),
            Some(Verb::Manual { dir }) => Ok(Job::Manual(dir)),
            Some(Verb::Clock { json }) => Ok(Job::Clock { as_json: json }),
            Some(Verb::Report(flags)) => flags
                .plan()
                .map(|plan| Job::Report(Box::new(plan)))
                .map_err(|(kind, message)| usage_of("report", kind, &message)),
            Some(Verb::Diff(flags)) => Ok(Job::Diff(Box::new(flags.plan()))),
            Some(Verb::Merge { files, output }) => merge::Plan::of(files, &output)
                .map(Job::Merge)
                .map_err(|message| usage_of("merge", ErrorKind::ValueValidation, &message)),
            Some(Verb::Annotate(flags)) => flags
                .plan()
                .map(|plan| Job::Annotate(Box::new(plan)))
                .map_err(|message| usage_of("annotate", ErrorKind::ValueValidation, &message)),
            Some(Verb::Top(flags)) => flags
                .plan()
                .map(|plan| Job::Top(Box::new(plan)))
                .map_err(|message| usage_of("top", ErrorKind::ArgumentConflict, &message)),
            Some(Verb::Serve(flags)) => Ok(Job::Serve(Box::new(flags.plan()))),
            None => Ok(Job::Profile(Box::new(self.plan()?))),
        }
    }

    fn plan(mut self) -> Result<Plan, clap::Error> {
        let shown = self.view.shown().map_err(usage)?;
        let outputs = destinations(&self.output, self.format, shown.style).map_err(usage)?;
        let (regions, dialect) = self.regions.asked().map_err(usage)?;
        let wants_buffers = outputs.iter().any(Destination::takes_buffers);
        if wants_buffers && regions.is_empty() {
            return Err(usage("a buffer is that of a region: --offset or --region"));
        }
        let mode = self.mode.unwrap_or(if self.whom.is_all() {
            Mode::Split
        } else {
            Mode::Prof
        });
        let whom = self.whom.whom().map_err(usage)?;
        let options = Options {
            split: shown.split(self.whom.split()).map_err(usage)?,
            rate: self.rate,
            regions,
            dialect,
            follow: !self.no_follow,
            clock: match self.clock {
                Clock::Task => ClockScope::Task,
                Clock::Cpu => ClockScope::Cpu,
            },
            jitter: self.jitter,
            mode: mode.wanted(),
            bins_bytes: self.memory << 20,
            strays: self.strays,
            kernel_log: self.verbose,
            // A command has no number yet.
            ..Options::new(match &whom {
                Whom::Target(target) => target.clone(),
                Whom::Command(..) => Target::Everything,
            })
        };
        if !options.regions.is_empty() && !is_one_process(&whom) {
            return Err(usage("regions are of one process that runs: --pid PID"));
        }
        let of_many = matches!(&whom, Whom::Target(target) if !is_of_one_program(target));
        if of_many && outputs.iter().any(Destination::is_of_one_program) {
            return Err(usage(OF_ONE_PROGRAM));
        }
        Ok(Plan {
            whom,
            options,
            duration: self.duration,
            outputs,
            names: self.names.names(),
            shown,
        })
    }
}

/// The command line, for whoever describes it.
pub(crate) fn command() -> clap::Command {
    Args::command()
}

fn is_of_one_program(target: &Target) -> bool {
    matches!(
        target,
        Target::Processes(_) | Target::Thread(_) | Target::Command(_)
    )
}

fn is_one_process(whom: &Whom) -> bool {
    matches!(whom, Whom::Target(Target::Processes(pids)) if pids.len() == 1)
}

fn usage(message: impl std::fmt::Display) -> clap::Error {
    // Only how to profile: the verbs have their own.
    Args::command()
        .override_usage("profil-bpf [OPTIONS] --pid <PID> | --all | -- <COMMAND>...")
        .error(ErrorKind::ValueValidation, message)
}

fn usage_of(verb: &str, kind: ErrorKind, message: &str) -> clap::Error {
    let mut command = Args::command();
    // Only then does the verb know its own usage.
    command.build();
    match command.find_subcommand_mut(verb) {
        Some(verb) => verb.error(kind, message),
        None => usage(message),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let plain: Option<f64> = text.parse().ok();
    let duration = match plain.map(Duration::try_from_secs_f64) {
        Some(Ok(duration)) => duration,
        _ => humantime::parse_duration(text)
            .map_err(|error| format!("{error}; try 10s, 500ms or 2m"))?,
    };
    if duration.is_zero() {
        return Err("nothing can be counted in no time".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{CommandFactory as _, Parser as _};

    use super::{Args, Job, Target, Whom, parse_duration, whom::parse_pid};

    #[test]
    fn the_command_line_is_consistent_and_explained() {
        Args::command().help_expected(true).debug_assert();
    }

    #[test]
    fn a_plain_number_is_seconds() {
        assert_eq!(parse_duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        for text in ["", "0", "0s", "-1", "abc", "10 parsecs", "inf", "nan"] {
            parse_duration(text).unwrap_err();
        }
    }

    #[test]
    fn a_process_is_a_positive_number() {
        for text in ["0", "-1", "abc", "", "4294967295", "1,2"] {
            parse_pid(text).unwrap_err();
        }
        assert_eq!(parse_pid("42").unwrap().get(), 42);
    }

    #[test]
    fn processes_are_a_list_or_several_flags() {
        let args = Args::parse_from(["profil-bpf", "--pid", "3,1", "-p", "2", "--pid=1"]);
        let Ok(Job::Profile(plan)) = args.job() else {
            panic!("a profile was asked for")
        };
        let Whom::Target(Target::Processes(pids)) = plan.whom else {
            panic!("{:?}", plan.whom)
        };
        let pids: Vec<_> = pids.iter().map(|pid| pid.get()).collect();
        assert_eq!(pids, [1, 2, 3]);
    }

    #[test]
    fn standard_output_is_taken_once() {
        let args = Args::parse_from(["profil-bpf", "--pid", "1", "-o", "-", "-o", "-"]);
        args.job().unwrap_err();
    }
}
