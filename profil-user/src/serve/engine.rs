//! The thread that reads the counters, and keeps what the kernel says of processes.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::{MissedTickBehavior, interval},
};

use super::chain;
use crate::{
    error::RunError,
    watch::{Increment, Watch},
};

/// How often CPUs are counted.
const CPUS: Duration = Duration::from_secs(1);

/// Turns that were asked for come no sooner than this after the one before.
const SOONEST: Duration = Duration::from_millis(50);

/// The table of strays is read more often from this part of it on, up to this often.
const FULL: usize = 4;
const HASTE: Duration = Duration::from_millis(100);

/// How soon the same is said again.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// What ticked, on its way to the counters.
pub(crate) struct Turned {
    pub(crate) increment: Increment,
    /// When the turn began.
    pub(crate) began: Instant,
    /// Told when it is safely kept, and can be removed from the kernel.
    pub(crate) kept: oneshot::Sender<()>,
}

/// How to make an engine do something.
#[derive(Clone, Debug)]
pub(crate) struct EngineControl {
    turn: Arc<Notify>,
    stop: Arc<watch::Sender<bool>>,
}

impl EngineControl {
    pub(crate) fn new() -> Self {
        Self {
            turn: Arc::new(Notify::new()),
            stop: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Has the counters read now.
    pub(crate) fn turn(&self) {
        self.turn.notify_one();
    }

    /// Has them read for the last time.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Reads the counters every `drain`, and whenever it is asked to, until it is told to stop; then once more.
/// Ends as well if nobody takes what was read.
pub(crate) fn run(
    mut watch: Watch,
    drain: Duration,
    control: &EngineControl,
    turned: &mpsc::Sender<Turned>,
) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Wait)?;
    runtime.block_on(async {
        let mut stop = control.stop.subscribe();
        let mut cpus = interval(CPUS);
        cpus.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pause = drain;
        let mut last = Instant::now();
        let mut said = None;
        loop {
            let next = tokio::time::sleep_until((last + pause).into());
            tokio::pin!(next);
            // What the kernel writes down is taken in meanwhile, however long that is.
            let stopping = loop {
                tokio::select! {
                    biased;
                    _ = stop.wait_for(|&stop| stop) => break true,
                    () = &mut next => break false,
                    () = control.turn.notified() => {
                        let soonest = last + SOONEST;
                        tokio::time::sleep_until(soonest.into()).await;
                        break false;
                    }
                    _ = cpus.tick() => {
                        // Those that tick go on, and it is tried again: no descriptor may be left just now.
                        if let Err(error) = watch.follow_cpus()
                            && said.is_none_or(|said: Instant| said.elapsed() > SAY_AGAIN)
                        {
                            said = Some(Instant::now());
                            log::warn!("cannot follow CPUs that come and go: {}", chain(&error));
                        }
                    }
                    followed = watch.follow() => followed?,
                }
            };
            let began = Instant::now();
            let increment = if stopping {
                watch.end().await?
            } else {
                watch.turn().await?
            };
            last = began;
            let (entries, (_, capacity)) = (increment.account.entries, increment.account.fill);
            let is_full = entries > capacity as usize / FULL;
            pause = if is_full {
                (pause / 2).max(HASTE)
            } else {
                drain
            };
            let (kept, is_kept) = oneshot::channel();
            let turn = Turned {
                increment,
                began,
                kept,
            };
            if turned.send(turn).await.is_err() {
                return Ok(());
            }
            // Names may take long to look up, and what processes do is written down meanwhile.
            tokio::pin!(is_kept);
            let kept = loop {
                tokio::select! {
                    biased;
                    kept = &mut is_kept => break kept,
                    followed = watch.follow() => followed?,
                }
            };
            if kept.is_err() {
                return Ok(());
            }
            watch.settle()?;
            if stopping {
                return Ok(());
            }
        }
    })
}

/// Starts it on a thread of its own.
pub(crate) fn spawn(
    watch: Watch,
    drain: Duration,
    control: EngineControl,
    turned: mpsc::Sender<Turned>,
) -> std::io::Result<thread::JoinHandle<Result<(), RunError>>> {
    thread::Builder::new()
        .name("profil-drain".to_owned())
        .spawn(move || run(watch, drain, &control, &turned))
}
