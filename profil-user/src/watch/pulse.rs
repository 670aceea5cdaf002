//! Which CPUs' clocks stand still, though the CPUs work.
//!
//! A CPU that goes takes its events with it for good. Who looks sees it go and come; but not if both
//! happened between two looks: while nobody ran who looks, or while the machine slept.

use std::{collections::HashMap, time::Duration};

/// What each CPU had done when it last had a run.
#[derive(Debug)]
pub(super) struct Pulse {
    patience_ns: u64,
    seen: HashMap<u32, Done>,
}

/// Runs of the kernel half on a CPU, and CPU time that was used there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Done {
    runs: u64,
    busy_ns: u64,
}

impl Pulse {
    /// Of clocks whose ticks on each CPU are worth `period_ns`.
    pub(super) fn new(period_ns: u64) -> Self {
        const LEAST: Duration = Duration::from_secs(1);
        const PERIODS: u64 = 20;
        Self {
            patience_ns: period_ns
                .saturating_mul(PERIODS)
                .max(LEAST.as_nanos() as u64),
            seen: HashMap::new(),
        }
    }

    /// CPUs that have worked for long without a run, of those that are online, with what each has used; `runs`
    /// may know more of them. Each is named once, and again after as long again.
    pub(super) fn silent(&mut self, online: &[(u32, u64)], runs: &[(u32, u64)]) -> Vec<u32> {
        let runs: HashMap<u32, u64> = runs.iter().copied().collect();
        self.seen
            .retain(|cpu, _| online.iter().any(|(known, _)| known == cpu));
        let mut silent = Vec::new();
        for &(cpu, busy_ns) in online {
            let Some(&runs) = runs.get(&cpu) else {
                continue;
            };
            let now = Done { runs, busy_ns };
            let seen = self.seen.entry(cpu).or_insert(now);
            let is_silent =
                seen.runs == runs && busy_ns.saturating_sub(seen.busy_ns) >= self.patience_ns;
            if seen.runs != runs || is_silent {
                *seen = now;
            }
            if is_silent {
                silent.push(cpu);
            }
        }
        silent
    }
}

#[cfg(test)]
mod tests {
    use super::Pulse;

    const MS: u64 = 1_000_000;

    #[test]
    fn who_works_for_long_without_a_run_is_silent_once() {
        let mut pulse = Pulse::new(10 * MS);
        let mut at = |online: &[(u32, u64)], runs: &[(u32, u64)]| {
            let online: Vec<_> = online.iter().map(|&(cpu, ms)| (cpu, ms * MS)).collect();
            pulse.silent(&online, runs)
        };
        let none = [0_u32; 0];
        assert_eq!(at(&[(0, 50), (1, 70)], &[(0, 5), (1, 7), (2, 0)]), none);
        assert_eq!(at(&[(0, 950), (1, 1060)], &[(0, 90), (1, 7)]), none);
        assert_eq!(at(&[(0, 960), (1, 1070)], &[(0, 91), (1, 7)]), [1]);
        assert_eq!(at(&[(0, 970), (1, 1080)], &[(0, 92), (1, 7)]), none);
        assert_eq!(at(&[(0, 980), (1, 2070)], &[(0, 93), (1, 7)]), [1]);
        assert_eq!(at(&[(0, 990), (1, 2080)], &[(0, 94), (1, 8)]), none);
        // An idle one may have none for as long as it likes; one that was away begins anew.
        assert_eq!(at(&[(0, 990), (1, 3070)], &[(0, 94), (1, 8)]), none);
        assert_eq!(at(&[(0, 990)], &[(0, 94), (1, 8)]), none);
        assert_eq!(at(&[(0, 990), (1, 9000)], &[(0, 94), (1, 8)]), none);
    }

    #[test]
    fn a_slow_clock_has_its_time() {
        let mut pulse = Pulse::new(1000 * MS);
        assert!(pulse.silent(&[(0, 0)], &[(0, 0)]).is_empty());
        assert!(pulse.silent(&[(0, 19_999 * MS)], &[(0, 0)]).is_empty());
        assert_eq!(pulse.silent(&[(0, 20_000 * MS)], &[(0, 0)]), [0]);
    }
}
