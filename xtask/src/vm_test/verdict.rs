//! What a guest's console means.

use std::fmt;

use super::{budgets::Budgets, console::Console, machine::End};

/// Tests that need not run in a virtual machine: the part of a name and of a reason to know them
/// by, and why not.
const MAY_BE_SKIPPED: [(&str, &str, &str); 0] = [];

/// What became of a leg.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Word {
    /// Every test that should run passed.
    Passed,
    /// A test failed, or none ran.
    Failed,
    /// A test did not run that should.
    Skipped,
    /// A BPF program became too large.
    Budget,
    /// The kernel gave up, or took the guest down.
    Panic,
    /// It ran into the limit of time.
    Hang,
    /// The console never said a word.
    Silent,
    /// It could not be started.
    NotRun,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Budget => "BUDGET",
            Self::Panic => "PANIC",
            Self::Hang => "HANG",
            Self::Silent => "SILENT",
            Self::NotRun => "not run",
        })
    }
}

/// A leg's word, and what it is made of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Verdict {
    pub(super) word: Word,
    /// Everything that speaks against it; of these the worst is the word.
    pub(super) reasons: Vec<String>,
}

impl Verdict {
    fn new(word: Word, reason: impl Into<String>) -> Self {
        Self {
            word,
            reasons: vec![reason.into()],
        }
    }

    /// There is nothing to judge.
    pub(super) fn not_run() -> Self {
        Self {
            word: Word::NotRun,
            reasons: Vec::new(),
        }
    }

    /// Judges a console. A guest proves that it is well; silence and surprises count against it.
    pub(super) fn of(console: &Console, end: End, leg: &str, budgets: &Budgets) -> Self {
        let Some(last) = &console.last else {
            return Self::new(Word::Silent, "nothing came on the console");
        };
        if let Some(panic) = &console.panic {
            return Self::new(Word::Panic, panic.trim());
        }
        if end == End::OutOfTime {
            return Self::new(
                Word::Hang,
                format!("out of time; the last line was `{last}`"),
            );
        }
        let Some(exit) = console.exit else {
            return Self::new(
                Word::Panic,
                format!("the guest died without a word; the last line was `{last}`"),
            );
        };

        let mut words = Vec::new();
        let mut reasons = Vec::new();
        let mut add = |word: Word, reason: String| {
            words.push(word);
            reasons.push(reason);
        };
        match console.counts {
            None => add(Word::Failed, "the tests did not get to their end".into()),
            Some(counts) if counts.failed > 0 => add(
                Word::Failed,
                format!(
                    "{} of the tests: {}",
                    counts.failed,
                    console.failed.join(", ")
                ),
            ),
            Some(_) if exit != 0 => {
                add(Word::Failed, format!("the tests ended with status {exit}"));
            }
            Some(_) if console.passed() == 0 => add(Word::Failed, "no test passed".into()),
            Some(_) => {}
        }
        for skip in unexpected(&console.skipped) {
            add(Word::Skipped, format!("skipped {skip}"));
        }
        for fault in budgets.faults(leg, &console.programs) {
            add(Word::Budget, fault);
        }
        Self {
            word: words.first().copied().unwrap_or(Word::Passed),
            reasons,
        }
    }
}

