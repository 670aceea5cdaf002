//! What is asked over HTTP and what is answered, as plain values: the rooms behind the server know
//! neither sockets nor the crate that speaks HTTP.

use std::fmt::Display;

use bytes::Bytes;

/// A request that may be answered: who asks has been let in.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Request {
    /// `GET`, `HEAD` (answered as `GET`, without the body) or `POST`.
    pub method: String,
    /// The path, decoded, from its first slash.
    pub path: String,
    /// What follows the question mark.
    pub query: Query,
    /// The media types that are preferred (`Accept`), as they were sent; empty if none were.
    pub accept: String,
    /// What was sent with it, if anything.
    pub body: Bytes,
}

/// Names and values of a query, decoded, in their order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Query(pub Vec<(String, String)>);

impl Query {
    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        pairs.find_map(|(known, value)| (known == name).then_some(&value[..]))
    }
}

/// How a request went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// Here it is.
    Ok,
    /// The request makes no sense.
    BadRequest,
    /// There is no such thing.
    NotFound,
    /// It cannot be asked that way.
    MethodNotAllowed,
    /// Too much is asked for already.
    TooManyRequests,
    /// It went wrong here.
    Internal,
    /// Not now.
    Unavailable,
}

impl Status {
    /// The number that RFC 9110 gives it.
    pub const fn code(self) -> u16 {
        match self {
            Self::Ok => 200,
            Self::BadRequest => 400,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Response {
    /// How it went.
    pub status: Status,
    /// The media type of the body.
    pub content_type: &'static str,
    /// Further headers; values are visible ASCII.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

impl Response {
    /// What was asked for.
    pub fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status: Status::Ok,
            content_type,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// Why there is nothing, in one line.
    pub fn refusal(status: Status, why: impl Display) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            headers: Vec::new(),
            body: format!("{why}\n").into(),
        }
    }

    /// The same, with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
