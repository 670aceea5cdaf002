//! Why nothing can be pushed as it was asked for.

use std::{io, path::PathBuf};

/// Why nothing can be pushed as it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// No such kind of receiver.
    #[error("no such kind of receiver; there are pyroscope, pprof and otlp")]
    Kind,
    /// The feature is missing.
    #[error(
        "this program was built without OTLP, whose profiles are in development: build it with \
         --features otlp, or push to a receiver of the kind pyroscope or pprof"
    )]
    NoOtlp,
    /// A time that makes no sense.
    #[error("the {0} of a push is between 1 s and 1 h; give one of those")]
    Time(&'static str),
    /// The receiver's URL.
    #[error("cannot push to {url}: {why}")]
    Url {
        /// It, without what may be secret in it.
        url: String,
        /// What is wrong, and what to do.
        why: &'static str,
    },
    /// A token that no header can hold.
    #[error(
        "the token for pushing is not visible ASCII characters without a space; look at its file"
    )]
    Token,
    /// A token that others on the way could read.
    #[error("the token for {0} could be read on the way: use https, or leave the token out")]
    TokenInClear(String),
    /// A name or a value that receivers would not take, or not as it is.
    #[error("cannot push {what} {text:?}: {why}")]
    Name {
        /// What it was given as.
        what: &'static str,
        /// It, fit for a terminal.
        text: String,
        /// What it should look like.
        why: &'static str,
    },
    /// The certificates cannot be read.
    #[error("cannot read certificates from {}: {error}; give a file in PEM", path.display())]
    CertificateFile {
        /// The file.
        path: PathBuf,
        /// What the system or the parser said.
        error: String,
    },
    /// The directory for what waits.
    #[error("cannot keep what waits in {}: {why}", path.display())]
    Spool {
        /// It.
        path: PathBuf,
        /// What the system said, and what to do.
        why: String,
    },
    /// The thread that sends.
    #[error("cannot start a thread for pushing: {0}; raise the limit of threads")]
    Thread(#[source] io::Error),
}
