//! Symbols as compilers and linkers make them, and files as they come and go under a program.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use profil_tests::{
    Profiler, Report, Target, Workload, claim_machine, places,
    session::{self, RATE, Session},
    skip,
    statistics::assert_share,
};

/// Some thousand ticks: a name that is wrong is wrong by more than a few.
const TIME: Duration = Duration::from_secs(1);

#[track_caller]
fn profile(target: &mut Target) -> Session {
    let profiler = Profiler::on(target.pid(), RATE);
    session::take(target, profiler, RATE, TIME)
}

/// Ticks of rows in an object that end with a text.
fn ticks_ending(report: &Report, object: &str, end: &str) -> u64 {
    let rows = report.rows.iter();
    let rows = rows.filter(|row| row.is_in(object) && row.function.ends_with(end));
    rows.map(|row| row.ticks).sum()
}

#[test]
fn two_names_none_no_size_and_a_choice() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::Edges));
    let report = &session.report;
    // One of two names, and always the same.
    let names = ["edge_two", "edge_names"].map(|name| report.ticks_of(name));
    assert!(names.contains(&0), "{names:?}");
    session.assert_share_of("edge_names", names[0] + names[1]);
    // What has no name is not given to what stands before it.
    let nameless = ticks_ending(report, "edges", "(no symbol here)");
    session.assert_share_of("nameless", nameless);
    session.assert_share_of("edge_sizeless", report.ticks_of("edge_sizeless"));
    // The symbol is where the choice is made; time is spent in what was chosen.
    session.assert_share_of("edge_chosen", report.ticks_of("edge_chosen_here"));
}

/// What is left are exported functions, and holes between them. Nobody knows how far one without a
/// size goes.
#[test]
fn holes_of_a_stripped_program() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::EdgesStripped));
    let report = &session.report;
    let names = ["edge_two", "edge_names"].map(|name| report.ticks_of(name));
    session.assert_share_of("edge_names", names[0] + names[1]);
    let holes = ticks_ending(report, "edges-stripped", "(stripped)");
    let share =
        ["nameless", "edge_sizeless", "edge_chosen"].map(|name| session.split.share_of(name));
    assert_share("holes", holes, report.ticks(), share.iter().sum());
}

#[test]
fn the_kernels_code_for_user_mode() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::Vdso));
    let report = &session.report;
    let inside = report.ticks_in("[vdso]");
    let named = ticks_ending(report, "[vdso]", "clock_gettime");
    assert!(named > 0, "{:#?}", report.rows);
    // It has exported symbols only.
    let rest = ticks_ending(report, "[vdso]", "(stripped)");
    assert_eq!(named + rest, inside, "{:#?}", report.rows);
    let library = ticks_ending(report, "libc.so.6", "clock_gettime");
    let linkage = ticks_ending(report, "vdso", "(PLT)");
    let all = report.ticks_of("ask_clock") + linkage + library + inside;
    session
        .assert_share_of("ask_clock", all)
        .assert_share_of("spin_alpha", report.ticks_of("spin_alpha"));
}

#[test]
fn calls_by_the_linkage_table() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::Plt));
    let report = &session.report;
    let linkage = ticks_ending(report, "plt", "(PLT)");
    let callee = report.ticks_of("step");
    assert!(linkage > 0 && callee > 0, "{:#?}", report.rows);
    let unnamed = ticks_ending(report, "plt", ")");
    assert_eq!(unnamed, linkage, "{:#?}", report.rows);
    session
        .assert_share_of(
            "call_often",
            report.ticks_of("call_often") + linkage + callee,
        )
        .assert_share_of("spin_alpha", report.ticks_of("spin_alpha"));
}

#[test]
fn names_of_other_languages() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::Mangled));
    for (function, name) in [
        (
            "cpp",
            "unsigned long area::shape::turns<unsigned long>(unsigned long)",
        ),
        ("legacy", "area::shape::turn"),
        ("v0", "area::shape::turn::<u32>"),
        ("go", "main.(*Shape[go.shape.int]).Turn"),
    ] {
        session.assert_share_of(function, session.report.ticks_of(name));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn functions_that_rust_made() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::RustV0));
    for (function, name) in [
        ("spin_alpha", "hot::deep::alpha::<u32>"),
        ("spin_beta", "<hot::deep::Mill>::beta"),
        ("spin_gamma", "hot::deep::alpha::<u8>"),
    ] {
        session.assert_share_of(function, session.report.ticks_of(name));
    }
    let session = profile(&mut Target::start(Workload::RustLegacy));
    let beta = session.report.ticks_of("hot::deep::Mill::beta");
    session.assert_share_of("spin_beta", beta);
    // The older scheme does not say for what a function is; there are two of that name.
    assert_eq!(session.report.rows_of("hot::deep::alpha").count(), 2);
    let share = session.split.share_of("spin_alpha") + session.split.share_of("spin_gamma");
    let alpha = session.report.ticks_of("hot::deep::alpha");
    assert_share("hot::deep::alpha", alpha, session.report.ticks(), share);
}

#[test]
fn text_that_was_moved_to_anonymous_memory() {
    let _machine = claim_machine!();
    let session = profile(&mut Target::start(Workload::Remap));
    // It may be anything: that it was the text there once, nobody can know.
    let moved = ticks_ending(&session.report, "[anonymous]", "(generated code)");
    session
        .assert_share_of("moved", moved)
        .assert_share_of("spin_alpha", session.report.ticks_of("spin_alpha"));

    // Until that is noticed its ticks are those of the text that was there: its own name, then.
    let session = profile(&mut Target::start_with(Workload::Remap, &["--late"]));
    let unnoticed = session.report.ticks_of("moved");
    let moved = ticks_ending(&session.report, "[anonymous]", "(generated code)");
    session
        .assert_share_of("moved", unnoticed + moved)
        .assert_share_of("spin_alpha", session.report.ticks_of("spin_alpha"));
}

/// Copies a program to where it can be replaced, and starts it from there.
fn start_copy(workload: Workload, copy: &Path) -> Target {
    fs::copy(workload.executable(), copy).expect("a copy");
    Target::start_command(Command::new(copy), copy.to_owned())
}

#[test]
fn a_program_that_was_replaced_while_it_runs() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let copy = dir.path().join("program");
    let mut target = start_copy(Workload::Pie, &copy);
    // Its functions lie elsewhere.
    let other = dir.path().join("other");
    fs::copy(Workload::FarPie.executable(), &other).expect("a copy");
    fs::rename(&other, &copy).expect("another program in its place");
    profile(&mut target).assert_shares();
}

#[test]
fn a_program_that_was_deleted() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let mut target = start_copy(Workload::Pie, &dir.path().join("program"));
    drop(dir);
    profile(&mut target).assert_shares();
}

/// A target that keeps no account, killed with the test.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_of_32_bits() {
    let _machine = claim_machine!();
    let mut command = Command::new(Workload::Narrow.executable());
    let target = match command.stdin(Stdio::null()).spawn() {
        Ok(child) => Busy(child),
        Err(error) => skip!("this kernel runs no 32-bit programs: {error}"),
    };
    sleep(Duration::from_millis(100));
    let finished = Profiler::on(target.0.id(), RATE).args(["-d", "1s"]).run();
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved();
    let total = report.ticks();
    let three = report.ticks_of("three_parts");
    assert!(total > u64::from(RATE) / 2, "{total}");
    let named = three + report.ticks_of("one_part");
    assert!(named > total * 98 / 100, "{:#?}", report.rows);
    // As many instructions, but for the calls.
    assert_share("three_parts", three, total, 0.75);
}
