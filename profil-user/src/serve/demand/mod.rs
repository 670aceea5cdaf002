//! A deep look at one process, for a while: a clock of its own at `profhz`, which all that ask for the process
//! meanwhile share.
//!
//! The clock that is always on goes on as it was. So nothing is disturbed when a look begins and ends, and
//! each has its own memory, which is gone afterwards.

mod answer;
mod look;

use std::{collections::HashMap, fmt, thread, time::Duration};

use tokio::sync::{mpsc, oneshot};

use crate::options::{Rate, Tgid};
use answer::Packed;
use look::Look;

/// Looks at a time. Each takes as much memory as a session does.
const MOST_LOOKS: usize = 8;

/// Requests that wait to be taken in.
const QUEUE: usize = 64;

/// Whom to look at: a process, or all of them.
pub(crate) type Whom = Option<Tgid>;

/// What is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Wish {
    pub(crate) whom: Whom,
    pub(crate) rate: Rate,
    pub(crate) time: Duration,
}

/// Why there is no profile.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// There is nobody to look at, or nothing that can be.
    Nobody(String),
    /// Not now.
    Busy(String),
    /// It went wrong.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Nobody(text) | Self::Busy(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

type Answer = Result<Packed, Refusal>;

/// A wish, and whom to tell.
#[derive(Debug)]
struct Ask {
    wish: Wish,
    answer: oneshot::Sender<Answer>,
}

/// Takes wishes.
#[derive(Clone, Debug)]
pub(crate) struct Demand(mpsc::Sender<Ask>);

impl Demand {
    /// Starts the thread that has the privileges to look at processes: who asks need not.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (asks, mut wishes) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name("profil-demand".to_owned())
            .spawn(move || {
                let mut looks = Looks::default();
                while let Some(ask) = wishes.blocking_recv() {
                    looks.take(ask);
                }
            })?;
        Ok(Self(asks))
    }

    /// Looks, and returns a file of record, packed.
    pub(crate) async fn profile(&self, wish: Wish) -> Answer {
        // A look can end just when it is asked for more; the next one does not.
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            let (answer, answered) = oneshot::channel();
            let ask = Ask { wish, answer };
            if self.0.send(ask).await.is_err() {
                break;
            }
            if let Ok(answer) = answered.await {
                return answer;
            }
        }
        Err(Refusal::Busy(
            "the profile was given up; ask once more".to_owned(),
        ))
    }
}

/// What is being looked at.
#[derive(Default)]
struct Looks(HashMap<Whom, Look>);

impl Looks {
    fn take(&mut self, ask: Ask) {
        self.0.retain(|_, look| !look.is_over());
        let whom = ask.wish.whom;
        let ask = match self.0.get(&whom) {
            Some(look) if look.rate().hertz() < ask.wish.rate.hertz() * 0.999 => {
                let text = format!(
                    "it is being looked at with {} Hz; ask for no more than that, or later",
                    look.rate()
                );
                let _ = ask.answer.send(Err(Refusal::Busy(text)));
                return;
            }
            Some(look) => match look.join(ask) {
                Ok(()) => return,
                Err(ask) => ask,
            },
            None => ask,
        };
        self.0.remove(&whom);
        if self.0.len() >= MOST_LOOKS {
            let text = format!("{MOST_LOOKS} processes are being looked at already; ask later");
            let _ = ask.answer.send(Err(Refusal::Busy(text)));
            return;
        }
        // Who asked sees that nobody answers, if there can be no thread.
        if let Some(look) = Look::begin(ask) {
            self.0.insert(whom, look);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Demand, Refusal, Wish};
    use crate::options::Tgid;

    /// With or without privileges there is nothing to look at, and nobody is told to try again.
    #[test]
    fn all_who_ask_for_nobody_are_told_why_there_is_nothing() {
        const ASKS: usize = 20;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let demand = Demand::start().unwrap();
        let wish = Wish {
            whom: Tgid::new(u32::MAX >> 2),
            rate: "97".parse().unwrap(),
            time: Duration::from_millis(1),
        };
        let answers = runtime.block_on(async {
            let asks = std::iter::repeat_with(|| {
                let demand = demand.clone();
                tokio::spawn(async move { demand.profile(wish).await })
            });
            let asks: Vec<_> = asks.take(ASKS).collect();
            let mut answers = Vec::new();
            for ask in asks {
                answers.push(ask.await.unwrap());
            }
            answers
        });
        for answer in answers {
            let refusal = answer.unwrap_err();
            assert!(!matches!(refusal, Refusal::Busy(_)), "{refusal}");
        }
    }
}
