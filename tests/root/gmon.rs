//! `gmon.out`, read by an unmodified gprof.

use std::{fs, path::Path};

use profil_tests::{
    Profiler, Target, Workload, claim_machine, gmon, gprof,
    places::{self, names_in},
    recorded::Recorded,
    report::Report,
    require_programs,
    session::{self, RATE, window},
};

const HOT: [&str; 3] = ["spin_alpha", "spin_beta", "spin_gamma"];

/// gprof reads the same seconds and percentages in `file` that the report gives for `object`.
///
/// It has no symbol sizes: a tick in a PLT entry, which the report leaves without a name, is one
/// of the function before it to gprof. So a function may have as many ticks more as have no name.
#[track_caller]
fn gprof_agrees(report: &Report, object: &Path, file: &Path) {
    let name = object
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a plain name");
    let ticks_in_object = report.ticks_in(name) as f64;
    let unnamed: u64 = report
        .rows
        .iter()
        .filter(|row| row.is_in(name) && row.function.starts_with(&format!("{name}+0x")))
        .map(|row| row.ticks)
        .sum();
    let entries = gprof::flat_profile(object, file);
    for function in HOT {
        let entry = gprof::entry(&entries, function);
        let rows: Vec<_> = report.rows_of(function).collect();
        assert!(
            matches!(rows[..], [row] if row.is_in(name)),
            "{function} in {name}: {rows:#?}"
        );
        let seconds = rows[0].user_seconds + rows[0].system_seconds;
        let percent = 100.0 * rows[0].ticks as f64 / ticks_in_object;
        // Both round: gprof to two digits, the report to three.
        let rounding = 0.0125;
        let more_seconds = unnamed as f64 / f64::from(RATE);
        let more_percent = 100.0 * unnamed as f64 / ticks_in_object;
        assert!(
            (-rounding..=rounding + more_seconds).contains(&(entry.self_seconds - seconds))
                && (-rounding..=rounding + more_percent).contains(&(entry.percent - percent)),
            "gprof says {entry:?}, the report {seconds} s and {percent:.2} %",
        );
    }
}

/// Every tick of the object is in the file, at an address where an instruction can be.
#[track_caller]
fn histograms_agree(report: &Report, object: &Path, file: &Path) {
    let bytes = fs::read(file).expect("a profile");
    let histograms = gmon::histograms(&bytes).expect("histograms only");
    let hits = || histograms.iter().flat_map(gmon::Histogram::hits);
    let ticks: u64 = hits().map(|(_, count)| u64::from(count)).sum();
    let name = object.file_name().and_then(|name| name.to_str());
    assert_eq!(ticks, report.ticks_in(name.expect("a plain name")));
    if cfg!(target_arch = "aarch64") {
        // Instructions of four bytes in bins of two: every other one stays empty.
        let odd: Vec<_> = hits().filter(|(address, _)| address % 4 != 0).collect();
        assert!(odd.is_empty(), "{odd:x?}");
    }
}

#[track_caller]
fn executable_is_read_by_gprof(workload: Workload) {
    let dir = places::public_dir();
    let file = dir.path().join("gmon.out");
    let mut target = Target::start(workload);
    let profiler = Profiler::on(target.pid(), RATE).output(&file);
    let session = session::take(&mut target, profiler, RATE, window());
    session.assert_shares();
    gprof_agrees(&session.report, target.executable(), &file);
    histograms_agree(&session.report, target.executable(), &file);
    assert_eq!(names_in(dir.path()), ["gmon.out"], "and nothing else");
}

#[test]
fn non_pie() {
    let _machine = claim_machine!();
    require_programs!("gprof");
    executable_is_read_by_gprof(Workload::NonPie);
}

#[test]
fn pie() {
    let _machine = claim_machine!();
    require_programs!("gprof");
    executable_is_read_by_gprof(Workload::Pie);
}

#[test]
fn far_from_the_file_offset() {
    let _machine = claim_machine!();
    require_programs!("gprof");
    executable_is_read_by_gprof(Workload::FarPie);
}

/// What `report` says of the file is what was said when it was written.
#[track_caller]
fn own_report_agrees(report: &Report, object: &Path, file: &Path) {
    let again = Profiler::new()
        .arg("report")
        .arg(file)
        .arg("--exe")
        .arg(object);
    let again = again.run();
    again.assert_code(0);
    let again = Recorded::of(&again.stdout);
    let name = object.file_name().and_then(|name| name.to_str());
    let name = name.expect("a plain name");
    assert_eq!(again.ticks(), report.ticks_in(name), "{again:#?}");
    for row in report.rows.iter().filter(|row| row.is_in(name)) {
        assert_eq!(again.row(&row.function).ticks, row.ticks, "{again:#?}");
    }
}

#[test]
fn the_file_says_what_the_report_said() {
    let _machine = claim_machine!();
    for workload in [Workload::NonPie, Workload::SegmentsPie] {
        let dir = places::public_dir();
        let file = dir.path().join("gmon.out");
        let mut target = Target::start(workload);
        let profiler = Profiler::on(target.pid(), RATE).output(&file);
        let session = session::take(&mut target, profiler, RATE, window());
        own_report_agrees(&session.report, target.executable(), &file);
    }
}

/// gprof itself finds no symbol in such a program.
#[test]
fn a_symbol_table_for_a_stripped_program() {
    let _machine = claim_machine!();
    require_programs!("gprof");
    let dir = places::public_dir();
    let (file, symbols) = (dir.path().join("gmon.out"), dir.path().join("names.syms"));
    let mut target = Target::start(Workload::DynamicSymbolsOnly);
    let profiler = Profiler::on(target.pid(), RATE)
        .output(&file)
        .output(&symbols);
    let session = session::take(&mut target, profiler, RATE, window());
    session.assert_shares();
    let entries = gprof::flat_profile_with_symbols(&symbols, target.executable(), &file);
    for function in HOT {
        let seconds = gprof::entry(&entries, function).self_seconds;
        let ticks = session.report.ticks_of(function) as f64;
        let due = ticks / f64::from(RATE);
        assert!(
            (seconds - due).abs() <= 0.0125,
            "{function}: {seconds} s of {due} s"
        );
    }
}

#[test]
fn the_format_of_bsd() {
    let _machine = claim_machine!();
    require_programs!("gprof");
    let dir = places::public_dir();
    let file = dir.path().join("gmon.out");
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE)
        .output(&file)
        .args(["--format", "gmon-bsd"]);
    let session = session::take(&mut target, profiler, RATE, window());
    gprof_agrees(&session.report, target.executable(), &file);
    own_report_agrees(&session.report, target.executable(), &file);
}

#[test]
fn a_directory_gets_a_file_an_object() {
    let _machine = claim_machine!();
    require_programs!("gprof");
    let dir = places::public_dir();
    let workload = Workload::SharedLibrary;
    let mut target = Target::start(workload);
    let output = format!("{}/profiles/", dir.path().display());
    let profiler = Profiler::on(target.pid(), RATE).output(&output);
    let session = session::take(&mut target, profiler, RATE, window());
    session.assert_shares();

    let output = Path::new(&output);
    let names = names_in(output);
    assert!(
        names.iter().all(|name| name.ends_with(".gmon")),
        "{names:?}"
    );
    let file = output.join("libhot.so.gmon");
    assert!(file.is_file(), "{names:?}");
    gprof_agrees(&session.report, &workload.libraries()[0], &file);
}
