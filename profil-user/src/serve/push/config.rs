//! Where profiles go, as a person asked for it.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use super::{PushError, address::Address, labels};

/// What is pushed, and by which rules a receiver wants it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Pyroscope's `/ingest`, and what speaks like it (Grafana Alloy).
    Pyroscope,
    /// The compressed `profile.proto` to any URL, with what it is of in the query.
    Pprof,
    /// OpenTelemetry's profiles over HTTP, a signal that is in development. Only if this program was
    /// built with the feature `otlp`.
    Otlp,
}

impl Kind {
    /// Whether a receiver is sent [`Pushed::rows`](super::Pushed::rows); if not,
    /// [`Pushed::pprof`](super::Pushed::pprof).
    pub const fn wants_rows(self) -> bool {
        matches!(self, Self::Otlp)
    }
}

impl FromStr for Kind {
    type Err = PushError;

    fn from_str(text: &str) -> Result<Self, PushError> {
        match text {
            "pyroscope" => Ok(Self::Pyroscope),
            "pprof" => Ok(Self::Pprof),
            "otlp" => Ok(Self::Otlp),
            _ => Err(PushError::Kind),
        }
    }
}

/// What only the receiver may see.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// A secret with this text, without the end of the line that files have.
    pub fn new(text: &str) -> Self {
        Self(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The text itself, for the receiver alone.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text of others with every copy of the secret taken out.
    pub(super) fn cut_from(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, "[token]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Where what could not be sent yet is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpoolConfig {
    /// A directory that nobody else may enter; it is made if only its last part is missing.
    pub directory: PathBuf,
    /// How much is kept in it; the oldest goes first.
    pub most_bytes: u64,
}

/// Where profiles go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PushConfig {
    /// The receiver: `http` or `https`. For [`Kind::Pyroscope`] and [`Kind::Otlp`] without the path that
    /// they prescribe, or with it.
    pub url: String,
    /// What it wants.
    pub kind: Kind,
    /// The time between two profiles, which is for whoever offers them to keep.
    pub interval: Duration,
    /// How long a receiver may take to answer.
    pub timeout: Duration,
    /// Sent as `Authorization: Bearer`.
    pub token: Option<Secret>,
    /// Certificates in PEM of those who may vouch for the receiver, instead of the public ones.
    pub ca_file: Option<PathBuf>,
    /// Where what waits is kept. Without it, it waits in memory, 8 MiB of it at most.
    pub spool: Option<SpoolConfig>,
    /// What is said of each profile.
    pub labels: Vec<(String, String)>,
    /// What the receiver calls what is profiled.
    pub application: String,
}

impl PushConfig {
    /// A push every 15 s that a receiver has 10 s for, with nothing else said.
    pub fn new(url: &str, kind: Kind) -> Self {
        Self {
            url: url.to_owned(),
            kind,
            interval: Duration::from_secs(15),
            timeout: Duration::from_secs(10),
            token: None,
            ca_file: None,
            spool: None,
            labels: Vec::new(),
            application: "profil-bpf".to_owned(),
        }
    }

    /// Looks at everything that can be told without the receiver, the network or a file.
    ///
    /// # Errors
    ///
    /// What cannot be sent, or should not be: the first thing that was found.
    pub fn check(&self) -> Result<(), PushError> {
        self.address().map(drop)
    }

    /// The receiver's address, if all is well.
    pub(super) fn address(&self) -> Result<Address, PushError> {
        if self.kind == Kind::Otlp && cfg!(not(feature = "otlp")) {
            return Err(PushError::NoOtlp);
        }
        for (what, time) in [("interval", self.interval), ("timeout", self.timeout)] {
            let allowed = Duration::from_secs(1)..=Duration::from_secs(3600);
            if !allowed.contains(&time) {
                return Err(PushError::Time(what));
            }
        }
        labels::check(self.kind, &self.application, &self.labels)?;
        let address = Address::of(&self.url, self.kind)?;
        if let Some(token) = &self.token {
            let text = token.reveal();
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(PushError::Token);
            }
            if !address.is_private() {
                return Err(PushError::TokenInClear(address.shown().to_owned()));
            }
        }
        Ok(address)
    }
}
