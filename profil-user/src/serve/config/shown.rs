//! A configuration in the syntax of its file: what holds, without secrets, because there are none in
//! it but the names of the files that hold them.

use std::{collections::BTreeMap, fmt, net::SocketAddr, path::PathBuf, time::Duration};

use super::{Config, Mode, PushKind, Size, keys::KEYS};

/// A value in TOML.
pub(super) trait Shown {
    /// `None` if there is no value.
    fn shown(&self) -> Option<String>;
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = "";
        for key in KEYS {
            let (within, name) = key.name.split_once('.').unwrap_or(("", key.name));
            if within != table {
                table = within;
                write!(f, "\n[{table}]\n")?;
            }
            match (key.show)(self) {
                Some(value) => writeln!(f, "{name} = {value}")?,
                None => writeln!(f, "# {name} is not set")?,
            }
        }
        Ok(())
    }
}

/// A text in quotes. Values have no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.map(|item| quoted(&item)).collect();
    Some(format!("[{}]", items.join(", ")))
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Option<String> {
        self.as_ref().and_then(T::shown)
    }
}

impl Shown for u32 {
    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Shown for bool {
    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Shown for String {
    fn shown(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl Shown for PathBuf {
    fn shown(&self) -> Option<String> {
        Some(quoted(&self.to_string_lossy()))
    }
}

impl Shown for Duration {
    fn shown(&self) -> Option<String> {
        Some(quoted(&humantime::format_duration(*self).to_string()))
    }
}

impl Shown for Size {
    fn shown(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Shown for Vec<SocketAddr> {
    fn shown(&self) -> Option<String> {
        list(self.iter().map(SocketAddr::to_string))
    }
}

impl Shown for Vec<String> {
    fn shown(&self) -> Option<String> {
        list(self.iter().cloned())
    }
}

impl Shown for BTreeMap<String, String> {
    fn shown(&self) -> Option<String> {
        let pair =
            |(name, value): (&String, &String)| format!("{} = {}", quoted(name), quoted(value));
        let pairs: Vec<String> = self.iter().map(pair).collect();
        Some(if pairs.is_empty() {
            "{}".to_owned()
        } else {
            format!("{{ {} }}", pairs.join(", "))
        })
    }
}

impl Shown for Mode {
    fn shown(&self) -> Option<String> {
        Some(quoted(match self {
            Self::Split => "split",
            Self::Prof => "prof",
        }))
    }
}

impl Shown for PushKind {
    fn shown(&self) -> Option<String> {
        Some(quoted(match self {
            Self::Pyroscope => "pyroscope",
            Self::Pprof => "pprof",
            Self::Otlp => "otlp",
        }))
    }
}
