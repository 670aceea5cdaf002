//! A Go program: symbols with dots, parentheses and stars, a text without a C library, and threads that a
//! runtime starts as it likes.

use std::{path::Path, process::Command, time::Duration};

use profil_tests::{
    Profiler, Target, claim_machine, require_programs,
    session::{self, RATE},
};

const SOURCE: &str = include_str!("../workloads/split.go");

/// Builds it, with nothing but its own standard library.
fn build(dir: &Path) {
    std::fs::write(dir.join("split.go"), SOURCE).expect("there is room");
    let built = Command::new("go")
        .args(["build", "-o", "split-go", "split.go"])
        .envs([("GO111MODULE", "off"), ("CGO_ENABLED", "0")])
        .env("GOCACHE", dir.join("cache"))
        .current_dir(dir)
        .output()
        .expect("go starts");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
}

#[test]
fn functions_and_methods_have_their_names() {
    require_programs!("go");
    let _machine = claim_machine!();
    let dir = tempfile::tempdir().expect("a directory");
    build(dir.path());
    let executable = dir.path().join("split-go");
    let session = session::measured(|| {
        let mut target = Target::start_command(Command::new(&executable), executable.clone());
        let profiler = Profiler::on(target.pid(), RATE);
        session::take(&mut target, profiler, RATE, Duration::from_secs(2))
    });
    // The runtime's own threads make the rest.
    session.assert_shares().assert_hot_in("split-go");
    session.report.assert_all_ticks_seen();
}
