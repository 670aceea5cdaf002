//! Listening, and connections as they come and go.

use std::{
    future::poll_fn,
    io, mem,
    net::{SocketAddr, TcpListener as Socket},
    pin::pin,
    sync::{Arc, Weak},
    task::Poll,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Counts, ServeError, Site,
    connection::{Connection, Patience, turn_away},
    counts::bump,
    rules::{Rules, Shared},
};
use crate::serve::config::{Access, Limits};

/// Most connections that are being told that there are too many.
const MOST_TURNED_AWAY: usize = 16;

/// How long to wait when no connection can be taken, for want of file descriptors, say.
const OUT_OF_BREATH: Duration = Duration::from_millis(100);

/// A server that has its addresses, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    sockets: Vec<Socket>,
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    pub(super) patience: Patience,
}

/// A hold on a running server.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Weak<Shared>,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// Reads the token and the certificates, and takes the addresses; no runtime is needed yet.
    ///
    /// # Errors
    ///
    /// Anybody could look, a file cannot be used, or an address cannot be had.
    pub fn bind(
        listen: &[SocketAddr],
        access: &Access,
        limits: &Limits,
    ) -> Result<Self, ServeError> {
        let rules = Rules::read(access, limits, listen)?;
        let (mut sockets, mut addresses) = (Vec::new(), Vec::new());
        for &address in listen {
            let bound = || {
                let socket = Socket::bind(address)?;
                socket.set_nonblocking(true)?;
                let address = socket.local_addr()?;
                io::Result::Ok((socket, address))
            };
            let (socket, bound) =
                bound().map_err(|source| ServeError::Listen { address, source })?;
            sockets.push(socket);
            addresses.push(bound);
        }
        Ok(Self {
            sockets,
            addresses,
            shared: Arc::new(Shared::new(rules)),
            patience: Patience::default(),
        })
    }

    /// The addresses that it has, in the order in which they were asked for, with the ports that the
    /// system chose for those of number 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A hold on it, for while it runs.
    pub fn handle(&self) -> Handle {
        Handle {
            shared: Arc::downgrade(&self.shared),
            addresses: self.addresses.clone(),
        }
    }

    /// Serves a site until it is told to stop. Then connections without a request are closed, and those
    /// with one have three seconds left. Works on a runtime of one thread, and on others; it needs timers
    /// and I/O.
    ///
    /// # Errors
    ///
    /// The runtime cannot take the sockets.
    pub async fn run(
        mut self,
        site: Arc<dyn Site>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let mut listeners = Vec::new();
        for (socket, &address) in mem::take(&mut self.sockets)
            .into_iter()
            .zip(&self.addresses)
        {
            let listener = TcpListener::from_std(socket);
            listeners.push(listener.map_err(|source| ServeError::Listen { address, source })?);
        }
        let (stopping, stopped) = watch::channel(());
        let (mut connections, mut turned_away) = (JoinSet::new(), JoinSet::new());
        let mut stop = pin!(stop);
        let mut first = 0;
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                Some(_) = connections.join_next() => continue,
                Some(_) = turned_away.join_next() => continue,
                accepted = accept(&listeners, &mut first) => accepted,
            };
            let Ok((stream, from)) = accepted else {
                tokio::select! {
                    () = &mut stop => break,
                    () = sleep(OUT_OF_BREATH) => continue,
                }
            };
            let rules = self.shared.rules();
            if connections.len() >= rules.connections {
                bump(&self.shared.tally.turned_away);
                if turned_away.len() < MOST_TURNED_AWAY {
                    turned_away.spawn(turn_away(stream, rules.tls.is_some()));
                }
                continue;
            }
            bump(&self.shared.tally.connections);
            let connection = Connection {
                shared: Arc::clone(&self.shared),
                site: Arc::clone(&site),
                from,
                patience: self.patience,
                stop: stopped.clone(),
            };
            connections.spawn(connection.run(stream));
        }
        drop(listeners);
        let _ = stopping.send(());
        // Whoever is not done by then is cut off, with the set.
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(self.patience.stop, all).await;
        Ok(())
    }
}

/// The next connection at any of the sockets, each of which gets its turn.
async fn accept(
    listeners: &[TcpListener],
    first: &mut usize,
) -> io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|context| {
        for number in 0..listeners.len() {
            let at = (*first + number) % listeners.len();
            if let Poll::Ready(accepted) = listeners[at].poll_accept(context) {
                *first = at + 1;
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}

impl Handle {
    /// Reads the token and the certificates again, and takes over new limits and names: for requests and
    /// connections from now on. Addresses stay.
    ///
    /// # Errors
    ///
    /// As for [`Server::bind`]; what held before still does.
    pub fn reload(&self, access: &Access, limits: &Limits) -> Result<(), ServeError> {
        let rules = Rules::read(access, limits, &self.addresses)?;
        if let Some(shared) = self.shared.upgrade() {
            shared.replace(rules);
        }
        Ok(())
    }

    /// What became of connections and requests; nothing once the server has stopped.
    pub fn counts(&self) -> Counts {
        let shared = self.shared.upgrade();
        shared
            .map(|shared| shared.tally.counts())
            .unwrap_or_default()
    }
}
