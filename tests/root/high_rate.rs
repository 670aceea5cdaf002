//! Twenty thousand ticks a second on one instruction: more than a classic counter could hold.

use std::time::Duration;

use profil_tests::{
    Profiler, Target, Workload, claim_machine, gprof, places, require_programs, session,
    statistics::assert_ratio,
};

const RATE: u32 = 20_000;

/// What a 16-bit counter holds.
const CLASSIC_LIMIT: u64 = 65_535;

/// As long as it takes to count more than that.
const TIME: Duration = Duration::from_millis(3500);

#[test]
fn one_bin_holds_more_than_16_bits() {
    let machine = claim_machine!();
    require_programs!("gprof");
    let _raised = machine.raise("kernel.perf_event_max_sample_rate", i64::from(RATE));
    let dir = places::public_dir();
    let gmon = dir.path().join("gmon.out");

    let session = session::measured(|| {
        let mut target = Target::start(Workload::One);
        let profiler = Profiler::on(target.pid(), RATE).output(&gmon);
        session::take(&mut target, profiler, RATE, TIME)
    });

    session.assert_all_ticks_seen().assert_hot_in("one");
    let rows: Vec<_> = session.report.rows_of("spin_one").collect();
    assert!(
        rows[0].ticks > CLASSIC_LIMIT,
        "{} ticks are no test",
        rows[0].ticks
    );
    let seconds = rows[0].user_seconds + rows[0].system_seconds;
    let measured = session.split.functions["spin_one"].as_secs_f64();
    assert_ratio("seconds in spin_one", seconds, measured, 0.01);

    let entries = gprof::flat_profile(&Workload::One.executable(), &gmon);
    let by_gprof = gprof::entry(&entries, "spin_one").self_seconds;
    assert!(
        (by_gprof - seconds).abs() <= 0.011,
        "gprof says {by_gprof} s, the report {seconds} s"
    );
}
