//! Validated settings of a session: types that cannot hold a bad value.

mod region;
mod target;

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use profil_common::{Dialect, Wanted};

pub use region::{RegionAsked, RegionError, Scale, Start, number};
pub use target::{Selector, Split, Target};

/// Nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

/// How often the clock ticks, in a target's own CPU time.
///
/// The kernel keeps a period in whole nanoseconds, so the rate that is really used is
/// [`Rate::hertz`], not always the number that was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rate {
    asked: u32,
    period_ns: u64,
}

impl Rate {
    /// The rate while a profile is taken (`profhz`), unless another is asked for. A prime, so
    /// that it does not beat with timers of round numbers.
    pub const DEFAULT: Self = Self::from_hertz(997);

    /// The low rate of a profiler that is always on (`stathz`). A prime too.
    pub const LOW: Self = Self::from_hertz(97);

    /// The highest rate, in hertz: cpu-clock raises shorter periods to 10 µs without saying so
    /// (`kernel/events/core.c`, `perf_swevent_start_hrtimer`).
    pub const MAX_HERTZ: u32 = 100_000;

    const fn from_hertz(asked: u32) -> Self {
        let hertz = asked as u64;
        // Rounded to the nearest nanosecond.
        let period_ns = (NANOS + hertz / 2) / hertz;
        Self { asked, period_ns }
    }

    /// The default rate, or `hertz` where that is less. At least 1 Hz.
    pub(crate) const fn at_most(hertz: u32) -> Self {
        if hertz >= Self::DEFAULT.asked {
            Self::DEFAULT
        } else if hertz == 0 {
            Self::from_hertz(1)
        } else {
            Self::from_hertz(hertz)
        }
    }

    /// The rate that was asked for, in hertz: what reports say. After a profile with jitter, the
    /// nearest whole number to what it really was.
    pub const fn asked(self) -> u32 {
        self.asked
    }

    /// The time between two ticks, in nanoseconds of CPU time.
    pub const fn period_ns(self) -> u64 {
        self.period_ns
    }

    /// The rate that the period gives, in hertz.
    pub fn hertz(self) -> f64 {
        NANOS as f64 / self.period_ns as f64
    }

    /// The same clock as it really was: ticks of another period, on average.
    pub(crate) fn with_period(self, period_ns: f64) -> Self {
        let rounded = period_ns.round() as u64;
        if rounded == self.period_ns {
            return self;
        }
        Self {
            asked: (NANOS as f64 / period_ns).round() as u32,
            period_ns: rounded.max(1),
        }
    }

    /// A clock as it was recorded: what it is called, and its period. `None` if it cannot have ticked.
    pub(crate) const fn measured(asked: u32, period_ns: u64) -> Option<Self> {
        if period_ns == 0 {
            return None;
        }
        Some(Self { asked, period_ns })
    }

    /// CPU seconds that `ticks` stand for.
    pub fn seconds(self, ticks: u64) -> f64 {
        ticks as f64 * self.period_ns as f64 / NANOS as f64
    }
}

/// Why a text is not a [`Rate`].
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum RateError {
    /// The text is not a whole number.
    #[error(
        "a rate is a whole number of ticks per second, 1 to {}",
        Rate::MAX_HERTZ
    )]
    NotANumber,
    /// Zero ticks per second.
    #[error("a rate of 0 would count nothing; try {}", Rate::DEFAULT)]
    Zero,
    /// More than the clock can do.
    #[error("the clock cannot tick {0} times a second; {max} is its highest rate", max = Rate::MAX_HERTZ)]
    TooHigh(u64),
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let hertz: u64 = text.parse().map_err(|_| RateError::NotANumber)?;
        match u32::try_from(hertz) {
            Ok(0) => Err(RateError::Zero),
            Ok(hertz) if hertz <= Self::MAX_HERTZ => Ok(Self::from_hertz(hertz)),
            _ => Err(RateError::TooHigh(hertz)),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.fmt(f)
    }
}

/// A process: the kernel's thread group id, which every other tool calls the PID.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tgid(NonZeroU32);

