//! Values as they are written, in TOML or after a flag, and what they mean. Whatever is wrong is said
//! as what would have been right.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use toml::de::{DeString, DeValue};

use super::{Mode, PushKind, Size};

/// Units of sizes and their bytes, the largest first.
pub(super) const UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Longest text of any kind, in bytes, and most items of a list.
const LONGEST: usize = 4096;
const MOST: usize = 64;

/// A value as it was written.
pub(super) enum Raw<'a> {
    /// In the file.
    Toml(&'a DeValue<'a>),
    /// After a flag: what kind it is depends on what is wanted.
    Flag(&'a str),
}

/// A value, or what is allowed in its place.
pub(super) type Meant<T> = Result<T, String>;

impl Raw<'_> {
    /// As a person would recognise it.
    pub(super) fn shown(&self) -> String {
        let text = match self {
            Self::Flag(text) => (*text).to_owned(),
            Self::Toml(DeValue::String(text)) => format!("\"{text}\""),
            Self::Toml(DeValue::Integer(number)) => number.to_string(),
            Self::Toml(DeValue::Float(number)) => number.to_string(),
            Self::Toml(DeValue::Boolean(truth)) => truth.to_string(),
            Self::Toml(DeValue::Datetime(time)) => time.to_string(),
            Self::Toml(DeValue::Array(_)) => "a list".to_owned(),
            Self::Toml(DeValue::Table(_)) => "a table".to_owned(),
        };
        let mut letters = text.chars();
        let short: String = letters.by_ref().take(60).collect();
        short + if letters.next().is_some() { "…" } else { "" }
    }

    fn text(&self) -> Option<&str> {
        let text = match self {
            Self::Flag(text) => text,
            Self::Toml(DeValue::String(text)) => &**text,
            Self::Toml(_) => return None,
        };
        (text.len() <= LONGEST && !text.chars().any(char::is_control)).then_some(text)
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Flag(text) => text.parse().ok(),
            Self::Toml(DeValue::Integer(number)) => {
                u64::from_str_radix(number.as_str(), number.radix()).ok()
            }
            Self::Toml(_) => None,
        }
    }

    fn list(&self) -> Option<Vec<Cow<'_, str>>> {
        let items: Vec<Cow<'_, str>> = match self {
            Self::Flag(text) => {
                let items = text.split(',').map(str::trim);
                items
                    .filter(|item| !item.is_empty())
                    .map(Cow::Borrowed)
                    .collect()
            }
            Self::Toml(DeValue::Array(items)) => {
                let items = items.iter().map(|item| text_of(item.get_ref()));
                items
                    .map(|item| item.map(|text| Cow::Borrowed(&**text)))
                    .collect::<Option<_>>()?
            }
            Self::Toml(_) => return None,
        };
        (items.len() <= MOST).then_some(items)
    }

    fn pairs(&self) -> Option<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
        match self {
            Self::Flag(_) => {
                let items = self.list()?;
                let pair = |item: Cow<'_, str>| {
                    let (name, value) = item.split_once('=')?;
                    Some((name.to_owned().into(), value.to_owned().into()))
                };
                items.into_iter().map(pair).collect()
            }
            Self::Toml(DeValue::Table(table)) if table.len() <= MOST => {
                let pairs = table.iter().map(|(name, value)| {
                    let value = text_of(value.get_ref())?;
                    Some((Cow::Borrowed(&**name.get_ref()), Cow::Borrowed(&**value)))
                });
                pairs.collect()
            }
            Self::Toml(_) => None,
        }
    }
}

fn text_of<'a>(value: &'a DeValue<'_>) -> Option<&'a DeString<'a>> {
    match value {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

/// A whole number within bounds.
pub(super) fn whole(raw: &Raw<'_>, least: u32, most: u32) -> Meant<u32> {
    let number = raw.number().and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("a whole number from {least} to {most}"))
}

/// A span of time within bounds, in seconds.
pub(super) fn duration(raw: &Raw<'_>, least: f64, most: f64) -> Meant<Duration> {
    let [low, high] = [least, most].map(Duration::from_secs_f64);
    let meant = raw
        .text()
        .and_then(|text| humantime::parse_duration(text).ok());
    meant
        .filter(|duration| (low..=high).contains(duration))
        .ok_or_else(|| {
            let [low, high] = [low, high].map(humantime::format_duration);
            format!("a time from \"{low}\" to \"{high}\"")
        })
}

