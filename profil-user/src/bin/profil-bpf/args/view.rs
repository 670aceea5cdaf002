//! What of a profile a report shows.

use clap::{Args, ValueEnum};
use profil_user::{
    Split,
    export::Style,
    symbolize::{Grouping, NamePattern, ObjectPattern, Sieve, View},
};

/// Flags of whatever prints a report of a profile by rows.
#[derive(Clone, Debug, Args)]
pub(super) struct ViewFlags {
    #[command(flatten)]
    rows: RowFlags,

    #[command(flatten)]
    sieve: SieveFlags,

    /// Lay the report out as another tool does
    #[arg(long, value_enum, default_value_t = Manner::Flat, help_heading = "Report")]
    style: Manner,

    /// Show how far each share can be off by chance: its standard error
    #[arg(long, help_heading = "Report")]
    errors: bool,
}

/// Flags that say what has a row.
#[derive(Clone, Debug, Args)]
struct RowFlags {
    /// What has a row of its own; lines need DWARF debug information
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Report")]
    by: Option<By>,

    /// One row for each source line instead of each function, from DWARF debug information
    #[arg(long, conflicts_with_all = ["inline", "by"], help_heading = "Report")]
    lines: bool,

    /// Charge inlined functions for themselves, wherever they were inlined, from DWARF debug
    /// information; functions of one name in one object are one row
    #[arg(long, conflicts_with = "by", help_heading = "Report")]
    inline: bool,
}

/// Flags that leave something out. What they do is said in the report.
#[derive(Clone, Debug, Args)]
struct SieveFlags {
    /// Only functions whose name this regular expression matches, in any part
    #[arg(long, value_name = "REGEX", help_heading = "Report")]
    focus: Option<NamePattern>,

    /// Leave out functions whose name this regular expression matches
    #[arg(long, value_name = "REGEX", help_heading = "Report")]
    ignore: Option<NamePattern>,

    /// Only what is in this object: its name or path, or a pattern for one with *, ? and [a-z]
    #[arg(long, value_name = "GLOB", help_heading = "Report")]
    object: Option<ObjectPattern>,

    /// Only rows with at least this share
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value_t = 0.0,
          hide_default_value = true, allow_negative_numbers = true, help_heading = "Report")]
    min: f64,
}

/// [`Grouping`] as a word.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum By {
    /// Functions of the symbol table, with all that was inlined into them
    Function,
    /// Objects: programs, libraries, the kernel
    Object,
    /// Lines of the source
    Line,
    /// Addresses
    Address,
    /// Processes
    Process,
    /// Threads
    Thread,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) view: View,
    pub(crate) style: Style,
    pub(crate) errors: bool,
}

impl ViewFlags {
    /// What is meant, or what is wrong.
    pub(super) fn shown(self) -> Result<Shown, &'static str> {
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
        Ok(Shown {
            view: View {
                grouping: self.rows.grouping(),
                sieve: Sieve {
                    focus: self.sieve.focus,
                    ignore: self.sieve.ignore,
                    object: self.sieve.object,
                    min_percent: self.sieve.min,
                },
            },
            style,
            errors: self.errors,
        })
    }
}

impl Shown {
    /// How tasks have to be told apart, if `asked` for this.
    pub(super) fn split(&self, asked: Split) -> Result<Split, &'static str> {
        match (self.view.grouping, asked) {
            (Grouping::Process, Split::Summed) => Ok(Split::ByProcess),
            (Grouping::Thread, Split::Summed) => Ok(Split::ByThread),
            (Grouping::Thread, Split::ByProcess) => {
                Err("--by thread tells threads apart, which --per-process does not")
            }
            _ => Ok(asked),
        }
    }
}

impl RowFlags {
    fn grouping(&self) -> Grouping {
        match (self.lines, self.inline, self.by) {
            (true, ..) | (.., Some(By::Line)) => Grouping::Line,
            (_, true, _) => Grouping::Inlined,
            (.., None | Some(By::Function)) => Grouping::Function,
            (.., Some(By::Object)) => Grouping::Object,
            (.., Some(By::Address)) => Grouping::Address,
            (.., Some(By::Process)) => Grouping::Process,
            (.., Some(By::Thread)) => Grouping::Thread,
        }
    }
}

fn parse_percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse();
    match number {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a share is between 0 and 100 percent; try 0.5"),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_percent;

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!(parse_percent("0.5"), Ok(0.5));
        assert_eq!(parse_percent("5%"), Ok(5.0));
        for text in ["", "-1", "101", "nan", "inf", "half"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
