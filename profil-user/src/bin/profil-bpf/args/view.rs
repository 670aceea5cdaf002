//! What of a profile a report shows.

use clap::{Args, ValueEnum};
use profil_user::export::Style;

/// Flags of whatever prints a report.
#[derive(Clone, Debug, Args)]
pub(super) struct ViewFlags {
    /// Lay the report out as another tool does
    #[arg(long, value_enum, default_value_t = Manner::Flat)]
    style: Manner,

    /// Show how far each share can be off by chance: its standard error
    #[arg(long)]
    errors: bool,
}

/// [`Style`] as a word.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Manner {
    /// Our own
    Flat,
    /// As perf report --stdio
    Perf,
    /// As gprof -p
    Gprof,
    /// As prof(1) of System V
    Prof,
}

/// How a report is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) style: Style,
    pub(crate) errors: bool,
}

impl ViewFlags {
    pub(super) const fn view(&self) -> Result<View, &'static str> {
        let style = match self.style {
            Manner::Flat => Style::Flat,
            Manner::Perf => Style::Perf,
            Manner::Gprof | Manner::Prof if self.errors => {
                return Err(
                    "the tables of gprof and prof have no column for errors: --style flat or perf",
                );
            }
            Manner::Gprof => Style::Gprof,
            Manner::Prof => Style::Prof,
        };
        Ok(View {
            style,
            errors: self.errors,
        })
    }
}
