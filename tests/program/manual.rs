//! The manual pages and the completions: as man(1) and a shell read them.

use std::{fs, path::Path, process::Command, time::Duration};

use profil_tests::{Finished, Process, Profiler, places, require_programs};
use tempfile::TempDir;

use crate::run;

const FILES: [&str; 4] = [
    "man/man1/profil-bpf.1",
    "bash-completion/completions/profil-bpf",
    "zsh/site-functions/_profil-bpf",
    "fish/vendor_completions.d/profil-bpf.fish",
];

fn manual() -> TempDir {
    let dir = places::public_dir();
    let finished = Profiler::new().arg("manual").arg(dir.path()).run();
    finished.assert_code(0).assert_no_panic();
    assert_eq!((&*finished.stdout, &*finished.stderr), ("", ""));
    dir
}

fn finish(command: &mut Command) -> Finished {
    Process::start(command).finish(Duration::from_secs(20))
}

/// The verbs, as the help lists them.
fn verbs() -> Vec<String> {
    let help = run(["--help"]).stdout;
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    list.take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&verb| verb != "help")
        .map(str::to_owned)
        .collect()
}

/// A page as a person reads it.
fn shown(page: &Path) -> String {
    let mut groff = Command::new("groff");
    // Without overstrikes and without escapes.
    groff.args(["-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n"]);
    let finished = finish(groff.arg(page));
    finished.assert_code(0);
    assert_eq!(finished.stderr, "", "{}", page.display());
    finished.stdout
}

#[test]
fn all_is_where_a_package_has_it() {
    let dir = manual();
    for file in FILES {
        let text = fs::read_to_string(dir.path().join(file)).expect(file);
        assert!(text.contains("profil") && text.len() > 1000, "{file}");
    }
    // What is there already is brought up to date.
    let again = Profiler::new().arg("manual").arg(dir.path()).run();
    again.assert_code(0);
    let zsh = fs::read_to_string(dir.path().join(FILES[2])).expect("a file");
    assert!(zsh.starts_with("#compdef profil-bpf\n"));
}

#[test]
fn every_verb_has_a_page_and_every_flag_stands_in_it() {
    require_programs!("groff");
    let dir = manual();
    let verbs = verbs();
    for verb in ["report", "diff", "merge", "clock", "doctor", "manual"] {
        assert!(verbs.iter().any(|listed| listed == verb), "{verbs:?}");
    }
    let pages = dir.path().join("man/man1");
    for verb in [""].into_iter().chain(verbs.iter().map(String::as_str)) {
        let (name, help) = if verb.is_empty() {
            ("profil-bpf.1".to_owned(), run(["--help"]).stdout)
        } else {
            (format!("profil-bpf-{verb}.1"), run([verb, "--help"]).stdout)
        };
        let page = shown(&pages.join(name));
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"] {
            let heading = format!("\n{section}\n");
            assert!(page.contains(&heading), "no {section} in {verb}:\n{page}");
        }
        let flags: Vec<_> = help
            .lines()
            .filter(|line| line.starts_with("  -") || line.starts_with("      --"))
            .flat_map(|line| line.split_whitespace().take(2))
            .map(|word| word.trim_end_matches(','))
            .filter(|word| word.len() > 1 && word.starts_with('-'))
            .collect();
        assert!(flags.contains(&"--help"), "{flags:?}");
        for flag in flags {
            let has = |line: &str| {
                let mut words = line.split_whitespace();
                line.starts_with("       -") && words.any(|word| word.trim_end_matches(',') == flag)
            };
            assert!(page.lines().any(has), "no {flag} of {verb} in:\n{page}");
        }
    }
    let listed = places::names_in(&pages);
    assert_eq!(listed.len(), verbs.len() + 1, "{listed:?}");
}

#[test]
fn bash_completes_flags_and_verbs() {
    require_programs!("bash");
    let dir = manual();
    let complete = |words: &[&str]| {
        // The function is that which the shell was told of.
        let script = r#"source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            set -- $(complete -p profil-bpf); while [ "$1" != -F ]; do shift; done
            "$2" profil-bpf "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\n' "${COMPREPLY[@]}""#;
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", script, "bash"]);
        let finished = finish(bash.arg(dir.path().join(FILES[1])).args(words));
        finished.assert_code(0);
        assert_eq!(finished.stderr, "");
        let lines = finished.stdout.lines().map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let flags = complete(&["profil-bpf", "--p"]);
    assert_eq!(flags, ["--pid", "--per-process", "--per-thread"]);
    assert_eq!(complete(&["profil-bpf", "doc"]), ["doctor"]);
    assert_eq!(complete(&["profil-bpf", "report", "--ex"]), ["--exe"]);
    let styles = complete(&["profil-bpf", "report", "--style", ""]);
    assert_eq!(styles, ["flat", "perf", "gprof", "prof"]);
}

#[test]
fn a_directory_that_takes_no_files() {
    let finished = run(["manual", "/proc/self"]);
    finished.assert_code(1).assert_clear_error();
    finished.assert_says("cannot write /proc/self/man");
    run(["manual"]).assert_code(2).assert_says("<DIR>");
}
