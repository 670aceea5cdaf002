//! Where names come from, and how what has them is shown.

use std::path::PathBuf;

use clap::Args;
use profil_user::symbolize::{DEFAULT_DEBUG_DIR, Grouping, Symbolizer};

/// Flags of whatever prints names.
#[derive(Clone, Debug, Args)]
pub(super) struct NameFlags {
    /// Look for the debug files of stripped objects in DIR, by build id (.build-id/) and by link;
    /// repeatable. Beside the objects they are found anyway
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DEBUG_DIR)]
    debug_dir: Vec<PathBuf>,
}

/// Flags of whatever prints functions and knows more of them than where they start.
#[derive(Clone, Debug, Args)]
pub(super) struct RowFlags {
    /// One row for each source line instead of each function, from DWARF debug information
    #[arg(long, conflicts_with = "inline")]
    lines: bool,

    /// Charge inlined functions for themselves, wherever they were inlined, from DWARF debug
    /// information; functions of one name in one object are one row
    #[arg(long)]
    inline: bool,
}

/// What names are taken from, and what has a row of its own.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) debug_dirs: Vec<PathBuf>,
    pub(crate) grouping: Grouping,
}

impl Names {
    /// Who looks them up.
    pub(crate) fn symbolizer(&self) -> Symbolizer {
        Symbolizer::with_debug_dirs(self.debug_dirs.clone()).for_grouping(self.grouping)
    }

    /// Who looks up all that is known, for a file that keeps it.
    pub(crate) fn recorder(&self) -> Symbolizer {
        Symbolizer::with_debug_dirs(self.debug_dirs.clone()).for_grouping(Grouping::Inlined)
    }
}

impl NameFlags {
    /// Together with what rows are.
    pub(super) fn names(self, rows: RowFlags) -> Names {
        Names {
            debug_dirs: self.debug_dir,
            grouping: rows.grouping(),
        }
    }
}

impl RowFlags {
    fn grouping(&self) -> Grouping {
        match (self.lines, self.inline) {
            (true, _) => Grouping::Line,
            (_, true) => Grouping::Inlined,
            _ => Grouping::Function,
        }
    }
}
