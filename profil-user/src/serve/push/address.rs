//! The URL that a profile is sent to.

use ureq::http::Uri;

use super::{Kind, PushError};
use crate::export::printable;

/// A receiver's URL, looked at.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// Scheme, host and path.
    base: String,
    /// What the person asked for in the query, if anything.
    query: Option<String>,
    is_encrypted: bool,
    is_here: bool,
}

impl Address {
    /// The address that somebody gave, with the path that the kind of receiver prescribes.
    pub(super) fn of(url: &str, kind: Kind) -> Result<Self, PushError> {
        let refuse = |why| {
            let url = url.split(['?', '#']).next().unwrap_or_default();
            // What stands before an @ may be a password.
            let url = match url.rsplit_once('@') {
                Some((_, host)) => format!("…@{}", printable(host)),
                None => printable(url).into_owned(),
            };
            Err(PushError::Url { url, why })
        };
        let Ok(uri) = url.parse::<Uri>() else {
            return refuse("it is no URL; give one such as https://pyroscope.example:4040");
        };
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return refuse("it begins with neither http:// nor https://"),
        };
        let Some(authority) = uri.authority() else {
            return refuse("it names no host");
        };
        if authority.as_str().contains('@') {
            return refuse("a user or password in it would be logged; give a token instead");
        }
        if authority.host().is_empty() {
            return refuse("it names no host");
        }
        if url.contains('#') {
            return refuse("what follows # is not sent; leave it out");
        }
        let mut path = uri.path().to_owned();
        let prescribed = match kind {
            Kind::Pyroscope => "/ingest",
            Kind::Otlp => "/v1development/profiles",
            Kind::Pprof => "",
        };
        if !path.ends_with(prescribed) {
            path.truncate(path.trim_end_matches('/').len());
            path.push_str(prescribed);
        }
        let scheme = if is_encrypted { "https" } else { "http" };
        let query = uri.query().filter(|query| !query.is_empty());
        Ok(Self {
            base: format!("{scheme}://{authority}{path}"),
            query: query.map(str::to_owned),
            is_encrypted,
            is_here: is_loopback(authority.host()),
        })
    }

    /// The address with more in the query.
    pub(super) fn with(&self, pairs: &[(&str, &str)]) -> String {
        let mut query = self.query.clone().unwrap_or_default();
        for (name, value) in pairs {
            if !query.is_empty() {
                query.push('&');
            }
            push_encoded(&mut query, name);
            query.push('=');
            push_encoded(&mut query, value);
        }
        if query.is_empty() {
            return self.base.clone();
        }
        format!("{}?{query}", self.base)
    }

    /// The address for people: a query may hold secrets.
    pub(super) fn shown(&self) -> &str {
        &self.base
    }

    /// Whether nobody on the way can read what is sent.
    pub(super) const fn is_private(&self) -> bool {
        self.is_encrypted || self.is_here
    }

    /// Whether it is this machine.
    pub(super) const fn is_here(&self) -> bool {
        self.is_here
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = |address: std::net::IpAddr| address.is_loopback();
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_address)
}

/// Adds a text with every byte but the unreserved ones of RFC 3986 (section 2.3) written as `%XX`.
fn push_encoded(query: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            query.push(char::from(byte));
        } else {
            query.push_str(&format!("%{byte:02X}"));
        }
    }
}
