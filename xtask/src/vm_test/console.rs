//! What a guest says on its console.

use super::budgets::Figures;
use crate::test::libtest::Counts;

/// What the kernel prints when it gives up.
const PANIC: &str = "Kernel panic - not syncing";

/// The parts of a console that decide.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Console {
    /// The kernel's own idea of its version.
    pub(super) release: Option<String>,
    /// What the kernel said when it gave up.
    pub(super) panic: Option<String>,
    /// The BPF programs that `profil-bpf doctor` loaded, and their sizes.
    pub(super) programs: Vec<(String, Figures)>,
    /// What the test runner counted, if it got to its end.
    pub(super) counts: Option<Counts>,
    /// The tests that failed.
    pub(super) failed: Vec<String>,
    /// The tests that did not run, each with its reason.
    pub(super) skipped: Vec<String>,
    /// The test runner's exit status, as the last thing that a guest says.
    pub(super) exit: Option<i32>,
    /// The last line that is not empty.
    pub(super) last: Option<String>,
}

impl Console {
    pub(super) fn read(text: &str) -> Self {
        let mut console = Self::default();
        // The list of names is the last thing under this heading, the outputs come before it.
        let mut names = Vec::new();
        for line in text.lines() {
            if let Some(release) = line.strip_prefix("VM-KERNEL: ") {
                console.release = Some(release.to_owned());
            } else if let Some(skip) = line.strip_prefix("VM-SKIP: ") {
                console.skipped.push(skip.to_owned());
            } else if let Some(status) = line.strip_prefix("VM-EXIT: ") {
                console.exit = status.parse().ok();
            } else if let Some(program) = program(line) {
                console.programs.push(program);
            } else if line == "failures:" {
                names.clear();
            } else if let Some(name) = line.strip_prefix("    ") {
                names.push(name.to_owned());
            } else if line.starts_with("test result: ") {
                let mut counts = Counts::default();
                counts.add(line);
                console.failed = std::mem::take(&mut names);
                console.failed.truncate(counts.failed as usize);
                console.counts = Some(counts);
            }
            if line.contains(PANIC) && console.panic.is_none() {
                console.panic = Some(line.to_owned());
            }
            if !line.trim().is_empty() {
                console.last = Some(line.to_owned());
            }
        }
        console
    }

    /// How many tests really passed: the runner counts a skipped one as passed.
    pub(super) fn passed(&self) -> u64 {
        let passed = self.counts.map_or(0, |counts| counts.passed);
        passed.saturating_sub(self.skipped.len() as u64)
    }
}

/// Reads `BPF program profil_tick: 641 instructions, 2213 processed by the verifier`.
fn program(line: &str) -> Option<(String, Figures)> {
    let (name, figures) = line.trim().strip_prefix("BPF program ")?.split_once(": ")?;
    let words: Vec<_> = figures.split([' ', ',']).collect();
    let before = |what: &str| {
        let at = words.iter().position(|&word| word == what)?;
        words[..at].iter().rev().find(|word| !word.is_empty())
    };
    Some((
        name.to_owned(),
        Figures {
            instructions: before("instructions")?.parse().ok()?,
            // Old kernels do not tell.
            processed: before("processed")?.parse().ok(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_words() {
        let figures = |instructions, processed| {
            let name = "profil_tick".to_owned();
            Some((
                name,
                Figures {
                    instructions,
                    processed,
                },
            ))
        };
        for (line, read) in [
            (
                "BPF program profil_tick: 641 instructions, 2213 processed by the verifier",
                figures(641, Some(2213)),
            ),
            (
                "  BPF program profil_tick: 641 instructions, ? processed by the verifier",
                figures(641, None),
            ),
            ("BPF program profil_tick: 641 instructions", None),
            (
                "BPF program profil_tick: ? instructions, 2213 processed",
                None,
            ),
            ("BPF program profil_tick: instructions", None),
            ("BPF programs on perf events", None),
            ("a BPF program profil_tick: 641 instructions", None),
        ] {
            assert_eq!(program(line), read, "{line}");
        }
    }

    #[test]
    fn failed_tests_are_those_of_the_list() {
        let text = "\
    an indented line
failures:

---- a::b stdout ----
    more of them

failures:
    a::b
    c::d

test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 3 filtered out
    and more
";
        let console = Console::read(text);
        assert_eq!(console.failed, ["a::b", "c::d"]);
        assert_eq!((console.passed(), console.exit), (5, None));
    }

    #[test]
    fn nothing_says_nothing() {
        assert_eq!(Console::read(""), Console::default());
        assert_eq!(Console::read("VM-EXIT: one\n").exit, None);
    }
}
