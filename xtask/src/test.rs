//! `cargo xtask test [SUITE] [FILTER]`: every test, and root only for those that need it.
//!
//! The suites follow the ladder: `host` is pure and runs anywhere, `program` runs the real binary
//! without privileges, `root` runs it on the real kernel.

pub(crate) mod libtest;
mod provision;

use std::{
    env,
    ffi::OsString,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use crate::{machine, run, steps::Steps, workspace};
use libtest::Counts;

/// A part of the tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Suite {
    /// Unit tests and doc tests of all crates; no privileges, no kernel
    Host,
    /// The real binary: usage, errors, exit statuses; no privileges
    Program,
    /// The real binary on the real kernel; needs root
    Root,
}

/// Test binaries that run as root, with their packages: the program, the library, and its C face.
const ROOT_TESTS: [(&str, &str); 3] = [
    ("profil-tests", "root"),
    ("profil-user", "handle"),
    ("profil-c", "face"),
];

/// Runs the tests and sums them up.
pub(crate) fn run(suite: Option<Suite>, filter: Option<&str>) -> ExitCode {
    let mut steps = Steps::default();
    let remarks = add_steps(&mut steps, suite, filter);
    steps.finish(&remarks)
}

/// Runs the tests as steps of something larger. Returns the lines that belong in its summary.
pub(crate) fn add_steps(
    steps: &mut Steps,
    suite: Option<Suite>,
    filter: Option<&str>,
) -> Vec<String> {
    let wanted = |one: Suite| suite.is_none_or(|suite| suite == one);
    let mut counts = Counts::default();
    let skips = Skips::new();

    steps.step("programs that the tests use", || {
        skips.forget()?;
        provision::provide()
    });
    if wanted(Suite::Host) {
        steps.step("host tests", || {
            let mut command = workspace::cargo();
            command.args(["test", "--locked", "--no-fail-fast", "--workspace"]);
            // What is in no build by default is tested all the same.
            command.args(["--features", "profil-user/otlp"]);
            command.args(["--exclude", "profil-tests"]).args(filter);
            counts.run(command.envs([skips.variable()]))
        });
    }
    if wanted(Suite::Program) || wanted(Suite::Root) {
        let built = steps.step("build the binary under test", || {
            workspace::build_executable(&run::BUILD, run::PROFIL_BPF)
        });
        if wanted(Suite::Program) {
            steps.step("program tests", || {
                let mut command = workspace::cargo();
                command.args([
                    "test",
                    "--locked",
                    "--no-fail-fast",
                    "--package",
                    "profil-tests",
                ]);
                command
                    .args(["--lib", "--bins", "--test", "program"])
                    .args(filter);
                command.envs([skips.variable()]);
                counts.run(command.envs(binary_under_test(built.as_deref())?))
            });
        }
        if wanted(Suite::Root) {
            // A step for each, so that all of them run whatever fails on the way.
            for (package, test) in ROOT_TESTS {
                steps.step(&format!("root tests of {package}"), || {
                    let tests = build_root_tests(package, test)?;
                    as_root(&tests, built.as_deref(), filter, &skips, &mut counts)
                });
            }
        }
    }
    let mut skipped = Vec::new();
    steps.step("skipped tests", || {
        skipped = skips.read()?;
        ensure!(
            skipped.is_empty() || !machine::is_ci(),
            "CI allows none, and there are {}",
            skipped.len()
        );
        Ok(())
    });
    std::iter::once(format!("tests: {counts}, {} skipped", skipped.len()))
        .chain(skipped.iter().map(|skip| format!("skipped {skip}")))
        .collect()
}

/// Builds root tests as whoever we are.
fn build_root_tests(package: &str, test: &str) -> Result<PathBuf> {
    let build = [
        "test",
        "--locked",
        "--package",
        package,
        "--test",
        test,
        "--no-run",
    ];
    workspace::build_executable(&build, test)
}

/// Runs them as root, one after the other: each wants the machine for itself.
fn as_root(
    tests: &Path,
    binary: Option<&Path>,
    filter: Option<&str>,
    skips: &Skips,
    counts: &mut Counts,
) -> Result<()> {
    let mut variables = binary_under_test(binary)?.to_vec();
    variables.push(skips.variable());
    let mut command = if machine::is_root() {
        let mut command = Command::new(tests);
        command.envs(variables);
        command
    } else if machine::find_program("sudo").is_some() {
        println!("==> the root tests need root: asking sudo");
        // What sudo keeps of our environment is its own policy's choice; these it must pass on.
        let mut command = Command::new("sudo");
        command.args(["-E", "--", "env"]);
        variables.push(("PATH", env::var_os("PATH").unwrap_or_default().into()));
        for (name, value) in variables {
            let mut assignment = OsString::from(format!("{name}="));
            assignment.push(value);
            command.arg(assignment);
        }
        command.arg(tests);
        command
    } else {
        return skips.note("root tests: all of them need root, and there is no sudo");
    };
    command
        .arg("--test-threads=1")
        .args(filter)
        .current_dir(workspace::root().join("tests"));
    counts.run(&mut command)
}

/// Tells the tests where the binary and their targets are.
fn binary_under_test(binary: Option<&Path>) -> Result<[(&'static str, PathBuf); 2]> {
    let binary = binary.context("there is no binary to test")?;
    // Made here, and so by the user: what root leaves in it, the user can remove.
    let workloads = workspace::target_dir().join("workloads");
    fs::create_dir_all(&workloads)
        .with_context(|| format!("cannot create {}", workloads.display()))?;
    Ok([
        ("PROFIL_BPF", binary.to_owned()),
        ("PROFIL_WORKLOADS", workloads),
    ])
}

/// The list of tests that could not run. Each test adds a line for itself.
#[derive(Debug)]
struct Skips {
    list: PathBuf,
}

impl Skips {
    fn new() -> Self {
        Self {
            list: workspace::target_dir().join("skipped-tests"),
        }
    }

    fn forget(&self) -> Result<()> {
        fs::write(&self.list, "").with_context(|| format!("cannot write {}", self.list.display()))
    }

    fn note(&self, skip: &str) -> Result<()> {
        println!("SKIPPED {skip}");
        let list = fs::OpenOptions::new().append(true).open(&self.list);
        list.and_then(|mut list| writeln!(list, "{skip}"))
            .with_context(|| format!("cannot write {}", self.list.display()))
    }

    fn read(&self) -> Result<Vec<String>> {
        let list = fs::read_to_string(&self.list)
            .with_context(|| format!("cannot read {}", self.list.display()))?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// How the tests are told where the list is.
    fn variable(&self) -> (&'static str, PathBuf) {
        ("PROFIL_SKIPS", self.list.clone())
    }
}
