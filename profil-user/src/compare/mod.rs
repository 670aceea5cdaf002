//! Several saved profiles: their sum, and what changed between two.

mod diff;
mod merge;

pub use diff::{BY_CHANCE, Change, Diff, Measure, diff};
pub use merge::{MergeError, merge};
