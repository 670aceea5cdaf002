//! `profil-bpf doctor`, whoever runs it: what a report of a fault has with it.

use std::process::Command;

use profil_tests::{Finished, Profiler, places};

/// A word that stands in everything about whoever runs it that is nobody's business.
const SECRET: &str = "xyzzy-plugh";

fn doctor(arguments: &[&str]) -> Finished {
    let mut command = Command::new(places::profil_bpf());
    for name in ["HOME", "USER", "LOGNAME", "SUDO_USER", "HOSTNAME", "PWD"] {
        command.env(name, format!("/home/{SECRET}"));
    }
    let finished = Profiler::by(command).arg("doctor").args(arguments).run();
    finished.assert_no_panic();
    let code = finished.status.code();
    assert!(matches!(code, Some(0 | 1)), "{finished:?}");
    finished
}

#[test]
fn every_section_is_there_and_nothing_secret() {
    let finished = doctor(&[]);
    for section in [
        "kernel",
        "privileges",
        "limits",
        "surroundings",
        "features",
        "clocks",
        "trial",
    ] {
        let heading = format!("\n\n{section}\n");
        assert!(
            finished.stdout.contains(&heading),
            "no {section}: {finished:?}"
        );
    }
    let version = finished.stdout.lines().next().expect("a line");
    assert!(version.starts_with("profil-bpf "), "{version}");
    let own = places::profil_bpf();
    let dir = own
        .parent()
        .and_then(|dir| dir.to_str())
        .expect("a plain path");
    let said = [&*finished.stdout, &*finished.stderr].concat();
    for secret in [SECRET, "/home/", "/root", dir] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    let works = finished.stdout.contains("profiles can be taken here");
    assert_eq!(works, finished.status.success(), "{finished:?}");
    assert_eq!(works, finished.stderr.is_empty(), "{finished:?}");
}

#[test]
fn a_program_reads_the_same() {
    let finished = doctor(&["--json"]);
    let value: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(value["works"], finished.status.success());
    assert_eq!(value["object"]["sha256"].as_str().map(str::len), Some(64));
    let findings = value["findings"].as_array().expect("a list");
    assert!(findings.len() > 25, "{findings:?}");
    for finding in findings {
        let verdict = finding["verdict"].as_str().expect("a word");
        assert!(["ok", "instead", "missing", "?"].contains(&verdict));
        assert!(finding["section"].is_string() && finding["what"].is_string());
        assert!(
            finding["value"]
                .as_str()
                .is_some_and(|value| !value.is_empty())
        );
    }
    assert!(!finished.stdout.contains(SECRET));
}

#[test]
fn a_full_disk_is_said() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = Command::new(places::profil_bpf());
    command.arg("doctor").stdout(full.expect("a device"));
    let finished = command.output().expect("it runs");
    assert_eq!(finished.status.code(), Some(1));
    let said = String::from_utf8_lossy(&finished.stderr);
    assert!(said.contains("cannot write the report: "), "{said}");
}
