//! One look: a session, from the first who asks to the last.

use std::{future::pending, sync::Arc, thread, time::Duration};

use tokio::sync::{mpsc, watch};

use super::{
    Ask, Refusal, Wish,
    answer::{Answerer, Job},
};
use crate::{
    error::StartError,
    options::{Options, Rate, Split, Target},
    serve::chain,
    session::{Session, Snapshot, Taken},
    target::TargetError,
};
use profil_common::Wanted;

/// How often it is read: as much longer than asked for can a profile be.
const DRAIN: Duration = Duration::from_millis(200);

/// Requests that wait to be taken in.
const QUEUE: usize = 64;

/// A look that is being taken.
pub(super) struct Look {
    rate: Rate,
    asks: mpsc::Sender<Ask>,
}

impl Look {
    /// Begins one, with the first who asks.
    pub(super) fn begin(first: Ask) -> Option<Self> {
        let (asks, wishes) = mpsc::channel(QUEUE);
        let rate = first.wish.rate;
        let thread = thread::Builder::new().name("profil-look".to_owned());
        let begun = thread.spawn(move || look(first, wishes));
        begun.ok().map(|_| Self { rate, asks })
    }

    pub(super) const fn rate(&self) -> Rate {
        self.rate
    }

    pub(super) fn is_over(&self) -> bool {
        self.asks.is_closed()
    }

    /// Lets somebody else have part of it; gives the wish back, if it is over.
    pub(super) fn join(&self, ask: Ask) -> Result<(), Ask> {
        self.asks.try_send(ask).map_err(|error| match error {
            mpsc::error::TrySendError::Full(ask) | mpsc::error::TrySendError::Closed(ask) => ask,
        })
    }
}

/// Somebody who waits.
struct Waiting {
    ask: Ask,
    /// What was there before; `None` until that is known.
    since: Option<Option<Arc<Taken>>>,
}

fn options(wish: &Wish) -> Options {
    let target = wish
        .whom
        .map_or(Target::Everything, |tgid| Target::Processes(vec![tgid]));
    Options {
        rate: wish.rate,
        mode: if wish.whom.is_some() {
            Wanted::Both
        } else {
            Wanted::Split
        },
        split: if wish.whom.is_some() {
            Split::Summed
        } else {
            Split::ByProcess
        },
        // A program can be in step with a clock of one period.
        jitter: true,
        drain_interval: DRAIN,
        ..Options::new(target)
    }
}

fn look(first: Ask, mut wishes: mpsc::Receiver<Ask>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let answerer = Answerer::start();
    let (Ok(runtime), Ok(answerer)) = (runtime, answerer) else {
        return;
    };
    let session = runtime.block_on(async { Session::attach(&options(&first.wish)) });
    match session {
        Err(error) => {
            let refusal = refusal_of(&error);
            // What is so for one is so for all: nobody has to try again.
            wishes.close();
            let others = std::iter::from_fn(|| wishes.try_recv().ok());
            for ask in std::iter::once(first).chain(others) {
                let _ = ask.answer.send(Err(refusal.clone()));
            }
        }
        Ok(session) => runtime.block_on(serve(session, first, wishes, &answerer)),
    }
}

/// Answers who asks until nobody does.
async fn serve(session: Session, first: Ask, mut wishes: mpsc::Receiver<Ask>, answerer: &Answerer) {
    let mut snapshots = session.snapshots();
    let stop = watch::Sender::new(false);
    let mut stopped = stop.subscribe();
    let run = session.run(async move {
        if stopped.wait_for(|&stop| stop).await.is_err() {
            pending::<()>().await;
        }
    });
    tokio::pin!(run);
    let mut waiting = vec![Waiting {
        ask: first,
        since: Some(None),
    }];
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut run => break ended,
            Some(ask) = wishes.recv() => waiting.push(Waiting { ask, since: None }),
            Ok(()) = snapshots.changed() => {
                let snapshot = snapshots.borrow_and_update().clone();
                settle(&snapshot, &mut waiting, answerer);
                if waiting.is_empty() {
                    stop.send_replace(true);
                }
            }
        }
    };
    // Who comes now begins another one.
    wishes.close();
    while let Ok(ask) = wishes.try_recv() {
        waiting.push(Waiting { ask, since: None });
    }
    match ended {
        Err(error) => {
            let why = format!("the profile could not be finished: {}", chain(&error));
            for waiting in waiting {
                let _ = waiting.ask.answer.send(Err(Refusal::Failed(why.clone())));
            }
        }
        Ok(taken) => {
            let taken = Arc::new(taken);
            for Waiting { ask, since } in waiting {
                // Who came when it was over is told to ask again: the answer is dropped.
                if let Some(since) = since {
                    answerer.answer(job(ask, since, &taken));
                }
            }
        }
    }
}

/// Answers whose time is over. Whoever has gone away is not waited for.
fn settle(snapshot: &Snapshot, waiting: &mut Vec<Waiting>, answerer: &Answerer) {
    let Some(now) = snapshot else {
        return;
    };
    let over = |waiting: &mut Waiting| {
        let Some(since) = &waiting.since else {
            waiting.since = Some(Some(Arc::clone(now)));
            return false;
        };
        let before = since
            .as_ref()
            .map_or(Duration::ZERO, |taken| taken.profile.elapsed);
        let elapsed = now.profile.elapsed.saturating_sub(before);
        elapsed >= waiting.ask.wish.time || waiting.ask.answer.is_closed()
    };
    for Waiting { ask, since } in waiting.extract_if(.., over) {
        if !ask.answer.is_closed() {
            answerer.answer(job(ask, since.flatten(), now));
        }
    }
}

fn job(ask: Ask, since: Option<Arc<Taken>>, until: &Arc<Taken>) -> Job {
    Job {
        since,
        until: Arc::clone(until),
        answer: ask.answer,
    }
}

fn refusal_of(error: &StartError) -> Refusal {
    let text = chain(error);
    match error {
        StartError::Target(TargetError::Unreadable { .. }) => Refusal::Failed(text),
        StartError::Target(_) | StartError::Ended(_) => Refusal::Nobody(text),
        _ => Refusal::Failed(text),
    }
}
