//! How a clock beats: one period, or several that were drawn at random.
//!
//! A program that runs in step with a timer runs in step with a clock of one period too, and is
//! then seen always at the same place, or never. hz(9) therefore drew every interval anew. Here a
//! period can only be set from outside, and to set it throws away what has passed of the one
//! before; so there are several clocks, of which two tick and the others rest, in turn. See
//! `docs/decisions/0009-jitter-by-resting-clocks.md`.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

use crate::options::Rate;

/// The periods of the clocks that tick together on one thread or CPU.
#[derive(Clone, Debug)]
pub(crate) struct Beat {
    /// In nanoseconds.
    periods_ns: Vec<u64>,
    /// Of whoever rests next, and how long.
    random: Random,
}

/// Parts of the rate, before they are varied: far enough apart that no two become the same, so that
/// a target that is in step with one of the clocks is not so with another.
const PARTS: [f64; 4] = [0.36, 0.27, 0.21, 0.16];

/// Parts of the rate of a pair, before they are varied: their cycles meet seldom.
const PAIR: [f64; 2] = [0.61, 0.39];

/// By what part of itself each is varied at most, either way.
const VARIED: f64 = 0.1;

/// How many of the jittered clocks tick at a time. The longer the others rest, the less is left of
/// the phase that they had.
const AWAKE: usize = 2;

/// How long it is until the next clock rests, on average: a few of the slowest timers' cycles. More often would be
/// work for nothing, and much less often leaves a target in step for a good part of a profile.
const REST: Duration = Duration::from_millis(100);

/// What is added to that for each thread or CPU, so that switching never takes much time.
const REST_PER_SUBJECT: Duration = Duration::from_millis(1);

impl Beat {
    /// One period: that of the rate.
    pub(crate) fn steady(rate: Rate) -> Self {
        Self {
            periods_ns: vec![rate.period_ns()],
            random: Random(0),
        }
    }

    /// Random periods. When the clocks rest equally long, they give the rate.
    pub(crate) fn jittered(rate: Rate) -> Self {
        // The standard library's maps are seeded by the system's random numbers.
        Self::drawn(rate, Random(RandomState::new().build_hasher().finish()))
    }

    /// Two random periods that give the rate and both tick all the time: for a clock that nobody can
    /// switch, because it outlives whoever made it.
    pub(crate) fn pair(rate: Rate) -> Self {
        let random = Random(RandomState::new().build_hasher().finish());
        Self::of_parts(rate, PAIR, random)
    }

    fn drawn(rate: Rate, random: Random) -> Self {
        Self::of_parts(rate, PARTS, random)
    }

    fn of_parts<const N: usize>(rate: Rate, parts: [f64; N], mut random: Random) -> Self {
        let parts = parts.map(|part| part * (1.0 + VARIED * (2.0 * random.part() - 1.0)));
        let sum: f64 = parts.iter().sum();
        // All of them together are as many times too fast as their rests make them too slow.
        let awake = AWAKE as f64 / N as f64;
        let period_ns = rate.period_ns() as f64;
        let periods_ns = parts.map(|part| (period_ns * awake * sum / part).round() as u64);
        Self {
            periods_ns: periods_ns.to_vec(),
            random,
        }
    }

    /// What a tick is worth, in nanoseconds, of clocks that tick all the time.
    pub(crate) fn mean_period_ns(periods_ns: &[u64]) -> f64 {
        let per_ns: f64 = periods_ns.iter().map(|&period| 1.0 / period as f64).sum();
        1.0 / per_ns
    }

    /// The periods, in nanoseconds.
    pub(crate) fn periods_ns(&self) -> &[u64] {
        &self.periods_ns
    }

    /// Whether there is more than one.
    pub(crate) fn is_jittered(&self) -> bool {
        self.periods_ns.len() > 1
    }

    /// How many clocks tick at a time.
    pub(crate) fn awake(&self) -> usize {
        self.periods_ns.len().min(AWAKE)
    }