fn unexpected(skipped: &[String]) -> impl Iterator<Item = &String> {
    skipped.iter().filter(|skip| {
        let may =
            |(test, reason, _): &(&str, &str, &str)| skip.contains(test) && skip.contains(reason);
        !MAY_BE_SKIPPED.iter().any(may)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm_test::budgets::Figures;

    const BOOT: &str = "\
VM-KERNEL: 6.1.0-57-cloud-amd64
VM: up after 1.97 s, x86_64, 2 CPUs
BPF program profil_tick: 277 instructions, 3361 processed by the verifier
VM: doctor is done

running 2 tests
";

    fn budgets() -> Budgets {
        let figures = Figures {
            instructions: 277,
            processed: Some(3361),
        };
        let mut budgets = Budgets::default();
        budgets.record("leg", "6.1.0", &[("profil_tick".into(), figures)]);
        budgets
    }

    fn judge(text: &str, end: End) -> Verdict {
        Verdict::of(&Console::read(text), end, "leg", &budgets())
    }

    #[track_caller]
    fn says(verdict: &Verdict, word: Word, reason: &str) {
        assert_eq!(verdict.word, word, "{verdict:?}");
        assert_eq!(verdict.reasons, [reason]);
    }

    #[test]
    fn passed() {
        let text = format!(
            "{BOOT}test a::b ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\nVM-EXIT: 0\n"
        );
        let verdict = judge(&text, End::Off);
        assert_eq!(verdict.word, Word::Passed);
        assert!(verdict.reasons.is_empty());
    }

    #[test]
    fn a_failed_test_is_named() {
        let text = format!(
            "{BOOT}failures:\n\n---- a::b stdout ----\nBPF program x: odd\n    indented\n\n\
             failures:\n    a::b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\nVM-EXIT: 101\n"
        );
        says(
            &judge(&text, End::Off),
            Word::Failed,
            "1 of the tests: a::b",
        );
    }

    #[test]
    fn a_status_alone_fails_it() {
        let text = format!("{BOOT}test result: ok. 2 passed; 0 failed\nVM-EXIT: 3\n");
        says(
            &judge(&text, End::Off),
            Word::Failed,
            "the tests ended with status 3",
        );
    }

    #[test]
    fn tests_that_never_ran_do_not_pass() {
        let none = format!("{BOOT}test result: ok. 0 passed; 0 failed\nVM-EXIT: 0\n");
        says(&judge(&none, End::Off), Word::Failed, "no test passed");
        let crashed = format!("{BOOT}test a::b ... VM-EXIT: 139\n");
        let verdict = judge(&crashed, End::Off);
        assert_eq!(
            verdict.word,
            Word::Panic,
            "the status is not on a line of its own"
        );
        let crashed = format!("{BOOT}test a::b ... \nSegmentation fault\nVM-EXIT: 139\n");
        let reason = "the tests did not get to their end";
        says(&judge(&crashed, End::Off), Word::Failed, reason);
    }

    #[test]
    fn a_skipped_test_did_not_pass() {
        let text = format!(
            "{BOOT}test result: ok. 2 passed; 0 failed\nVM-SKIP: a::b: needs the program cc\nVM-EXIT: 0\n"
        );
        assert_eq!(Console::read(&text).passed(), 1);
        let reason = "skipped a::b: needs the program cc";
        says(&judge(&text, End::Off), Word::Skipped, reason);
    }

    #[test]
    fn a_panic_is_shown() {
        let text = "VM-KERNEL: 6.1.0\n[    1.0] Kernel panic - not syncing: Attempted to kill init!\n\
                    [    1.1] ---[ end Kernel panic - not syncing: Attempted to kill init! ]---\n";
        let reason = "[    1.0] Kernel panic - not syncing: Attempted to kill init!";
        for end in [End::Off, End::OutOfTime] {
            says(&judge(text, end), Word::Panic, reason);
        }
        let reason = "the guest died without a word; the last line was `running 2 tests`";
        says(&judge(BOOT, End::Off), Word::Panic, reason);
    }

    #[test]
    fn a_hang_shows_where() {
        let text = format!("{BOOT}test a::b ... \n\n");
        let reason = "out of time; the last line was `test a::b ... `";
        says(&judge(&text, End::OutOfTime), Word::Hang, reason);
    }

    #[test]
    fn silence_is_not_a_hang() {
        for end in [End::Off, End::OutOfTime] {
            says(
                &judge("\n \n", end),
                Word::Silent,
                "nothing came on the console",
            );
        }
    }

    #[test]
    fn a_program_that_grew_fails_good_tests() {
        let text = format!("{BOOT}test result: ok. 2 passed; 0 failed\nVM-EXIT: 0\n");
        let grown = text.replace("277", "377");
        assert_eq!(judge(&grown, End::Off).word, Word::Budget);
        let silent = text.replace("BPF program", "no program");
        let reason = "`profil-bpf doctor` says nothing of the size of its programs";
        says(&judge(&silent, End::Off), Word::Budget, reason);
    }

    #[test]
    fn an_old_kernel_does_not_tell() {
        let line = "BPF program profil_tick: 277 instructions, ? processed by the verifier\n";
        let figures = Figures {
            instructions: 277,
            processed: None,
        };
        let programs = Console::read(line).programs;
        assert_eq!(programs, [("profil_tick".to_owned(), figures)]);
    }
}
