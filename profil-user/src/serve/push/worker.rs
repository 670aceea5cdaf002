//! The thread that sends.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Pushed,
    backoff::Backoff,
    figures::Tally,
    inbox::Inbox,
    keeper::{Keeper, Trouble},
    send::{Outcome, Sender},
    talk::{Talk, Topic},
};

/// What it works with.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) keeper: Arc<Keeper>,
    pub(super) sender: Sender,
    pub(super) inbox: Arc<Inbox>,
    pub(super) backoff: Backoff,
    pub(super) talk: Talk,
    pub(super) tally: Tally,
    /// Before that, the receiver is left alone.
    pub(super) not_before: Option<Instant>,
}

/// Says that the thread has ended, also if it panics.
struct End(Arc<Inbox>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Worker {
    /// Sends what comes until it is asked to end.
    pub(super) fn run(mut self) {
        let _end = End(Arc::clone(&self.inbox));
        loop {
            self.account();
            let wake = match (self.tally.figures.waiting, self.not_before) {
                (0, _) => None,
                (_, wait) => Some(wait.unwrap_or_else(Instant::now)),
            };
            let (offered, stop_at) = self.inbox.take(wake);
            for pushed in offered {
                self.receive(pushed);
            }
            if let Some(stop_at) = stop_at {
                self.finish(stop_at);
                return;
            }
            if self.not_before.is_none_or(|wait| wait <= Instant::now()) {
                self.attempt(self.keeper.config().timeout);
            }
        }
    }

    fn account(&mut self) {
        self.keeper.enter(&mut self.tally);
        self.inbox.enter(self.tally);
    }

    fn receive(&mut self, pushed: Pushed) {
        match self.keeper.keep(pushed) {
            Ok(()) => {}
            Err(Trouble::Unfit(why)) => {
                let line = format_args!("a profile was not pushed: {why}");
                self.talk.seldom(Topic::Dropped, line);
            }
            Err(Trouble::Unwritten(error)) => {
                let place = self.keeper.line().place().unwrap_or_default();
                self.talk.seldom(
                    Topic::Disk,
                    format_args!(
                        "cannot keep a profile in {place}: {error}; it waits in memory, so make \
                         room there"
                    ),
                );
            }
        }
    }

    /// Sends the first that waits. Whether there was one, and it is off the list.
    fn attempt(&mut self, timeout: Duration) -> bool {
        let first = self.keeper.line().first(self.sender.content());
        let Some((number, parcel)) = first else {
            return false;
        };
        match self.sender.send(&parcel, timeout) {
            Outcome::Taken => {
                self.tally.figures.sent += 1;
                if self.not_before.take().is_some() {
                    self.talk.seldom(
                        Topic::Back,
                        format_args!("{} takes profiles again", self.sender.receiver()),
                    );
                }
            }
            Outcome::Refused(why) => {
                self.tally.figures.refused += 1;
                self.not_before = None;
                self.talk.seldom(
                    Topic::Refused,
                    format_args!(
                        "{} refused a profile, which is gone: {why}",
                        self.sender.receiver()
                    ),
                );
            }
            Outcome::Later { why, after } => {
                self.tally.figures.failed += 1;
                self.not_before = Some(Instant::now() + self.backoff.wait(after));
                self.talk.seldom(
                    Topic::Later,
                    format_args!(
                        "{} did not take a profile, which will be sent again: {why}",
                        self.sender.receiver()
                    ),
                );
                return false;
            }
        }
        self.backoff.reset();
        let removed = self.keeper.line().remove(number);
        if let Err(error) = removed {
            let place = self.keeper.line().place().unwrap_or_default();
            self.talk.seldom(
                Topic::Disk,
                format_args!(
                    "cannot remove what was sent from {place}: {error}; it will be sent again"
                ),
            );
        }
        true
    }

    /// Tries once more, whether the receiver was to be left alone or not, and leaves the rest for the next.
    fn finish(&mut self, stop_at: Instant) {
        loop {
            let left = stop_at.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.attempt(left.min(self.keeper.config().timeout)) {
                break;
            }
        }
        let lost = self.keeper.line().settle();
        if lost > 0 {
            self.talk.seldom(
                Topic::Lost,
                format_args!(
                    "{lost} profiles that were not sent are gone; a spool would keep them"
                ),
            );
        }
        self.account();
    }
}
