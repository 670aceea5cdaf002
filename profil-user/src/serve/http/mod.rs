//! The server in front: HTTP/1.1, with or without TLS, for whoever may look and as much as one may ask.
//! What is answered is a [`Site`]'s to say, which sees only requests that were let in.
//!
//! What a request goes through, in this order: how many its sender has made (`rate.rs`), which machine it
//! believes to talk to and which page made it (`origin.rs`), the token (`token.rs`), what it asks for, in
//! plain letters (`decode.rs`), and its body.

mod admission;
mod connection;
mod counts;
mod decode;
mod error;
mod origin;
mod patience;
mod presence;
mod rate;
mod refusal;
mod reply;
mod rules;
mod secret;
mod server;
mod tls;
mod token;

#[cfg(test)]
mod tests;

use std::{pin::Pin, sync::Arc};

use super::{Request, Response};

pub use counts::Counts;
#[cfg(feature = "fuzz")]
pub(crate) use decode::{path, query};
pub use error::ServeError;
pub(super) use secret::{GROUP_OR_OTHERS, read as read_private};
pub use server::{Handle, Server};
#[cfg(feature = "fuzz")]
pub(crate) use token::shown;

/// What answers requests.
pub trait Site: Send + Sync + 'static {
    /// Answers a request. The answer is dropped unfinished when who asked has gone, or the server stops;
    /// a panic becomes an answer of its own.
    fn answer(self: Arc<Self>, request: Request) -> Answer;
}

/// An answer on its way.
pub type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;
