//! Mappings that are many, change, or hold code at odd places.

use std::{
    ffi::OsStr,
    process::{Child, Command},
    thread::sleep,
    time::Duration,
};

use profil_tests::{Profiler, Workload, claim_machine, machine, report::Report, session::RATE};

/// A target that keeps no account; it is killed with the test.
struct Target(Child);

impl Target {
    fn start(workload: Workload, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let child = Command::new(workload.executable()).args(arguments).spawn();
        let target = Self(child.expect("the target starts"));
        // By then it is in its own main.
        sleep(Duration::from_millis(300));
        target
    }

    /// Starts a target that needs no arguments.
    fn plain(workload: Workload) -> Self {
        Self::start(workload, std::iter::empty::<&OsStr>())
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

#[test]
fn a_library_that_takes_the_place_of_another_has_its_own_name() {
    let _machine = claim_machine!();
    let workload = Workload::Replace;
    let mut target = Target::start(workload, workload.libraries());
    let report = target.profile(&[]);
    let status = target.0.wait().expect("the target ends");
    assert_eq!(status.code(), Some(0), "both libraries at the same place");

    // What the kernel says of the second mapping is read at once.
    let (one, two) = (report.ticks_of("one_work"), report.ticks_of("two_work"));
    let seconds = |ticks: u64| ticks as f64 / f64::from(RATE);
    let slack = machine::slack();
    assert!(
        seconds(one + two) > 2.9 * (1.0 - slack),
        "{one} + {two}: {:?}",
        report.rows
    );
    assert!(
        seconds(two) >= 1.9 * (1.0 - slack),
        "{two}: {:?}",
        report.rows
    );
    assert!(
        seconds(one) <= 1.02 * (1.0 + slack),
        "{one}: {:?}",
        report.rows
    );
    // It had a region of its own, and so has the one that came later.
    let strays = report.outcome("strays");
    assert!(seconds(strays) < 0.05 + slack, "{:?}", report.balance);
}

/// Elsewhere than on x86, instructions are at even addresses.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_function_at_an_odd_address_is_not_its_neighbour() {
    let _machine = claim_machine!();
    let target = Target::plain(Workload::Odd);
    let report = target.profile(&["-d", "1s"]);
    let ticks = report.ticks_of("inner");
    assert_eq!(ticks, report.ticks_in("odd"), "{:?}", report.rows);
    assert!(ticks > u64::from(RATE) / 2, "{ticks}");
}

/// The verifier must not walk every way through the table: loading took it half a minute and then
/// failed for some numbers of regions, and not for others.
#[test]
fn any_number_of_regions_can_be_loaded() {
    let _machine = claim_machine!();
    for count in ["1", "700", "900", "1100", "4000", "6000"] {
        let target = Target::start(Workload::Many, [count]);
        let report = target.profile(&["-d", "300ms"]);
        assert!(
            report.ticks_of("spin") > u64::from(RATE) / 10,
            "{count}: {:?}",
            report.balance
        );
    }
}

#[test]
fn a_clock_on_the_cpus_sees_the_same() {
    let _machine = claim_machine!();
    let target = Target::plain(Workload::Busy);
    let report = target.profile(&["-d", "3s", "--clock", "cpu"]);
    report.assert_most_ticks_seen();
    assert!(report.share_of("spin") > 0.98, "{:?}", report.rows);
    assert!(report.outcome("other processes") + report.outcome("idle") > 0);
}
