//! What the live view is of.

use std::time::Duration;

use clap::Args;
use profil_user::{Options, Rate, Split, Target, Wanted};

use super::{Mode, names::NameFlags, parse_duration, whom::TargetFlags};
use crate::top;

/// Flags of `top`.
#[derive(Clone, Debug, Args)]
pub(super) struct TopFlags {
    #[command(flatten)]
    target: TargetFlags,

    /// Ticks per second of the target's CPU time
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = Rate::DEFAULT)]
    rate: Rate,

    /// Which ticks to keep, and at which addresses: prof, unless it is of everybody; split for that
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    /// End after this long, for example 10s, 500ms or 2m; a plain number is seconds
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Leave out what the target starts: its child processes
    #[arg(long)]
    no_follow: bool,

    #[command(flatten)]
    names: NameFlags,
}

impl TopFlags {
    /// What is meant, or what is wrong.
    pub(super) fn plan(mut self) -> Result<top::Plan, String> {
        let target = self.target.target()?;
        let mode = match (self.mode, &target) {
            (Some(mode), _) => mode.wanted(),
            (None, Target::Everything) => Wanted::Split,
            (None, _) => Wanted::Both,
        };
        Ok(top::Plan {
            options: Options {
                rate: self.rate,
                mode,
                follow: !self.no_follow,
                // One of the lists is of processes.
                split: Split::ByProcess,
                ..Options::new(target)
            },
            duration: self.duration,
            names: self.names.names(),
        })
    }
}
