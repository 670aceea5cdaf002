//! Answers of the server itself: why a request goes no further.

use std::borrow::Cow;

use hyper::{StatusCode, header::HeaderName};

/// Why a request is not answered by the site, in one line.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) code: StatusCode,
    pub(super) why: Cow<'static, str>,
    pub(super) header: Option<(HeaderName, String)>,
}

impl Refusal {
    pub(super) fn new(code: StatusCode, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            why: why.into(),
            header: None,
        }
    }

    pub(super) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.header = Some((name, value.into()));
        self
    }
}
