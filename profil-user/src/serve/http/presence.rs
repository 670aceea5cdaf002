//! Whether the other side is still there. The crate that speaks HTTP looks for that only as long as it has read nothing of a
//! further request: who has sent one is not missed there while an answer is made.

use std::{
    future::pending,
    io::{self, ErrorKind},
    os::fd::AsFd as _,
};

use tokio::{io::Interest, net::TcpStream};

/// Nobody waits for the answer: with this, the connection ends.
#[derive(Debug, thiserror::Error)]
#[error("who asked has gone")]
pub(super) struct Gone;

/// A look at a connection, beside whoever reads it.
pub(super) struct Presence(Option<TcpStream>);

impl Presence {
    /// Of a connection; where no descriptor is left, it is there for ever.
    pub(super) fn of(stream: &TcpStream) -> Self {
        let same = || {
            let same = stream.as_fd().try_clone_to_owned()?;
            TcpStream::from_std(same.into())
        };
        Self(same().ok())
    }

    /// Completes when the other side sends nothing any more, or has gone.
    pub(super) async fn ended(&self) {
        let Some(stream) = &self.0 else {
            return pending().await;
        };
        while let Ok(ready) = stream.ready(Interest::READABLE).await {
            if ready.is_read_closed() {
                return;
            }
            // Something was sent, which others read when it is its turn: wait for news.
            let not_now = || io::Result::<()>::Err(ErrorKind::WouldBlock.into());
            let _ = stream.try_io(Interest::READABLE, not_now);
        }
    }
}