    /// How long it is until the next clock rests, of a clock that follows that many threads or CPUs: by half
    /// shorter or longer than usual.
    pub(crate) fn rest(&mut self, subjects: usize) -> Duration {
        let subjects = u32::try_from(subjects).unwrap_or(u32::MAX);
        let usual = REST.saturating_add(REST_PER_SUBJECT.saturating_mul(subjects));
        usual.mul_f64(0.5 + self.random.part())
    }
}

/// splitmix64: a step of a counter, well mixed.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    /// A number from 0 up to, but not including, 1.
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        /// Bits that a 64-bit float holds exactly.
        const EXACT: u32 = 53;
        (mixed >> (64 - EXACT)) as f64 / (1_u64 << EXACT) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(hertz: &str, seed: u64) -> (Rate, Beat) {
        let rate = hertz.parse().unwrap();
        (rate, Beat::drawn(rate, Random(seed)))
    }

    #[test]
    fn clocks_that_rest_equally_give_the_rate() {
        for hertz in ["1", "100", "997", "1000", "20000", "100000"] {
            for seed in 0..1000 {
                let (rate, beat) = drawn(hertz, seed);
                let all: f64 = beat
                    .periods_ns()
                    .iter()
                    .map(|&period| 1e9 / period as f64)
                    .sum();
                let mean = all / 2.0;
                assert!(
                    (mean / rate.hertz() - 1.0).abs() < 1e-4,
                    "{hertz}: {mean} by {beat:?}"
                );
            }
        }
    }

    #[test]
    fn a_pair_gives_the_rate_without_rests() {
        for hertz in ["1", "97", "997"] {
            let rate: Rate = hertz.parse().unwrap();
            let beat = Beat::pair(rate);
            let [first, second] = beat.periods_ns()[..] else {
                panic!("{beat:?}")
            };
            let mean = 1e9 / Beat::mean_period_ns(beat.periods_ns());
            assert!((mean / rate.hertz() - 1.0).abs() < 1e-4, "{hertz}: {mean}");
            assert!(
                (1.2..2.1).contains(&(second as f64 / first as f64)),
                "{beat:?}"
            );
            assert_eq!(beat.awake(), 2);
        }
    }

    #[test]
    fn no_two_periods_are_near_each_other() {
        for seed in 0..1000 {
            let (_, beat) = drawn("997", seed);
            let periods = beat.periods_ns();
            for (at, &left) in periods.iter().enumerate() {
                for &right in &periods[at + 1..] {
                    let ratio = right as f64 / left as f64;
                    assert!((1.03..3.0).contains(&ratio), "{periods:?}");
                }
            }
        }
    }

    #[test]
    fn no_period_is_shorter_than_the_kernel_allows() {
        for seed in 0..1000 {
            let (rate, beat) = drawn("100000", seed);
            assert!(beat.periods_ns().iter().all(|&ns| ns >= rate.period_ns()));
        }
    }

    #[test]
    fn every_start_has_other_periods() {
        let periods = || Beat::jittered(Rate::DEFAULT).periods_ns().to_vec();
        assert_ne!(periods(), periods());
    }

    #[test]
    fn a_rest_varies_and_grows_with_what_has_to_be_switched() {
        let (_, mut beat) = drawn("997", 1);
        let rests: Vec<_> = (0..1000).map(|_| beat.rest(0)).collect();
        let (least, most) = (rests.iter().min().unwrap(), rests.iter().max().unwrap());
        assert!(*least >= REST / 2 && *least < REST * 6 / 10, "{least:?}");
        assert!(*most < REST * 3 / 2 && *most > REST * 14 / 10, "{most:?}");
        assert!(beat.rest(10_000) > Duration::from_secs(5));
    }

    #[test]
    fn a_steady_clock_has_the_period_of_its_rate() {
        let beat = Beat::steady(Rate::DEFAULT);
        assert_eq!(beat.periods_ns(), [Rate::DEFAULT.period_ns()]);
        assert_eq!(beat.awake(), 1);
        assert!(!beat.is_jittered());
    }
}
