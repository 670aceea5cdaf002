//! A part of a live profile, and how sure its shares are.

use std::time::Duration;

use profil_tests::{
    Profiler, Target, Workload, claim_machine,
    session::{self, RATE},
    statistics::assert_share,
};

#[test]
fn shares_of_what_is_wanted_stay_those_of_all() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    // One function is not wanted, and another has too little.
    let filters = ["--focus", "^spin_(beta|gamma)$", "--min", "20%"];
    let profiler = Profiler::on(target.pid(), RATE).args(filters);
    let profiler = profiler.arg("--errors");
    let session = session::take(&mut target, profiler, RATE, Duration::from_secs(1));
    let report = &session.report;
    let total = report.ticks() + report.filtered_out;
    assert!(total > 500, "{:?}", report.balance);
    let [row] = &report.rows[..] else {
        panic!("one row is wanted: {:?}", report.rows);
    };
    assert_eq!(row.function, "spin_beta");
    session.assert_share_of_all("spin_beta", row.ticks, total);
    let left = 1.0 - session.split.share_of("spin_beta");
    assert_share("what is left out", report.filtered_out, total, left);

    let share = row.ticks as f64 / total as f64;
    let error = 100.0 * (share * (1.0 - share) / total as f64).sqrt();
    assert!((row.self_percent - 100.0 * share).abs() < 0.006, "{row:?}");
    let printed = row.error.expect("--errors was given");
    assert!((printed - error).abs() < 0.006, "{row:?}: {error}");
    let line = format!(
        "\nfiltered out: {} ticks, {:.2} ± {printed:.2} %\n",
        report.filtered_out,
        100.0 * (1.0 - share),
    );
    let stdout = &session.finished.stdout;
    assert!(stdout.contains(&line), "{line}\n{stdout}");
}
