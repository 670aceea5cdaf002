//! A target in step with a timer of 10 ms, and clocks with and without jitter.

use std::{panic, time::Duration};

use profil_tests::{
    Profiler, Target, Workload, claim_machine, machine,
    session::{self, RATE, Session},
    statistics::assert_share,
};

/// Ticks a second that make a beat with the target's timer, or nearly.
const SAME: u32 = 100;
const MULTIPLE: u32 = 1000;

/// CPU time: at 100 Hz some 200 ticks. The target takes three times as long for it.
fn window() -> Duration {
    Duration::from_secs(if machine::is_emulated() { 1 } else { 2 })
}

fn take(scope: &str, rate: u32, jitter: bool) -> Session {
    let mut target = Target::start(Workload::Lockstep);
    let mut profiler = Profiler::on(target.pid(), rate).args(["--clock", scope]);
    if jitter {
        profiler = profiler.arg("--jitter");
    }
    session::take(&mut target, profiler, rate, window())
}

/// The ticks of the two functions, and the true share of the first.
fn split(session: &Session) -> (u64, u64, f64) {
    let ticks = |name| session.report.ticks_of(name);
    let ns = |name| session.split.functions[name].as_secs_f64();
    let (a, b) = (ns("spin_alpha"), ns("spin_beta"));
    (ticks("spin_alpha"), ticks("spin_beta"), a / (a + b))
}

/// A clock that goes with the target must see every tick that is due. One that follows CPUs meets
/// the target by chance, and sees as many as independent looks would.
#[track_caller]
fn assert_seen(session: &Session, by_chance: bool) {
    let balance = &session.report.balance;
    if by_chance {
        let (seen, due) = (balance.seen as f64, balance.due as f64);
        let off = (seen - due).abs();
        assert!(
            off <= 5.0 * due.sqrt() + machine::slack() * due,
            "{balance:?}"
        );
    } else {
        session.report.assert_most_ticks_seen();
    }
}

/// Whether a run comes out right, within what chance does to independent ticks.
fn is_right(session: &Session, by_chance: bool) -> bool {
    let (a, b, share) = split(session);
    let judge = || {
        assert_share("spin_alpha", a, a + b, share);
        assert_seen(session, by_chance);
    };
    panic::catch_unwind(panic::AssertUnwindSafe(judge)).is_ok()
}

/// Ticks of few clocks are not independent: a run in some hundred is further off than chance allows
/// them, because a period was drawn near a multiple of the target's cycle. The next run draws
/// others; a clock that is in step stays so.
#[track_caller]
fn comes_out_right(scope: &str) {
    const TRIES: usize = 3;

    for rate in [SAME, MULTIPLE, RATE] {
        let right = (0..TRIES).any(|_| {
            let session = take(scope, rate, true);
            let (_, _, share) = split(&session);
            assert!((0.6..0.73).contains(&share), "{:?}", session.split);
            let said = &session.finished.stdout;
            assert!(said.contains("the clock was jittered"), "{said}");
            is_right(&session, scope == "cpu")
        });
        assert!(
            right,
            "wrong in {TRIES} runs at {rate} Hz, {scope}: see above"
        );
    }
}

#[test]
fn with_jitter_it_comes_out_right() {
    let _machine = claim_machine!();
    comes_out_right("task");
}

#[test]
fn with_jitter_it_comes_out_right_on_the_cpus() {
    let _machine = claim_machine!();
    comes_out_right("cpu");
}

/// The reason for all this: a clock of the target's own beat sees it always, or never. At which
/// moment of the beat it started is chance; only near the edges of what the target does it is in
/// between.
#[test]
fn a_clock_in_step_is_said_to_be() {
    const TRIES: usize = 5;

    let _machine = claim_machine!();
    let in_step = (0..TRIES).any(|_| {
        let session = take("cpu", SAME, false);
        let is_off = !(0.5..2.0).contains(&session.report.balance.ratio);
        let said = &session.finished.stdout;
        // Off by that much is never left unsaid.
        assert!(
            !is_off || said.contains("in step") && said.contains("--jitter"),
            "{said}"
        );
        is_off
    });
    assert!(in_step, "no clock of {TRIES} was in step with the target");
}
