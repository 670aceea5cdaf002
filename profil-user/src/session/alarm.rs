//! A moment to wait for, or none.

use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep_until};

/// The next time that something is to be done. To wait for it again goes on with the same moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alarm(Option<Instant>);

impl Alarm {
    /// Rings after `delay`, or never.
    pub(super) fn set(&mut self, delay: Option<Duration>) {
        self.0 = delay.map(|delay| Instant::now() + delay);
    }

    /// Completes when it rings.
    pub(super) async fn rings(&self) {
        match self.0 {
            Some(moment) => sleep_until(moment).await,
            None => pending().await,
        }
    }
}
