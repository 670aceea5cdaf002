//! Several saved profiles: their sum, and what changed between two.

mod diff;
mod merge;

#[cfg(feature = "serve")]
pub(crate) use diff::shares;
pub use diff::{BY_CHANCE, Change, Diff, Measure, diff};
pub use merge::{MergeError, merge};
