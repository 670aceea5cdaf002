//! One whole profile of one whole target: what most tests begin with.

use std::time::Duration;

use rustix::process::Signal;

use crate::{
    machine,
    process::Finished,
    profiler::{PATIENCE, Profiler},
    report::Report,
    split::Split,
    statistics::{assert_ratio, assert_share},
    workload::Target,
};

/// The default rate, in Hz.
pub const RATE: u32 = 997;

/// The usual time on the clock: some 2,800 ticks at the default rate, fewer in an emulator.
pub fn window() -> Duration {
    Duration::from_millis(if machine::is_emulated() { 1500 } else { 2800 })
}

/// A target's own account, and the profiler's.
pub struct Session {
    /// What the target measured.
    pub split: Split,
    /// What the profiler printed.
    pub report: Report,
    /// All that the profiler left behind.
    pub finished: Finished,
    rate: u32,
}

/// Attaches `profiler`, which must be told of `target` and `rate`, lets the target burn `time`,
/// and interrupts the profiler while the target sleeps.
///
/// # Panics
///
/// If either fails, or the report does not add up.
#[track_caller]
pub fn take(target: &mut Target, profiler: Profiler, rate: u32, time: Duration) -> Session {
    let process = profiler.attach();
    target.go_and_hold(time);
    let split = target.split();
    process.signal(Signal::INT);
    let finished = process.finish(PATIENCE);
    finished.assert_code(0).assert_no_panic();
    let report = Report::of(&finished.stdout);
    report.assert_conserved();
    Session {
        split,
        report,
        finished,
        rate,
    }
}

/// [`take`] at the default rate over the usual time.
///
/// # Panics
///
/// As [`take`].
#[track_caller]
pub fn take_usual(target: &mut Target) -> Session {
    let profiler = Profiler::on(target.pid(), RATE);
    take(target, profiler, RATE, window())
}

/// Measures, and measures again while ticks are missing: a host that stops the machine for a
/// moment takes them away, and says so to nobody. What a profiler loses by itself it loses every
/// time, and the last session is handed on for the caller to judge.
///
/// # Panics
///
/// As `measure`.
#[track_caller]
#[expect(
    clippy::print_stdout,
    reason = "a test's own output, shown if it fails"
)]
pub fn measured(mut measure: impl FnMut() -> Session) -> Session {
    const TRIES: usize = 3;

    let mut session = measure();
    for _ in 1..TRIES {
        if session.report.sees_all_ticks() {
            break;
        }
        println!(
            "measured again, because ticks are missing: {:?}",
            session.report.balance
        );
        session = measure();
    }
    session
}

impl Session {
    /// Checks every function's share against the target's own measurement.
    ///
    /// # Panics
    ///
    /// If one is off by more than chance allows.
    #[track_caller]
    pub fn assert_shares(&self) -> &Self {
        for name in self.split.functions.keys() {
            self.assert_share_of(name, self.report.ticks_of(name));
        }
        self
    }

    /// Checks that `ticks` are the share that the target measured for `function`.
    ///
    /// # Panics
    ///
    /// If they are off by more than chance allows.
    #[track_caller]
    pub fn assert_share_of(&self, function: &str, ticks: u64) -> &Self {
        let total = self.report.ticks();
        assert_share(function, ticks, total, self.split.share_of(function));
        self
    }

    /// Checks that `ticks` of `total` are the share that the target measured for `function`.
    ///
    /// # Panics
    ///
    /// If they are off by more than chance allows.
    #[track_caller]
    pub fn assert_share_of_all(&self, function: &str, ticks: u64, total: u64) -> &Self {
        assert_share(function, ticks, total, self.split.share_of(function));
        self
    }

    /// Checks that the hot functions were found in `object` and nowhere else.
    ///
    /// # Panics
    ///
    /// If they were not.
    #[track_caller]
    pub fn assert_hot_in(&self, object: &str) -> &Self {
        for name in self.split.functions.keys() {
            let rows: Vec<_> = self.report.rows_of(name).collect();
            assert!(
                matches!(rows[..], [row] if row.is_in(object)),
                "{name} should be one row, in {object}: {rows:#?}",
            );
        }
        self
    }

    /// Checks the ticks against the target's CPU time, as the clock counted it and as the target
    /// read it.
    ///
    /// # Panics
    ///
    /// If more than one in a hundred is missing or too many.
    #[track_caller]
    pub fn assert_all_ticks_seen(&self) -> &Self {
        self.report.assert_all_ticks_seen();
        let expected = self.split.total.as_secs_f64() * f64::from(self.rate);
        assert_ratio("ticks due", self.report.balance.due as f64, expected, 0.01);
        self
    }
}
