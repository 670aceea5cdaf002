//! Why there is no server.

use std::{io, net::SocketAddr, path::PathBuf};

use crate::serve::config::Exposed;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody could look.
    #[error("cannot listen: {0}")]
    Exposed(#[from] Exposed),
    /// The address cannot be had.
    #[error(
        "cannot listen on {address}; `ss -ltnp` shows who else does, and --listen takes another \
         address"
    )]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The token cannot be had.
    #[error("cannot take the token from {path:?}: {why}")]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Certificates or their key cannot be had.
    #[error("cannot use {path:?} for TLS: {why}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
}
