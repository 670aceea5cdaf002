//! How the daemon is set up.

use std::path::PathBuf;

use clap::Args;
use profil_user::serve::config::Setting;

use crate::serve;

/// The file that is read if no other is named.
const USUAL_FILE: &str = "/etc/profil-bpf.toml";

/// The directory of what outlives the daemon, if no other is named.
const USUAL_PINS: &str = "/sys/fs/bpf/profil-bpf";

/// Flags of `serve`.
#[derive(Clone, Debug, Args)]
pub(super) struct ServeFlags {
    /// The configuration; /etc/profil-bpf.toml, if there is one
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Address and port of the pages; repeatable. Others than this machine's own need a token or
    /// certificates in the configuration [default: 127.0.0.1:9097]
    #[arg(short, long, value_name = "ADDR")]
    listen: Vec<String>,

    /// Ticks per second of each CPU, all the time [default: 97]
    #[arg(long, value_name = "HZ")]
    stathz: Option<String>,

    /// Ticks per second of profiles on demand, a multiple of stathz [default: 970]
    #[arg(long, value_name = "HZ")]
    profhz: Option<String>,

    /// Let the clock and its counters outlive the daemon, so that the next one goes on with them; in this
    /// directory of a BPF file system
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true,
          default_missing_value = USUAL_PINS)]
    pin: Option<String>,

    /// Where what belongs to such counters is written down [default: /run/profil-bpf]
    #[arg(long, value_name = "DIR")]
    state: Option<String>,

    /// Any key of the configuration, for example limits.profiles=5; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,

    /// Print the configuration as it would be used, and end
    #[arg(long)]
    check: bool,

    /// Switch off and remove what an earlier daemon left with --pin, and end
    #[arg(long, conflicts_with = "check")]
    unpin: bool,
}

impl ServeFlags {
    pub(super) fn plan(self) -> serve::Plan {
        let usual = || Some(PathBuf::from(USUAL_FILE)).filter(|file| file.exists());
        let listen = (!self.listen.is_empty()).then(|| self.listen.join(","));
        let flags = [
            ("--listen", "listen", listen),
            ("--stathz", "stathz", self.stathz),
            ("--profhz", "profhz", self.profhz),
            ("--pin", "pin.dir", self.pin),
            ("--state", "pin.state", self.state),
        ];
        let flags = flags.into_iter().filter_map(|(flag, key, value)| {
            Some(Setting {
                flag: flag.to_owned(),
                key: key.to_owned(),
                value: value?,
            })
        });
        let set = self.set.into_iter().map(|(key, value)| Setting {
            flag: "--set".to_owned(),
            key,
            value,
        });
        serve::Plan {
            file: self.config.or_else(usual),
            settings: flags.chain(set).collect(),
            what: match (self.check, self.unpin) {
                (true, _) => serve::What::Check,
                (_, true) => serve::What::Unpin(USUAL_PINS.into()),
                _ => serve::What::Serve,
            },
        }
    }
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("a setting is KEY=VALUE, for example limits.profiles=5")?;
    Ok((key.to_owned(), value.to_owned()))
}
