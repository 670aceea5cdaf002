//! `profil-workloads DIR`: builds every target into DIR, for a machine without a compiler. `$CC`
//! decides which kind of machine that is.

#![allow(
    clippy::print_stderr,
    reason = "a command line program talks to its user"
)]

use std::{env, path::Path, process::ExitCode};

use profil_tests::recipe;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [dir] = &arguments[..] else {
        eprintln!("usage: profil-workloads DIR");
        return ExitCode::from(2);
    };
    match recipe::build_all(Path::new(dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("profil-workloads: {error}");
            ExitCode::FAILURE
        }
    }
}
