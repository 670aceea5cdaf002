//! What the README shows, from real runs: `cargo xtask picture`.
//!
//! `profil-picture README.md FILE.svg` profiles and watches what it has started itself, in a terminal of its
//! own. The report goes into the README, and the live view becomes a picture.

#![allow(
    clippy::print_stderr,
    reason = "a command line program talks to its user"
)]

mod readme;
mod svg;

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::Duration,
};

use profil_tests::{Terminal, places};

/// Rows and columns.
const SIZE: (u16, u16) = (24, 100);

/// How long it runs before the picture is taken.
const TIME: Duration = Duration::from_secs(16);

/// What to watch: text that is read and written again, a database in memory, and copying inside the
/// kernel.
const SCENE: [(&str, &[&str]); 3] = [
    (
        "python3",
        &[
            "-c",
            "import json\nlines = [{'number': n / 7, 'name': 'n%d' % n} for n in range(500)]\nwhile True:\n \
             lines = json.loads(json.dumps(lines, indent=1))",
        ],
    ),
    (
        "sqlite3",
        &[
            ":memory:",
            "with recursive n(i, s) as (select 1, 'a' union all select i + 1, substr(s || i, -40) from n) \
             select count(distinct s) from n;",
        ],
    ),
    (
        "dd",
        &["if=/dev/zero", "of=/dev/null", "bs=64k", "status=none"],
    ),
];

fn main() -> ExitCode {
    let [readme, file] = &env::args_os()
        .skip(1)
        .map(PathBuf::from)
        .collect::<Vec<_>>()[..]
    else {
        eprintln!("usage: profil-picture README.md FILE.svg");
        return ExitCode::from(2);
    };
    let scene: Vec<Actor> = SCENE.into_iter().filter_map(Actor::start).collect();
    // What starts them may be a script of that name, which becomes another program.
    thread::sleep(Duration::from_secs(2));
    if let Some(Actor(child)) = scene.first()
        && let Err(error) = readme::write(readme, child.id())
    {
        eprintln!("profil-picture: cannot write {}: {error}", readme.display());
        return ExitCode::FAILURE;
    }
    let mut command = Command::new(places::profil_bpf());
    command.arg("top");
    for Actor(child) in &scene {
        command.args(["--pid", &child.id().to_string()]);
    }
    let mut terminal = Terminal::start(command, SIZE);
    terminal.read_for(TIME);
    // Some lines down, to show that there is something to choose.
    terminal.press("jj");
    terminal.read_for(Duration::from_secs(1));
    let picture = svg::of(terminal.screen(), "profil-bpf top, in a terminal");
    terminal.press("q");
    let status = terminal.finish(Duration::from_secs(20));
    if !status.success() {
        eprintln!("profil-picture: {}", terminal.lines().join("\n"));
        return ExitCode::FAILURE;
    }
    match fs::write(file, &picture) {
        Ok(()) => {
            eprintln!(
                "profil-picture: {} bytes in {}",
                picture.len(),
                file.display()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("profil-picture: cannot write {}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}

/// A program that burns. Killed when dropped.
struct Actor(Child);

impl Actor {
    /// Starts it, if the machine has it.
    fn start((program, arguments): (&str, &[&str])) -> Option<Self> {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                eprintln!("profil-picture: without {program}: {error}");
                None
            }
        }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Both fail only if it is gone, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
