//! CPU time, and how sure one can be of a share of it.

use super::cell::{Key, Ticks};
use crate::profile::share_error;

/// CPU time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In kernel mode, in nanoseconds.
    pub system_ns: u64,
    /// Ticks in user mode.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
}

impl Cost {
    /// Nanoseconds in either mode.
    pub const fn ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// Ticks in either mode.
    pub const fn ticks(&self) -> u64 {
        self.user.saturating_add(self.system)
    }

    /// How much of another one this is, of 1.
    pub fn share_of(&self, total: &Self) -> f64 {
        match total.ns() {
            0 => 0.0,
            ns => self.ns() as f64 / ns as f64,
        }
    }

    /// The standard error of that share, by the ticks that were counted.
    pub fn error_in(&self, total: &Self) -> f64 {
        share_error(self.ticks(), total.ticks())
    }

    pub(crate) const fn add_cost(&mut self, other: &Self) {
        self.user_ns = self.user_ns.saturating_add(other.user_ns);
        self.system_ns = self.system_ns.saturating_add(other.system_ns);
        self.user = self.user.saturating_add(other.user);
        self.system = self.system.saturating_add(other.system);
    }

    pub(super) fn add(&mut self, key: &Key, [user, system]: Ticks) {
        let ns = |ticks: u64| ticks.saturating_mul(key.period_ns);
        self.user_ns = self.user_ns.saturating_add(ns(user));
        self.system_ns = self.system_ns.saturating_add(ns(system));
        self.user = self.user.saturating_add(user);
        self.system = self.system.saturating_add(system);
    }
}
