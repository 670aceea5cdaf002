//! How far a share can be off by chance alone.

/// The standard error of a share, as a fraction of 1: of `total` ticks, `part` were there.
///
/// Each tick is a draw: it is there or it is not, with the probability p that is the share of the time. So
/// `part` is binomial, with the variance `n p (1 - p)` (G. Casella and R. L. Berger, *Statistical
/// Inference*, 2nd ed., 2002, section 3.2), and the share `part / n` has the standard deviation
///
/// ```text
/// sqrt(p (1 - p) / n)
/// ```
///
/// with the share that was seen in place of p, which nobody knows. Of a few ticks that is a rough
/// guess: with none or all of them it is 0, which does not mean certain. Two thirds of shares are
/// within one standard error of the truth, nineteen in twenty within two.
///
/// Ticks are taken for independent of one another and of the program. A clock at a fixed interval is, as a
/// rule, better than that; one in step with the program is worse, and no formula tells.
pub fn share_error(part: u64, total: u64) -> f64 {
    if total == 0 {
        return 0.0;
    }
    let (part, n) = (part.min(total) as f64, total as f64);
    let p = part / n;
    (p * ((n - part) / n) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::share_error;

    #[track_caller]
    fn assert_near(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-12, "{one} is not {other}");
    }

    #[test]
    fn it_is_the_textbook_formula() {
        // sqrt(0.5 * 0.5 / 100), and sqrt(0.2 * 0.8 / 400).
        assert_near(share_error(50, 100), 0.05);
        assert_near(share_error(80, 400), 0.02);
        assert_near(share_error(320, 400), 0.02);
    }

    #[test]
    fn none_and_all_have_none() {
        for (part, total) in [(0, 0), (0, 10), (10, 10), (11, 10)] {
            assert_near(share_error(part, total), 0.0);
        }
        assert!(share_error(1, u64::MAX).is_finite());
    }

    /// Draws with a known probability are off by as much as it says.
    #[test]
    fn draws_are_off_by_that_much() {
        const TICKS: u64 = 1000;
        const ROUNDS: u32 = 2000;

        // A generator with a fixed seed (Knuth's MMIX); a tick is there with a probability of 0.3.
        let mut state = 1_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64) < 0.3 * (1_u64 << 53) as f64
        };
        let mut squares = 0.0;
        for _ in 0..ROUNDS {
            let part = (0..TICKS).filter(|_| draw()).count();
            squares += (part as f64 / TICKS as f64 - 0.3).powi(2);
        }
        let deviation = (squares / f64::from(ROUNDS)).sqrt();
        let said = share_error(300, TICKS);
        // A deviation of 2000 draws is within 5 % of its own, in far more than 99 of 100 cases.
        assert!((deviation / said - 1.0).abs() < 0.05, "{deviation} {said}");
    }
}
