//! How long to leave a receiver alone that could not take a profile.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{Duration, SystemTime},
};

/// However long a receiver asks for.
pub(super) const MOST_ASKED: Duration = Duration::from_secs(3600);

/// Waits that double, each between its half and its whole by chance, so that daemons that failed together
/// do not come back together.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    /// Waits that begin with one and end with the other.
    pub(super) const fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            next: first,
        }
    }

    /// It went well.
    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }

    /// How long to wait now, and not less than the receiver asked for.
    pub(super) fn wait(&mut self, asked: Option<Duration>) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.most);
        let half = whole / 2;
        let drawn = half + half.mul_f64(random() as f64 / u64::MAX as f64);
        drawn.max(asked.unwrap_or_default().min(MOST_ASKED))
    }
}

/// A number by chance, good enough to spread clients.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What `Retry-After` asks for: seconds, or a date (RFC 9110, section 10.2.3), as a time from now.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than fits is asked for by nobody in earnest.
        return Some(value.parse().map_or(MOST_ASKED, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}
