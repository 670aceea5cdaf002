//! A flame graph as one SVG file that any browser shows, by inferno: who, in which object, in which
//! function. The file needs nothing from elsewhere; a click enlarges, and there is a search.
//!
//! It is of the folded stacks, so it is as deep as these are. Widths are shares of the ticks, and
//! colours follow the names: the same function has the same one in every picture.

use std::io::{self, Write};

use inferno::flamegraph::{self, Options};

use super::{escape::printable, folded};
use crate::{profile::Profile, symbolize::Function};

/// Draws a profile, by its rows.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(profile: &Profile, functions: &[Function], out: &mut impl Write) -> io::Result<()> {
    let mut options = Options::default();
    options.title = printable(&profile.subject.to_string()).into_owned();
    options.subtitle = Some(format!(
        "{} ticks at {} Hz; frames of less than {} % are not drawn",
        profile.ticks(),
        profile.rate.asked(),
        options.min_width,
    ));
    options.count_name = "ticks".to_owned();
    options.name_type = "Function:".to_owned();
    options.hash = true;
    options.deterministic = true;
    let stacks = folded::stacks(profile, functions);
    let lines = stacks.iter().map(String::as_str);
    match flamegraph::from_lines(&mut options, lines, out) {
        // It has drawn that there is nothing to draw.
        Err(error) if stacks.is_empty() && error.kind() == io::ErrorKind::InvalidData => Ok(()),
        drawn => drawn,
    }
}
