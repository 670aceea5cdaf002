//! The tables of the file.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

/// Who may look: `[access]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Access {
    /// A file with the token that every request must show.
    pub token_file: Option<PathBuf>,
    /// Whether that token may travel unencrypted to addresses other than this machine's own.
    pub insecure_token: bool,
    /// The server's certificate and those that it was signed with, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Who signs certificates of clients, in PEM: with it, only those get in.
    pub client_ca: Option<PathBuf>,
    /// Names that the machine is called by in URLs, besides addresses and `localhost`.
    pub hosts: Vec<String>,
}

/// Why an address is not served: anybody could look.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Exposed {
    /// Nothing keeps strangers out.
    #[error(
        "{0} can be reached from other machines: set access.token_file with access.tls_cert and \
         access.tls_key, or access.client_ca; or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The token could be read on its way.
    #[error(
        "the token would travel to {0} unencrypted: set access.tls_cert and access.tls_key, or \
         access.insecure_token = true if something else encrypts"
    )]
    Plain(SocketAddr),
}

impl Access {
    /// Whether connections are encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// Whether an address may be served: those of this machine alone always, others only if who asks
    /// has to prove something.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub fn allows(&self, address: SocketAddr) -> Result<(), Exposed> {
        let is_own = is_loopback(address.ip());
        let is_mutual = self.is_encrypted() && self.client_ca.is_some();
        if is_own || is_mutual {
            return Ok(());
        }
        match (&self.token_file, self.is_encrypted()) {
            (None, _) => Err(Exposed::Open(address)),
            (Some(_), false) if !self.insecure_token => Err(Exposed::Plain(address)),
            (Some(_), _) => Ok(()),
        }
    }
}

/// Whether only this machine can reach an address, also if it is written as one of IPv6.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// How much may be asked for: `[limits]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Most connections at a time.
    pub connections: u32,
    /// Most requests a second from one address, for long; twice as many for a moment.
    pub requests_per_second: u32,
    /// Most profiles on demand at a time.
    pub profiles: u32,
    /// Longest profile on demand, in seconds.
    pub profile_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            requests_per_second: 400,
            profiles: 20,
            profile_seconds: 300,
        }
    }
}

/// What `/metrics` holds: `[metrics]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Metrics {
    /// Most time series, whatever runs.
    pub series: u32,
    /// How long a series without ticks is kept.
    pub cold: Duration,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            series: 1000,
            cold: Duration::from_secs(3600),
        }
    }
}

/// What is kept for people: `[history]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct History {
    /// How many minutes.
    pub minutes: u32,
    /// Most rows of a minute.
    pub cells: u32,
    /// Most memory for all of it.
    pub memory: Size,
    /// Where it outlives the daemon; nowhere without.
    pub dir: Option<PathBuf>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            minutes: 1440,
            cells: 2000,
            memory: Size(64 << 20),
            dir: None,
        }
    }
}

/// What outlives the daemon, so that it can be restarted without loss: `[pin]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pin {
    /// Where the counters are pinned, on a BPF file system; nothing is pinned without.
    pub dir: Option<PathBuf>,
    /// Where what belongs to the pinned counters is written down.
    pub state: PathBuf,
}

impl Default for Pin {
    fn default() -> Self {
        Self {
            dir: None,
            state: "/run/profil-bpf".into(),
        }
    }
}

/// Where profiles are sent to: `[push]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Push {
    /// The server; nothing is sent without.
    pub url: Option<String>,
    /// What it speaks.
    pub kind: PushKind,
    /// How often.
    pub interval: Duration,
    /// A file with the token that is shown to it.
    pub token_file: Option<PathBuf>,
    /// Who signs its certificate, in PEM; the authorities of the Web without.
    pub ca_file: Option<PathBuf>,
    /// Where profiles wait while it cannot be reached; in memory without.
    pub spool: Option<PathBuf>,
    /// Most bytes that wait.
    pub spool_bytes: Size,
    /// What every profile is marked with.
    pub labels: BTreeMap<String, String>,
}

impl Default for Push {
    fn default() -> Self {
        Self {
            url: None,
            kind: PushKind::default(),
            interval: Duration::from_secs(15),
            token_file: None,
            ca_file: None,
            spool: None,
            spool_bytes: Size(64 << 20),
            labels: BTreeMap::new(),
        }
    }
}

/// What a server of profiles speaks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PushKind {
    /// Pyroscope's way to take pprof.
    #[default]
    Pyroscope,
    /// pprof in the body of a POST.
    Pprof,
    /// OpenTelemetry's profiles.
    Otlp,
}

/// An amount of bytes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = super::value::UNITS
            .iter()
            .find(|(_, bytes)| self.0 > 0 && self.0.is_multiple_of(*bytes));
        match fits {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}B", self.0),
        }
    }
}
