//! The command line: parse → plan → run → exit status.

mod annotate;
mod args;
mod clock;
mod diff;
mod doctor;
mod live;
mod manual;
mod merge;
mod named;
mod outline;
mod progress;
mod report;
mod run;
mod serve;
mod signals;
mod talk;
mod top;

use std::process::ExitCode;

use clap::Parser as _;
use profil_user::launch::LaunchError;

use args::Job;

/// Everything that went wrong but wrong usage, for which clap has 2.
const FAILURE: u8 = 1;

fn main() -> ExitCode {
    talk::be_silent_where_panics_are_caught();
    let job = match args::Args::parse().job() {
        Ok(job) => job,
        Err(usage) => usage.exit(),
    };
    let done = match job {
        Job::Profile(plan) => match run::run(*plan) {
            // A command's own, as env(1) has it.
            Ok(Some(status)) => return ExitCode::from(status),
            done => done.map(|_| true),
        },
        Job::Annotate(plan) => match annotate::run(*plan) {
            Ok(Some(status)) => return ExitCode::from(status),
            done => done.map(|_| true),
        },
        Job::Report(plan) => report::run(&plan).map(|()| true),
        Job::Diff(plan) => diff::run(&plan).map(|()| true),
        Job::Merge(plan) => merge::run(plan).map(|()| true),
        Job::Top(plan) => top::run(&plan),
        Job::Serve(plan) => serve::run(&plan).map(|()| true),
        Job::Clock { as_json } => clock::run(as_json).map(|()| true),
        Job::Doctor { as_json } => doctor::run(as_json),
        Job::Manual(dir) => manual::run(&dir).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILURE),
        Err(error) if talk::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            talk::error(&error);
            let of_command = error.downcast_ref::<LaunchError>();
            ExitCode::from(of_command.map_or(FAILURE, LaunchError::exit_code))
        }
    }
}
