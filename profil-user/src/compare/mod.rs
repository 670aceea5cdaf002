//! Several saved profiles: their sum, and what changed between two.

mod merge;

pub use merge::{MergeError, merge};
