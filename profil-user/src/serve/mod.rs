//! Always on: every process of the machine at a low rate, for months, with HTTP in front.
//!
//! Data moves one way here, too: increments of the counters are given names and become [`Row`]s; rows
//! are added up for dashboards and kept by the minute for people; and what is asked for over HTTP is
//! answered from there.

mod book;
pub mod config;
mod daemon;
mod demand;
mod engine;
mod exchange;
mod figures;
pub mod history;
pub mod http;
mod metrics;
mod naming;
pub mod page;
mod privileges;
pub mod push;
mod pushing;
mod recorder;
mod row;
mod site;
mod store;
mod turns;

pub use daemon::{Daemon, DaemonError, unpin};
pub use exchange::{Query, Request, Response, Status};
pub use pushing::PushingError;
pub use row::{ObjectLabel, ProcessLabel, Row, Spot, Window};
pub use site::Answers;
pub use store::StoreError;

/// An error and what it follows from, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}
