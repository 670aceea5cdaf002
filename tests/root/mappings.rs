//! Mappings that are many, change, or hold code at odd places.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread::sleep,
    time::Duration,
};

use profil_tests::{Profiler, claim_machine, places, report::Report, require_programs};

/// A function that keeps a CPU busy for a while, in C.
const SPIN: &str = "
    volatile unsigned long sum;
    void spin(void) { for (int i = 0; i < 1000000; i++) sum += i; }
";

/// Ticks per second.
const RATE: u32 = 997;

/// Builds `source` with `flags` as `name` in `dir`.
fn cc(dir: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (input, output) = (dir.join(format!("{name}.source")), dir.join(name));
    fs::write(&input, source).expect("a source is written");
    let status = Command::new("cc")
        .args(["-O1", "-fno-inline", "-g", "-o"])
        .arg(&output)
        .args(flags)
        .arg(&input)
        .status()
        .expect("cc runs");
    assert!(status.success(), "cc {name}");
    output
}

/// A target of this file's own; it ends by itself, and is killed with the test.
struct Target(Child);

impl Target {
    fn start(program: &Path, arguments: &[&Path]) -> Self {
        let child = Command::new(program).args(arguments).spawn();
        Self(child.expect("the target starts"))
    }

    fn profile(&self, arguments: &[&str]) -> Report {
        let profiler = Profiler::on(self.0.id(), RATE).args(arguments);
        let finished = profiler.run();
        finished.assert_code(0).assert_no_panic();
        let report = Report::of(&finished.stdout);
        report.assert_conserved();
        report
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A library with a function `run` that works in `name`.
fn library(dir: &Path, name: &str) -> PathBuf {
    let source = format!(
        "volatile unsigned long sum;
         void {name}(void) {{ for (int i = 0; i < 100000; i++) sum += i; }}
         void run(void) {{ {name}(); }}"
    );
    cc(
        dir,
        &format!("lib{name}.so"),
        &source,
        &["-shared", "-fPIC", "-x", "c"],
    )
}

#[test]
fn a_library_that_takes_the_place_of_another_has_its_own_name() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let dir = places::public_dir();
    let libraries = [
        library(dir.path(), "one_work"),
        library(dir.path(), "two_work"),
    ];
    let source = include_str!("../workloads/replace.c");
    let program = cc(dir.path(), "replace", source, &["-D_GNU_SOURCE", "-x", "c"]);
    let mut target = Target::start(&program, &[&libraries[0], &libraries[1]]);
    let report = target.profile(&[]);
    let status = target.0.wait().expect("the target ends");
    assert_eq!(status.code(), Some(0), "both libraries at the same place");

    // What happens between two looks, a second apart, may go to either.
    let (one, two) = (report.ticks_of("one_work"), report.ticks_of("two_work"));
    let second = u64::from(RATE);
    assert!(
        one + two > 29 * second / 10,
        "{one} + {two}: {:?}",
        report.rows
    );
    assert!(two >= 9 * second / 10, "{two}: {:?}", report.rows);
    assert!(one <= 21 * second / 10, "{one}: {:?}", report.rows);
}

#[test]
fn a_function_at_an_odd_address_is_not_its_neighbour() {
    let _machine = claim_machine!();
    require_programs!("cc");
    if !cfg!(target_arch = "x86_64") {
        // Elsewhere instructions are at even addresses.
        return;
    }
    let dir = places::public_dir();
    let source = "
        .text
        .globl main
        .type main, @function
        main: jmp inner
        .size main, . - main
        .balign 16
        .type before, @function
        before: nop; nop; ret
        .size before, . - before
        .type inner, @function
        inner: jmp inner
        .size inner, . - inner
        .section .note.GNU-stack, \"\", @progbits
    ";
    let program = cc(dir.path(), "odd", source, &["-x", "assembler"]);
    let target = Target::start(&program, &[]);
    sleep(Duration::from_millis(100));
    let report = target.profile(&["-d", "1s"]);
    let ticks = report.ticks_of("inner");
    assert_eq!(ticks, report.ticks_in("odd"), "{:?}", report.rows);
    assert!(ticks > 500, "{ticks}");
}

/// The verifier must not walk every way through the table: loading took it half a minute and then
/// failed for some numbers of regions, and not for others.
#[test]
fn any_number_of_regions_can_be_loaded() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let dir = places::public_dir();
    let includes = "
        #include <sys/mman.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
    ";
    let main = "
        int main(int count, char **arguments) {
            int file = open(arguments[0], O_RDONLY);
            for (int left = atoi(arguments[1]); left > 0; left--) {
                mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
                mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            }
            for (;;) spin();
        }
    ";
    let source = format!("{includes}{SPIN}{main}");
    let program = cc(dir.path(), "many", &source, &["-D_GNU_SOURCE", "-x", "c"]);
    for count in ["1", "700", "900", "1100", "4000", "6000"] {
        let target = Target::start(&program, &[Path::new(count)]);
        sleep(Duration::from_millis(300));
        let report = target.profile(&["-d", "300ms"]);
        assert!(
            report.ticks_of("spin") > 100,
            "{count}: {:?}",
            report.balance
        );
    }
}

#[test]
fn a_clock_on_the_cpus_sees_the_same() {
    let _machine = claim_machine!();
    require_programs!("cc");
    let dir = places::public_dir();
    let source = format!("{SPIN} int main(void) {{ for (;;) spin(); }}");
    let program = cc(dir.path(), "busy", &source, &["-x", "c"]);
    let target = Target::start(&program, &[]);
    sleep(Duration::from_millis(100));
    let report = target.profile(&["-d", "3s", "--clock", "cpu"]);
    assert!(
        (0.9..1.1).contains(&report.balance.ratio),
        "{:?}",
        report.balance
    );
    assert!(report.share_of("spin") > 0.98, "{:?}", report.rows);
    assert!(report.outcome("other processes") + report.outcome("idle") > 0);
}
