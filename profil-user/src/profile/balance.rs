//! The conservation rule: every run of the kernel program is accounted for.

use profil_common::{Outcome, Tally};

/// Where every run of the kernel program went, and how many there should have been.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// The kernel half's own account, of all CPUs.
    pub tally: Tally,
    /// Sum of all bins.
    pub binned: u64,
    /// Sum of the table of strays.
    pub strays: u64,
    /// Of the strays, those of processes that were not asked for.
    pub unwanted: u64,
    /// Most entries that the table of strays was found to have, and how many it can hold.
    pub stray_fill: (u32, u32),
    /// CPU time that the clock measured while it was on, in nanoseconds: of the target's threads,
    /// and of its children where the clock follows them.
    pub due_ns: u64,
    /// Whether ticks of other processes were due as well, because the clock follows only the
    /// target and what it starts.
    pub others_are_due: bool,
    /// The clock's mean period, in nanoseconds: a whole number unless the clock was jittered.
    pub period_ns: f64,
    /// Kernel memory that the maps use, in bytes.
    pub kernel_bytes: u64,
}

impl Balance {
    /// How many runs ended in `outcome`.
    pub const fn of(&self, outcome: Outcome) -> u64 {
        self.tally.outcomes[outcome as usize]
    }

    /// Whether every run ended in exactly one outcome, and the buffers hold what the outcomes
    /// say. Exact once the clock is off; while it runs, a few ticks can be under way.
    pub fn holds(&self) -> bool {
        self.tally.runs == self.tally.outcomes.iter().sum::<u64>()
            && self.binned == self.of(Outcome::Binned)
            && self.strays == self.of(Outcome::Stray)
    }

    /// Ticks that the kernel program saw, of those that were due.
    pub const fn seen(&self) -> u64 {
        if self.others_are_due {
            return self.tally.runs;
        }
        // While the clock runs the account can be read in the middle of a tick.
        let others = self.of(Outcome::Other) + self.of(Outcome::Idle);
        self.tally.runs.saturating_sub(others)
    }

    /// Ticks that the target's own CPU time was worth.
    pub fn due(&self) -> f64 {
        self.due_ns as f64 / self.period_ns
    }

    /// Ticks seen per tick due; 1 when none were due.
    pub fn seen_per_due(&self) -> f64 {
        if self.due_ns == 0 {
            1.0
        } else {
            self.seen() as f64 / self.due()
        }
    }

    /// Whether seen and due differ by more than chance and the ends of the run explain: the clock
    /// and the target are in step, or the kernel skipped ticks.
    pub fn is_short(&self) -> bool {
        /// Fewer ticks say nothing.
        const ENOUGH: f64 = 100.0;
        /// What a busy machine does to an honest clock.
        const USUAL: std::ops::RangeInclusive<f64> = 0.9..=1.1;

        self.due() >= ENOUGH && !USUAL.contains(&self.seen_per_due())
    }

    /// Whether seen and due differ by no more than ticks do that meet the target at random: a clock
    /// that follows CPUs does not tick in the target's own time.
    pub fn is_chance(&self) -> bool {
        const STANDARD_DEVIATIONS: f64 = 4.0;

        let off = self.seen() as f64 - self.due();
        off.abs() <= STANDARD_DEVIATIONS * self.due().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use profil_common::{Outcome, Tally};

    use super::Balance;

    fn balance() -> Balance {
        let mut tally = Tally {
            runs: 10,
            ..Tally::default()
        };
        tally.outcomes[Outcome::Binned as usize] = 6;
        tally.outcomes[Outcome::Stray as usize] = 3;
        tally.outcomes[Outcome::Idle as usize] = 1;
        Balance {
            tally,
            binned: 6,
            strays: 3,
            unwanted: 0,
            stray_fill: (0, 0),
            due_ns: 9_500,
            others_are_due: false,
            period_ns: 1_000.0,
            kernel_bytes: 0,
        }
    }

    #[test]
    fn a_full_account_holds() {
        assert!(balance().holds());
        assert_eq!(balance().seen(), 9);
        assert!((balance().due() - 9.5).abs() < 1e-9);
    }

    #[test]
    fn a_run_without_an_outcome_breaks_it() {
        let mut balance = balance();
        balance.tally.runs += 1;
        assert!(!balance.holds());
    }

    #[test]
    fn a_buffer_that_disagrees_breaks_it() {
        assert!(
            !Balance {
                binned: 5,
                ..balance()
            }
            .holds()
        );
        assert!(
            !Balance {
                strays: 4,
                ..balance()
            }
            .holds()
        );
    }

    #[test]
    fn a_few_ticks_say_nothing_and_many_do() {
        assert!(
            !Balance {
                due_ns: 90_000,
                ..balance()
            }
            .is_short()
        );
        assert!(
            Balance {
                due_ns: 110_000,
                ..balance()
            }
            .is_short()
        );
        let mut many = Balance {
            due_ns: 100_000,
            ..balance()
        };
        many.tally.runs = 95;
        assert!(!many.is_short());
        many.tally.runs = 300;
        assert!(many.is_short());
    }

    #[test]
    fn what_chance_can_do_is_not_being_in_step() {
        let seen = |runs| {
            let mut balance = balance();
            balance.due_ns = 225_000;
            balance.tally.runs = runs;
            balance
        };
        assert!(seen(250).is_chance());
        assert!(!seen(400).is_chance());
        assert!(!seen(5).is_chance());
    }

    #[test]
    fn nothing_due_is_nothing_missed() {
        let idle = Balance {
            period_ns: 1.0,
            ..Balance::default()
        };
        assert!((idle.seen_per_due() - 1.0).abs() < f64::EPSILON);
    }
}