/// An amount of bytes within bounds.
pub(super) fn size(raw: &Raw<'_>, least: u64, most: u64) -> Meant<Size> {
    let written = || {
        let text = raw.text()?;
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = if unit.is_empty() {
            "B"
        } else {
            unit.trim_start()
        };
        let (_, bytes) = UNITS.iter().find(|(name, _)| *name == unit)?;
        digits.parse::<u64>().ok()?.checked_mul(*bytes)
    };
    raw.number()
        .or_else(written)
        .filter(|bytes| (least..=most).contains(bytes))
        .map(Size)
        .ok_or_else(|| {
            let [low, high] = [Size(least), Size(most)];
            format!("a size in KiB, MiB or GiB, from \"{low}\" to \"{high}\"")
        })
}

/// Yes or no.
pub(super) fn truth(raw: &Raw<'_>) -> Meant<bool> {
    match raw {
        Raw::Toml(DeValue::Boolean(truth)) => Ok(*truth),
        Raw::Flag("true") => Ok(true),
        Raw::Flag("false") => Ok(false),
        _ => Err("true or false".to_owned()),
    }
}

/// A file or directory. In the file it is absolute, because a daemon starts anywhere; after a flag it is
/// seen from where the person is.
pub(super) fn path(raw: &Raw<'_>) -> Meant<PathBuf> {
    let allowed = || "an absolute path, in quotes".to_owned();
    let text = raw
        .text()
        .filter(|text| !text.is_empty())
        .ok_or_else(allowed)?;
    match raw {
        Raw::Flag(_) => std::path::absolute(text).map_err(|_| allowed()),
        Raw::Toml(_) if Path::new(text).is_absolute() => Ok(text.into()),
        Raw::Toml(_) => Err(allowed()),
    }
}

/// The same, where there may be none.
pub(super) fn some_path(raw: &Raw<'_>) -> Meant<Option<PathBuf>> {
    path(raw).map(Some)
}

/// Where to listen.
pub(super) fn addresses(raw: &Raw<'_>) -> Meant<Vec<SocketAddr>> {
    let items = raw.list();
    let meant = items.and_then(|items| items.iter().map(|item| item.parse().ok()).collect());
    meant.ok_or_else(|| {
        "a list of addresses with ports, such as [\"127.0.0.1:9097\", \"[::1]:9097\"]".to_owned()
    })
}

/// Names of hosts, in small letters.
pub(super) fn hosts(raw: &Raw<'_>) -> Meant<Vec<String>> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_host =
        |item: &Cow<'_, str>| (1..=253).contains(&item.len()) && item.chars().all(is_letter);
    let items = raw.list().filter(|items| items.iter().all(is_host));
    let names = items.map(|items| items.iter().map(|item| item.to_ascii_lowercase()).collect());
    names.ok_or_else(|| "a list of host names without ports, such as [\"node7.lan\"]".to_owned())
}

/// What is sent along with every profile.
pub(super) fn labels(raw: &Raw<'_>) -> Meant<BTreeMap<String, String>> {
    let is_name = |name: &str| {
        let first = name.chars().next();
        let known = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
        first.is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
            && name.chars().all(known)
            && name.len() <= 128
    };
    let is_value = |value: &str| value.len() <= 256 && !value.chars().any(char::is_control);
    let pairs = raw.pairs().filter(|pairs| {
        let mut pairs = pairs.iter();
        pairs.all(|(name, value)| is_name(name) && is_value(value))
    });
    let owned = pairs.map(|pairs| {
        let pairs = pairs.into_iter();
        pairs
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect()
    });
    owned.ok_or_else(|| {
        "a table of names (letters, digits, _ and .) and texts, such as { region = \"eu\" }"
            .to_owned()
    })
}

/// A server's URL. What it carries of a person or a password would show wherever the URL does.
pub(super) fn url(raw: &Raw<'_>) -> Meant<Option<String>> {
    let is_url = |text: &&str| {
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        let visible = text.chars().all(|letter| letter.is_ascii_graphic());
        rest.is_some_and(|rest| {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            !authority.is_empty() && !authority.contains('@') && visible
        })
    };
    let text = raw.text().filter(is_url).map(str::to_owned);
    text.map(Some).ok_or_else(|| {
        "a URL that begins with http:// or https://, without a user or a password (those belong \
         into push.token_file)"
            .to_owned()
    })
}

/// What ticks in kernel mode are charged to.
pub(super) fn mode(raw: &Raw<'_>) -> Meant<Mode> {
    match raw.text() {
        Some("split") => Ok(Mode::Split),
        Some("prof") => Ok(Mode::Prof),
        _ => Err("\"split\" or \"prof\"".to_owned()),
    }
}

/// What a server of profiles speaks.
pub(super) fn push_kind(raw: &Raw<'_>) -> Meant<PushKind> {
    match raw.text() {
        Some("pyroscope") => Ok(PushKind::Pyroscope),
        Some("pprof") => Ok(PushKind::Pprof),
        Some("otlp") => Ok(PushKind::Otlp),
        _ => Err("\"pyroscope\", \"pprof\" or \"otlp\"".to_owned()),
    }
}
