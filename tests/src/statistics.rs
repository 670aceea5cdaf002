//! How far a count may be from what is expected before chance is no excuse.

use crate::machine;

/// The chance that a right profiler fails one assertion.
pub const FALSE_ALARM: f64 = 1e-6;

/// How many standard deviations that is, on either side.
const SIGMAS: f64 = 4.892;

/// Checks that `hits` of `trials` ticks agree with a true share, by the exact binomial
/// distribution: the chance to be at least that far off on that side is not below half of
/// [`FALSE_ALARM`]. Beside chance, they may be off by the [`machine::share_slack`].
///
/// # Panics
///
/// If they do not agree.
#[track_caller]
pub fn assert_share(what: &str, hits: u64, trials: u64, share: f64) {
    assert!(
        (0.0..=1.0).contains(&share),
        "{what}: {share} is not a share"
    );
    let off = (hits as f64 / trials as f64 - share).abs();
    assert!(
        agrees(hits, trials, share) || off <= machine::share_slack(),
        "{what}: {hits} of {trials} ticks are {:.4}, its true share is {share:.4} ({:+.1} standard deviations)",
        hits as f64 / trials as f64,
        (hits as f64 - trials as f64 * share) / (trials as f64 * share * (1.0 - share)).sqrt(),
    );
}

/// Checks that two shares agree, each estimated by counting: from `trials` and from
/// `other_trials` independent looks. `tolerance` is what they may differ beside chance.
///
/// # Panics
///
/// If they do not agree.
#[track_caller]
pub fn assert_two_estimates(
    what: &str,
    (share, trials): (f64, f64),
    (other, other_trials): (f64, f64),
    tolerance: f64,
) {
    let pooled = (share * trials + other * other_trials) / (trials + other_trials);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / trials + 1.0 / other_trials)).sqrt();
    let bound = SIGMAS * deviation + tolerance + machine::share_slack();
    assert!(
        (share - other).abs() <= bound,
        "{what}: {share:.4} and {other:.4} differ by more than {bound:.4}",
    );
}

/// Checks that `actual` is `expected` within a part of it and the [`machine::slack`].
///
/// # Panics
///
/// If it is not.
#[track_caller]
pub fn assert_ratio(what: &str, actual: f64, expected: f64, tolerance: f64) {
    let ratio = actual / expected;
    assert!(
        (ratio - 1.0).abs() <= tolerance + machine::slack(),
        "{what}: {actual} is {ratio:.4} times {expected}, not within {tolerance}",
    );
}

/// Whether `hits` of `trials` is likely enough for `share`.
fn agrees(hits: u64, trials: u64, share: f64) -> bool {
    if hits > trials || trials == 0 {
        return false;
    }
    let tail = if (hits as f64) < share * trials as f64 {
        lower_tail(hits, trials, share)
    } else {
        // As many misses or fewer.
        lower_tail(trials - hits, trials, 1.0 - share)
    };
    tail >= FALSE_ALARM / 2.0
}

/// The chance of at most `hits` in `trials`, where `hits` is at most the mean: the terms then
/// fall from the last one down, and are summed in that order until they no longer matter.
fn lower_tail(hits: u64, trials: u64, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return if hits == trials { 1.0 } else { 0.0 };
    }
    let (k, n) = (hits as f64, trials as f64);
    let ways = log_factorial(trials) - log_factorial(hits) - log_factorial(trials - hits);
    let mut term = (ways + k * share.ln() + (n - k) * (1.0 - share).ln()).exp();
    let mut sum = term;
    for at in (1..=hits).rev() {
        // From the chance of `at` to that of one less.
        term *= at as f64 / (trials - at + 1) as f64 * (1.0 - share) / share;
        sum += term;
        if term < sum * 1e-12 {
            break;
        }
    }
    sum
}

/// The natural logarithm of n!, summed up to 255 and by Stirling's series beyond.
fn log_factorial(n: u64) -> f64 {
    if n < 256 {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let x = n as f64;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3));
    x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs()
    }

    #[test]
    fn tails_are_those_of_the_binomial_distribution() {
        assert!(close(lower_tail(0, 10, 0.5), 1.0 / 1024.0));
        assert!(close(lower_tail(2, 10, 0.5), 56.0 / 1024.0));
        assert!(close(
            lower_tail(1, 5, 0.25),
            0.75_f64.powi(5) + 5.0 * 0.25 * 0.75_f64.powi(4)
        ));
        assert_eq!(lower_tail(0, 10, 0.0), 1.0);
        assert_eq!(lower_tail(9, 10, 1.0), 0.0);
    }

    #[test]
    fn the_two_ways_to_a_factorial_meet() {
        let summed: f64 = (2..=256_u32).map(|factor| f64::from(factor).ln()).sum();
        assert!(close(log_factorial(256), summed));
    }

    #[test]
    fn the_exact_bound_is_near_the_normal_one() {
        // 5,000 ticks at 0.6: one standard deviation is 34.6 ticks.
        let furthest = (3000..5000)
            .find(|&hits| !agrees(hits, 5000, 0.6))
            .expect("a bound");
        let sigmas = (furthest - 3000) as f64 / (5000.0_f64 * 0.6 * 0.4).sqrt();
        assert!((4.7..5.0).contains(&sigmas), "{sigmas}");
        let furthest = (0..3000)
            .rev()
            .find(|&hits| !agrees(hits, 5000, 0.6))
            .expect("a bound");
        let sigmas = (3000 - furthest) as f64 / (5000.0_f64 * 0.6 * 0.4).sqrt();
        assert!((4.7..5.1).contains(&sigmas), "{sigmas}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(!agrees(1, 100, 0.0));
        assert!(!agrees(99, 100, 1.0));
        assert!(!agrees(11, 10, 0.5));
        assert!(!agrees(0, 0, 0.5));
        assert!(agrees(0, 100, 0.0));
        assert!(agrees(100, 100, 1.0));
    }

    #[test]
    fn a_share_that_is_off_is_noticed() {
        assert_share("right", 3010, 5000, 0.6);
        assert!(std::panic::catch_unwind(|| assert_share("off", 3200, 5000, 0.6)).is_err());
    }

    #[test]
    fn two_estimates_may_differ_by_what_both_do_not_know() {
        assert_two_estimates("noise", (0.40, 5000.0), (0.45, 1250.0), 0.0);
        let tight = || assert_two_estimates("off", (0.40, 50_000.0), (0.45, 12_500.0), 0.0);
        assert!(std::panic::catch_unwind(tight).is_err());
        assert_two_estimates("tolerated", (0.40, 50_000.0), (0.45, 12_500.0), 0.04);
    }

    #[test]
    fn a_ratio_that_is_off_is_noticed() {
        assert_ratio("right", 99.5, 100.0, 0.01);
        assert!(std::panic::catch_unwind(|| assert_ratio("off", 98.0, 100.0, 0.01)).is_err());
    }
}
