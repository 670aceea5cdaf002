//! The command line: parse → plan → run → exit status.

mod args;
mod live;
mod run;
mod signals;
mod talk;

use std::process::ExitCode;

use clap::Parser as _;

/// Everything that went wrong but wrong usage, for which clap has 2.
const FAILURE: u8 = 1;

fn main() -> ExitCode {
    let plan = match args::Args::parse().plan() {
        Ok(plan) => plan,
        Err(usage) => usage.exit(),
    };
    match run::run(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if talk::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            talk::error(&error);
            ExitCode::from(FAILURE)
        }
    }
}
