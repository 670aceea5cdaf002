//! `profil-bpf manual DIR`: the manual pages, and what shells complete, where a package puts them.

mod page;

use std::{fs, io, path::Path};

use anyhow::Context as _;
use clap_complete::{Generator, Shell};
use profil_user::export::{printable, write_whole};

use crate::args;

/// What the program is called, and its files with it.
const NAME: &str = "profil-bpf";

/// For each shell, where below the data directory its completions are looked for.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/profil-bpf"),
    (Shell::Zsh, "zsh/site-functions/_profil-bpf"),
    (Shell::Fish, "fish/vendor_completions.d/profil-bpf.fish"),
];

/// Writes all of them below `dir`, which stands for `/usr/share`.
pub(crate) fn run(dir: &Path) -> anyhow::Result<()> {
    for (page, text) in page::all(args::command())? {
        write(dir, &format!("man/man1/{page}.1"), &text)?;
    }
    for (shell, place) in COMPLETIONS {
        write(dir, place, &completions(shell)?)?;
    }
    Ok(())
}

fn completions(shell: Shell) -> io::Result<Vec<u8>> {
    let mut command = args::command();
    command.set_bin_name(NAME);
    command.build();
    let mut script = Vec::new();
    shell.try_generate(&command, &mut script)?;
    match (shell, String::from_utf8(script)) {
        (Shell::Bash, Ok(script)) => Ok(agreeing(&script).into_bytes()),
        (_, Ok(script)) => Ok(script.into_bytes()),
        (_, Err(error)) => Err(io::Error::other(error)),
    }
}

/// clap_complete spells the hyphen of a program's name in one way where it finds out which verb was
/// typed, and in another where it tells the flags of one (clap-rs/clap issue 6421).
fn agreeing(script: &str) -> String {
    let spelt = |by: &str| NAME.replace('-', by);
    script.replace(&spelt("__subcmd__"), &spelt("__"))
}

fn write(dir: &Path, place: &str, text: &[u8]) -> anyhow::Result<()> {
    let path = dir.join(place);
    let parent = path.parent().unwrap_or(dir);
    fs::create_dir_all(parent)
        .and_then(|()| write_whole(&path, text))
        .with_context(|| format!("cannot write {}", printable(&path.to_string_lossy())))
}
