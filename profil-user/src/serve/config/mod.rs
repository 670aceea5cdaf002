//! How the daemon is set up: a file, flags on top of it, and what of both may change while it runs.
//!
//! Every key stands once, in `keys.rs`: what it may be, how it is shown, and whether it can be taken
//! over while the daemon runs. All else here is a walk through that table.

mod changes;
mod keys;
mod problem;
mod read;
mod sections;
mod shown;
mod value;

#[cfg(test)]
mod tests;

use std::{net::SocketAddr, time::Duration};

pub use changes::Changes;
pub use problem::{ConfigError, Problem};
pub use read::Setting;
pub use sections::{Access, Exposed, History, Limits, Metrics, Pin, Push, PushKind, Size};

use crate::options::Options;

/// The whole of it, validated. [`Config::default`] is what holds where nothing is said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    /// Where HTTP is served; nowhere if it is empty.
    pub listen: Vec<SocketAddr>,
    /// Rate at which every process is sampled, in ticks of its CPU time a second.
    pub stathz: u32,
    /// Rate at which one process is sampled on demand: a multiple of `stathz`.
    pub profhz: u32,
    /// What ticks in kernel mode are charged to.
    pub mode: Mode,
    /// How often the kernel's counters are read.
    pub drain: Duration,
    /// How many distinct addresses can be counted between two reads.
    pub strays: u32,
    /// Who may look.
    pub access: Access,
    /// How much may be asked for.
    pub limits: Limits,
    /// What `/metrics` holds.
    pub metrics: Metrics,
    /// What is kept for people.
    pub history: History,
    /// What outlives the daemon.
    pub pin: Pin,
    /// Where profiles are sent to.
    pub push: Push,
}

/// What ticks in kernel mode are charged to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Mode {
    /// The kernel's own functions.
    #[default]
    Split,
    /// The instruction at which the process goes on, as `profil(2)` did.
    Prof,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 9097))],
            stathz: 97,
            profhz: 970,
            mode: Mode::Split,
            drain: Duration::from_secs(2),
            strays: Options::DEFAULT_STRAYS,
            access: Access::default(),
            limits: Limits::default(),
            metrics: Metrics::default(),
            history: History::default(),
            pin: Pin::default(),
            push: Push::default(),
        }
    }
}
