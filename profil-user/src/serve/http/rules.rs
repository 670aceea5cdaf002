//! What holds for requests, until it is read again.

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use tokio_rustls::TlsAcceptor;

use super::{ServeError, counts::Tally, rate::Rates, tls, token::Token};
use crate::serve::config::{Access, Limits};

/// What holds for requests and new connections.
pub(super) struct Rules {
    pub(super) token: Option<Token>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) hosts: Vec<String>,
    pub(super) connections: usize,
    pub(super) requests_per_second: u32,
}

impl Rules {
    /// Reads what the configuration names, for the addresses that are served.
    pub(super) fn read(
        access: &Access,
        limits: &Limits,
        served: &[SocketAddr],
    ) -> Result<Self, ServeError> {
        for &address in served {
            access.allows(address)?;
        }
        Ok(Self {
            token: access.token_file.as_deref().map(Token::read).transpose()?,
            tls: tls::acceptor(access)?,
            hosts: access.hosts.clone(),
            connections: limits.connections as usize,
            requests_per_second: limits.requests_per_second,
        })
    }
}

/// What all connections share.
pub(super) struct Shared {
    rules: RwLock<Arc<Rules>>,
    pub(super) rates: Mutex<Rates>,
    pub(super) tally: Tally,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules: RwLock::new(Arc::new(rules)),
            rates: Mutex::default(),
            tally: Tally::default(),
        }
    }

    /// What holds now.
    pub(super) fn rules(&self) -> Arc<Rules> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&rules)
    }

    pub(super) fn replace(&self, rules: Rules) {
        let mut place = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(rules);
    }
}
