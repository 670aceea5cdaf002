//! The kernel's own time, by its own functions.

use std::{fs, time::Duration};

use profil_tests::{
    Profiler, Target, Workload, claim_machine, machine,
    report::Report,
    session::{self, RATE, Session},
    statistics::assert_two_estimates,
};

/// A target that lives in system calls, half of the time.
fn take(arguments: &[&str]) -> Session {
    let mut target = Target::start(Workload::System);
    let profiler = Profiler::on(target.pid(), RATE).args(arguments);
    session::take(&mut target, profiler, RATE, Duration::from_secs(2))
}

/// What is in the kernel, of all rows.
fn in_kernel(report: &Report) -> f64 {
    report.ticks_in("[kernel]") as f64 / report.ticks() as f64
}

#[test]
fn system_time_is_in_functions_of_the_kernel() {
    let _machine = claim_machine!();
    let session = take(&["--mode", "kernel"]);
    let report = &session.report;
    assert_eq!(report.ticks_in("[kernel]"), report.ticks(), "{report:#?}");
    // A region of its own, as readprofile(8) had it: only what is in modules is a stray.
    let binned = report.outcome("binned") as f64 / report.ticks() as f64;
    assert!(binned > 0.9, "{:?}", report.balance);
    // The target reads zeros, and asks for its parent.
    let named = |part: &str| -> u64 {
        let rows = report.rows.iter().filter(|row| row.function.contains(part));
        rows.map(|row| row.ticks).sum()
    };
    assert!(named("read") + named("clear") > 0, "{:#?}", report.rows);
    let unnamed: u64 = report
        .rows
        .iter()
        .filter(|row| row.function.starts_with("0x"))
        .map(|row| row.ticks)
        .sum();
    assert!(unnamed * 50 < report.ticks(), "{:#?}", report.rows);
    let others = report.outcome("other mode") as f64;
    let system = report.ticks() as f64 / (report.ticks() as f64 + others);
    let kernel_ticks = session.split.total.as_secs_f64() / machine::kernel_tick().as_secs_f64();
    assert_two_estimates(
        "system time, here and by getrusage",
        (system, report.balance.seen as f64),
        (session.split.system_share(), kernel_ticks),
        0.01,
    );
}

#[test]
fn a_kernel_thread_can_be_looked_at() {
    let _machine = claim_machine!();
    // kthreadd, which starts the others.
    let profiler = Profiler::on(2, RATE).args(["--mode", "kernel", "-d", "200ms"]);
    let finished = profiler.run();
    finished.assert_code(0).assert_no_panic();
    Report::of(&finished.stdout).assert_conserved();
}

#[test]
fn user_time_is_where_it_was_and_system_time_is_in_the_kernel() {
    let _machine = claim_machine!();
    let session = take(&["--mode", "split"]);
    let report = &session.report;
    let kernel_ticks = session.split.total.as_secs_f64() / machine::kernel_tick().as_secs_f64();
    assert_two_estimates(
        "system time",
        (in_kernel(report), report.ticks() as f64),
        (session.split.system_share(), kernel_ticks),
        0.02,
    );
    assert!(report.ticks_of("spin_alpha") > 0, "{:#?}", report.rows);
    let system: f64 = report
        .rows
        .iter()
        .filter(|row| !row.is_in("[kernel]"))
        .map(|row| row.system_seconds)
        .sum();
    assert_eq!(system, 0.0, "{:#?}", report.rows);
}

#[test]
fn a_kernel_that_hides_its_addresses_is_profiled_without_names() {
    let machine = claim_machine!();
    let _hidden = machine.set("kernel/kptr_restrict", 2);
    let kallsyms = fs::read_to_string("/proc/kallsyms").expect("it is there");
    assert!(kallsyms.starts_with("0000000000000000"), "it is hidden");
    let session = take(&["--mode", "split"]);
    let said = &session.finished.stdout;
    assert_eq!(said.matches("kptr_restrict").count(), 1, "{said}");
    assert!(in_kernel(&session.report) > 0.1, "{said}");
    assert!(said.contains("kernel symbols hidden"), "{said}");
    assert!(session.report.ticks_of("spin_alpha") > 0, "{said}");
}
