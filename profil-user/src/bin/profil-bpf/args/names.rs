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

/// What names are taken from.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) debug_dirs: Vec<PathBuf>,
}

impl Names {
    /// What needs all that a file of record keeps.
    pub(crate) const RECORDED: Grouping = Grouping::Inlined;

    /// Who looks them up, and what such rows need.
    pub(crate) fn symbolizer(&self, grouping: Grouping) -> Symbolizer {
        Symbolizer::with_debug_dirs(self.debug_dirs.clone()).for_grouping(grouping)
    }

    /// Who looks up all that is known, for a file that keeps it.
    pub(crate) fn recorder(&self) -> Symbolizer {
        self.symbolizer(Self::RECORDED)
    }
}

impl NameFlags {
    pub(super) fn names(self) -> Names {
        Names {
            debug_dirs: self.debug_dir,
        }
    }
}
