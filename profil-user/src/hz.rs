//! The clocks of this machine and ours, in the words of hz(9). Needs no privileges.

use rustix::{
    param::clock_ticks_per_second,
    time::{ClockId, clock_getres},
};

use crate::{kernel::max_sample_rate, options::Rate};

/// Nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

/// One thing that is known of a clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Figure {
    /// Its name: the variable of hz(9), where there is one.
    pub name: &'static str,
    /// What it is, or `None` if this machine does not tell.
    pub value: Option<u64>,
    /// What it is measured in.
    pub unit: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// How many figures there are, and how many of them `kern.clockrate` has.
const COUNT: usize = 9;
/// The first of them are those of BSD's `struct clockinfo`.
pub const CLOCKINFO: usize = 4;

/// All figures. The first [`CLOCKINFO`] are those of `kern.clockrate`, in its order.
pub fn figures() -> [Figure; COUNT] {
    let jiffy_ns = resolution_ns(ClockId::MonotonicCoarse);
    let timer_ns = resolution_ns(ClockId::Monotonic);
    let figure = |name, value, unit, source| Figure {
        name,
        value,
        unit,
        source,
    };
    [
        figure(
            "hz",
            jiffy_ns.map(per_second),
            "Hz",
            "resolution of CLOCK_MONOTONIC_COARSE, which moves once a tick of the kernel",
        ),
        figure("tick", jiffy_ns.map(|ns| ns / 1000), "us", "1 / hz"),
        figure(
            "profhz",
            Some(u64::from(Rate::DEFAULT.asked())),
            "Hz",
            "our default while a profile is taken; --rate sets it, and no stathz divides it",
        ),
        figure(
            "stathz",
            Some(u64::from(Rate::LOW.asked())),
            "Hz",
            "our default for a profiler that is always on; nothing runs at it yet",
        ),
        figure(
            "clk_tck",
            Some(clock_ticks_per_second()),
            "Hz",
            "AT_CLKTCK: the unit of times in /proc, and the rate of glibc's profil",
        ),
        figure(
            "finest_period",
            Some(NANOS / u64::from(Rate::MAX_HERTZ)),
            "ns",
            "cpu-clock raises shorter periods to this (perf_swevent_start_hrtimer)",
        ),
        figure(
            "max_sample_rate",
            max_sample_rate().map(u64::from),
            "Hz",
            "kernel.perf_event_max_sample_rate: the highest --rate now",
        ),
        figure(
            "timer_resolution",
            timer_ns,
            "ns",
            "clock_getres of CLOCK_MONOTONIC, by which hrtimers tick",
        ),
        figure(
            "high_resolution",
            timer_ns
                .zip(jiffy_ns)
                .map(|(timer, jiffy)| u64::from(timer < jiffy)),
            "",
            "1 if timers are finer than a tick of the kernel, 0 if no clock can be",
        ),
    ]
}

/// Of a clock, or `None` if the kernel says what cannot be.
fn resolution_ns(clock: ClockId) -> Option<u64> {
    let resolution = clock_getres(clock);
    let seconds = u64::try_from(resolution.tv_sec).ok()?;
    let nanos = u64::try_from(resolution.tv_nsec).ok()?;
    Some(seconds * NANOS + nanos).filter(|&ns| ns > 0)
}

/// To the nearest: a tick of 3,333,333 ns is 300 Hz.
const fn per_second(period_ns: u64) -> u64 {
    (NANOS + period_ns / 2) / period_ns
}

#[cfg(test)]
mod tests {
    use super::{CLOCKINFO, figures, per_second};

    #[test]
    fn a_period_is_a_rate() {
        assert_eq!(per_second(4_000_000), 250);
        assert_eq!(per_second(3_333_333), 300);
        assert_eq!(per_second(10_000_000), 100);
    }

    #[test]
    fn the_clockinfo_of_bsd_comes_first() {
        let names = figures()[..CLOCKINFO]
            .iter()
            .map(|figure| figure.name)
            .collect::<Vec<_>>();
        assert_eq!(names, ["hz", "tick", "profhz", "stathz"]);
    }

    #[test]
    fn every_figure_is_known_here_and_has_a_source() {
        for figure in figures() {
            assert!(
                figure.value.is_some() && !figure.source.is_empty(),
                "{figure:?}"
            );
        }
        let [hz, tick, ..] = figures();
        let product = hz.value.unwrap() * tick.value.unwrap();
        assert!((990_000..=1_010_000).contains(&product), "{product}");
    }
}
