//! CPUs that go offline and come back.

use std::{
    fs,
    process::{Child, Command},
    thread::sleep,
    time::Duration,
};

use profil_tests::{
    Profiler, Workload, claim_machine, profiler::PATIENCE, report::Report, session::RATE, skip,
};
use rustix::process::Signal;

const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";

/// A CPU that is offline for as long as this lives.
pub(crate) struct Offline;

impl Offline {
    pub(crate) fn new() -> Self {
        fs::write(SWITCH, "0").expect("root may");
        Self
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = fs::write(SWITCH, "1");
    }
}

/// Whether there is a CPU that can be switched off.
pub(crate) fn can_be_switched() -> bool {
    fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() == "1")
}

struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_cpu_that_comes_back_is_followed() {
    let _machine = claim_machine!();
    if can_be_switched() {
        let start = |_| {
            Busy(
                Command::new(Workload::Busy.executable())
                    .spawn()
                    .expect("it starts"),
            )
        };
        let cpus = std::thread::available_parallelism()
            .expect("it is known")
            .get();
        let _busy: Vec<_> = (0..cpus).map(start).collect();
        let profiler = Profiler::new()
            .args(["--all", "-F", &RATE.to_string()])
            .attach();
        sleep(Duration::from_secs(1));
        let offline = Offline::new();
        // Longer than it may take to notice.
        sleep(Duration::from_millis(700));
        drop(offline);
        sleep(Duration::from_secs(3));
        profiler.signal(Signal::INT);
        let finished = profiler.finish(PATIENCE);
        finished.assert_code(0).assert_no_panic();
        let report = Report::of(&finished.stdout);
        report.assert_conserved();
        // If it were not, a CPU's ticks of three seconds would be missing.
        let seen = report.balance.seen as f64 / report.balance.due as f64;
        let missing = 3.0 / (4.7 * cpus as f64 - 0.7);
        assert!(seen > 1.0 - missing / 2.0, "{seen}: {:?}", report.balance);
        return;
    }
    skip!("needs a second CPU that can be switched off");
}
