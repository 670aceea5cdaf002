//! The daemon's own figures: what became of the ticks, and what it costs.

use std::time::{Duration, Instant};

use profil_common::{Outcome, Tally};

use crate::watch::Account;

/// Sums over all maps that were ever counted in, and the latest of what has no sum.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Of maps before these.
    pub(crate) earlier: Tally,
    /// Of these, at the last turn.
    pub(crate) tally: Tally,
    /// CPU time that was to be ticked for, in nanoseconds.
    pub(crate) due_ns: u64,
    /// CPU time of the machine when it was last looked at.
    pub(crate) busy_ns: Option<u64>,
    /// CPU time that a tick is worth.
    pub(crate) period_ns: u64,
    /// Turns, and the time from the beginning of each to when it was counted.
    pub(crate) turns: u64,
    pub(crate) turning: Duration,
    /// When the last one was.
    pub(crate) last_turn: Option<Instant>,
    /// Entries of the table of strays: at the last turn, the most ever, and how many it can hold.
    pub(crate) entries: usize,
    pub(crate) fill: (u32, u32),
    /// Records of the side-band that were lost.
    pub(crate) side_band_lost: u64,
    /// Kernel memory of the maps.
    pub(crate) kernel_bytes: u64,
    /// Addresses that have names.
    pub(crate) symbols: usize,
    /// Profiles that were asked for and given.
    pub(crate) profiles: u64,
    /// Times that the state could not be written.
    pub(crate) unwritten: u64,
}

impl Figures {
    pub(crate) fn new(period_ns: u64, kernel_bytes: u64) -> Self {
        Self {
            earlier: Tally::default(),
            tally: Tally::default(),
            due_ns: 0,
            busy_ns: None,
            period_ns,
            turns: 0,
            turning: Duration::ZERO,
            last_turn: None,
            entries: 0,
            fill: (0, 0),
            side_band_lost: 0,
            kernel_bytes,
            symbols: 0,
            profiles: 0,
            unwritten: 0,
        }
    }

    /// Takes in what the kernel half says at a turn.
    pub(crate) fn turned(&mut self, account: &Account) {
        self.tally = account.tally;
        if let (Some(before), Some(now)) = (self.busy_ns, account.busy_ns) {
            self.due_ns += now.saturating_sub(before);
        }
        self.busy_ns = account.busy_ns.or(self.busy_ns);
        self.entries = account.entries;
        self.fill = account.fill;
        self.side_band_lost = account.side_band_lost;
    }

    /// Runs that ended in an outcome, ever.
    pub(crate) const fn of(&self, outcome: Outcome) -> u64 {
        self.earlier.outcomes[outcome as usize] + self.tally.outcomes[outcome as usize]
    }

    /// Ticks of somebody, not of an idle CPU.
    pub(crate) const fn seen(&self) -> u64 {
        let runs = self.earlier.runs + self.tally.runs;
        runs.saturating_sub(self.of(Outcome::Idle) + self.of(Outcome::Other))
    }

    /// Ticks that the machine's CPU time was worth.
    pub(crate) fn due(&self) -> f64 {
        self.due_ns as f64 / self.period_ns as f64
    }
}

/// The sum of two accounts.
pub(crate) fn sum(mut left: Tally, right: &Tally) -> Tally {
    left.runs += right.runs;
    for (left, right) in left.outcomes.iter_mut().zip(right.outcomes) {
        *left += right;
    }
    left
}

#[cfg(test)]
mod tests {
    use profil_common::Outcome;

    use super::{Figures, sum};
    use crate::watch::Account;

    #[test]
    fn due_goes_on_from_the_first_look() {
        let mut figures = Figures::new(10, 0);
        let at = |busy_ns, runs, idle| {
            let mut account = Account {
                busy_ns,
                ..Account::default()
            };
            account.tally.runs = runs;
            account.tally.outcomes[Outcome::Idle as usize] = idle;
            account
        };
        figures.turned(&at(Some(1_000_000), 0, 0));
        assert!(figures.due() < f64::EPSILON);
        figures.turned(&at(Some(1_001_000), 150, 49));
        figures.turned(&at(None, 150, 49));
        figures.turned(&at(Some(1_001_010), 152, 50));
        assert!((figures.due() - 101.0).abs() < 1e-9, "{}", figures.due());
        assert_eq!(figures.seen(), 102);
        figures.earlier = sum(figures.earlier, &figures.tally);
        assert_eq!(figures.seen(), 204);
    }
}
