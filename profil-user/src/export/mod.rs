//! Profile → bytes. Same profile, same bytes.

mod advice;
pub mod annotated;
pub mod csv;
mod destination;
pub mod diff;
mod escape;
pub mod flamegraph;
pub mod folded;
pub mod gmon;
pub mod json;
mod neutral;
pub mod other;
mod output;
mod page;
pub mod recorded;
mod replace;
pub mod speedscope;
mod style;
pub mod syms;
mod table;
pub mod text;
mod whose;

pub use destination::{Destination, Format, FormatError};
pub use escape::printable;
pub use output::{Content, Output, OutputError};
pub use replace::write_whole;
pub use style::Style;

#[cfg(test)]
mod tests;