impl Tgid {
    /// The process numbered `number`, or `None` for 0 and for numbers that no process can have.
    pub fn new(number: u32) -> Option<Self> {
        if i32::try_from(number).is_err() {
            return None;
        }
        NonZeroU32::new(number).map(Self)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for Tgid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the clock follows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ClockScope {
    /// The target's threads and all that they start: the clock ticks in each one's own CPU time
    /// and costs nobody else anything, but a thread that runs for less than one period in all
    /// is never seen. Where it cannot be had, the clock follows CPUs.
    #[default]
    Task,
    /// CPUs: every process there is interrupted, and the target's ticks are picked out. Threads
    /// that live shortly are seen like others; processes that the target starts are not.
    Cpu,
}

/// What to profile and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom to profile.
    pub target: Target,
    /// By what ticks are kept apart.
    pub split: Split,
    /// How often its clock ticks.
    pub rate: Rate,
    /// What the clock follows.
    pub clock: ClockScope,
    /// The regions to count, at least one in every dialect but ours. Without any, every mapping
    /// of the process is a region, as fine as the memory allows.
    pub regions: Vec<RegionAsked>,
    /// By whose rules regions are counted.
    pub dialect: Dialect,
    /// Whether processes that the target starts are profiled too, where the dialect does so.
    pub follow: bool,
    /// Whether the clock has several random periods instead of one, so that no target can run in
    /// step with it. Takes four descriptors a thread instead of one.
    pub jitter: bool,
    /// Which ticks are kept. The others are accounted for, and no more.
    pub mode: Wanted,
    /// Most kernel memory that the bins of all regions may use, in bytes.
    pub bins_bytes: u64,
    /// How many distinct addresses outside every region can be counted.
    pub strays: u32,
    /// How often the buffer is read while the clock runs.
    pub drain_interval: Duration,
    /// Whether the kernel half reports rare events through the `log` crate.
    pub kernel_log: bool,
}

impl Options {
    /// Kernel memory for bins unless another amount is asked for: 64 MiB.
    pub const DEFAULT_BINS_BYTES: u64 = 64 << 20;

    /// Addresses of strays unless another number is asked for.
    pub const DEFAULT_STRAYS: u32 = 32_768;

    /// Profiles `target` with the defaults.
    pub fn new(target: impl Into<Target>) -> Self {
        Self {
            target: target.into(),
            split: Split::Summed,
            rate: Rate::DEFAULT,
            clock: ClockScope::Task,
            regions: Vec::new(),
            dialect: Dialect::Modern,
            follow: true,
            jitter: false,
            mode: Wanted::Both,
            bins_bytes: Self::DEFAULT_BINS_BYTES,
            strays: Self::DEFAULT_STRAYS,
            drain_interval: Duration::from_secs(1),
            kernel_log: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rate, RateError, Tgid};

    #[test]
    fn a_rate_is_checked_when_it_is_read() {
        assert_eq!("0".parse::<Rate>(), Err(RateError::Zero));
        assert_eq!("100001".parse::<Rate>(), Err(RateError::TooHigh(100_001)));
        assert_eq!(
            "99999999999".parse::<Rate>(),
            Err(RateError::TooHigh(99_999_999_999))
        );
        for text in ["", "abc", "-1", "9.5", "1e3", " 1"] {
            assert_eq!(text.parse::<Rate>(), Err(RateError::NotANumber), "{text:?}");
        }
        assert_eq!("100000".parse::<Rate>().unwrap().period_ns(), 10_000);
        assert_eq!("1".parse::<Rate>().unwrap().period_ns(), 1_000_000_000);
    }

    #[test]
    fn the_period_is_rounded_to_the_nearest_nanosecond() {
        assert_eq!(Rate::DEFAULT.period_ns(), 1_003_009);
        assert_eq!("7".parse::<Rate>().unwrap().period_ns(), 142_857_143);
    }

    #[test]
    fn a_rate_is_called_what_it_was_asked_for() {
        // Its period, 11,111 ns, would be 90,001 Hz.
        assert_eq!("90000".parse::<Rate>().unwrap().to_string(), "90000");
        assert_eq!("79750".parse::<Rate>().unwrap().asked(), 79_750);
    }

    #[test]
    fn ticks_become_seconds_by_the_period_that_was_used() {
        let rate: Rate = "20000".parse().unwrap();
        assert!((rate.seconds(100_000) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_jittered_clock_is_called_what_it_was() {
        let rate = Rate::DEFAULT;
        assert_eq!(rate.with_period(1_003_009.4), rate);
        let real = rate.with_period(1_000_500.2);
        assert_eq!((real.asked(), real.period_ns()), (1000, 1_000_500));
    }

    #[test]
    fn no_process_is_numbered_zero() {
        assert_eq!(Tgid::new(0), None);
        assert_eq!(Tgid::new(u32::MAX), None);
        assert_eq!(Tgid::new(42).map(Tgid::get), Some(42));
    }
}
