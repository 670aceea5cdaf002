//! Where profiles go.

use std::path::PathBuf;

use profil_user::export::{Destination, Format, Style};

/// Why many programs do not go into one file.
pub(crate) const OF_ONE_PROGRAM: &str =
    "a gmon.out or a symbol table is of one program; a directory gets one a program: -o DIR/";

/// Where profiles go, by the names of outputs.
pub(super) fn destinations(
    names: &[PathBuf],
    format: Option<Format>,
    style: Style,
) -> Result<Vec<Destination>, String> {
    let parsed = names.iter().map(|name| Destination::parse(name, format));
    let in_style = parsed.map(|output| output.map(|output| output.in_style(style)));
    let outputs: Result<Vec<_>, _> = in_style.collect();
    let outputs = outputs.map_err(|error| error.to_string())?;
    let is_stdout = |output: &&Destination| matches!(output, Destination::Stdout(_));
    if outputs.iter().filter(is_stdout).count() > 1 {
        return Err("standard output can be given only once".to_owned());
    }
    Ok(outputs)
}
