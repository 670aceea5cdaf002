//! One session: attach → run until stopped → profile.

mod alarm;
mod attach;
mod follow;
mod looks;
mod meter;
mod snapshot;
mod start;
mod ticks;
mod watched;

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior},
};

use crate::{
    drain::Drain,
    error::RunError,
    kernel::{Clock, Follows, KernelHalf, SideBand, Strays, wait_for_ticks_under_way},
    options::{Rate, Tgid},
    profile::{Note, Profile, Subject},
    target::{self, ImageWatch, Known, Ledger, ObjectFile, Objects, Outline, Plan},
};
use alarm::Alarm;
use follow::Family;
pub(crate) use looks::{Looks, is_somebody};
use meter::Meter;
#[cfg(feature = "serve")]
pub(crate) use start::raise_descriptor_limit;
#[cfg(feature = "serve")]
pub(crate) use ticks::{Ticks, merge};
use watched::Watched;

/// How often exec is looked for.
const GLANCE_INTERVAL: Duration = Duration::from_millis(250);

/// CPU time that the clock and the process may disagree by: the process's is known in steps of
/// 10 ms, and read a little later.
const UNSEEN_SLACK_NS: u64 = 100_000_000;

/// The latest state of a running session, or `None` before the first drain.
pub type Snapshot = Option<Arc<Taken>>;

/// How long a tick can be under way at most, where the kernel cannot tell.
const GRACE: Duration = Duration::from_millis(50);

/// How soon the side-band is read again where nothing in it was about processes with regions: on a
/// machine that starts programs all day we would be woken all the time. Where there are no such
/// processes nothing is to be done at once, but for the files that are opened at first sight.
const PATIENCE: Duration = Duration::from_millis(10);
const PATIENCE_WITHOUT_REGIONS: Duration = Duration::from_millis(50);

/// The table of strays is emptied more often from this part of it on, up to this often.
const FULL: u32 = 4;
const HASTE: Duration = Duration::from_millis(50);

/// A session that is attached and ready; the clock is off until [`Session::run`].
///
/// Dropping it, or the end of this process however it comes, detaches everything.
pub struct Session {
    subject: Subject,
    watched: Watched,
    /// The thread that is followed alone.
    thread: Option<Tgid>,
    /// Whether a command that was to be profiled runs by now.
    commanded: bool,
    /// Processes whose mappings have regions.
    dense: Vec<u32>,
    side_band: Option<SideBand>,
    /// Whose side-band records are wanted.
    family: Family,
    /// What tells of exec where there is no side-band.
    images: Vec<(u32, ImageWatch)>,
    looks: Looks,
    objects: Objects,
    layout: Plan,
    /// Whether the kernel half has the regions of the layout.
    drawn: bool,
    ledger: Ledger,
    kernel: KernelHalf,
    drain: Drain,
    clock: Clock,
    /// Whether the clock ticks for everybody, and the target's ticks are picked out by the kernel
    /// half.
    picks: bool,
    rate: Rate,
    jitter: bool,
    drain_interval: Duration,
    /// When mappings were last looked at, and when strays were last taken.
    looked_ns: u64,
    taken_ns: u64,
    notes: Vec<Note>,
    /// The time that the clock was on, by the target's own account as well: a clock that follows
    /// CPUs cannot tell what was due.
    meter: Meter,
    /// Whether the dialect ends here.
    ended: bool,
    paused: watch::Sender<bool>,
    snapshots: watch::Sender<Snapshot>,
}

/// A profile, and the open files that can give its addresses names.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The profile.
    pub profile: Profile,
    /// Whether the clock is off: paused, or at the end.
    pub paused: bool,
    /// In the order of [`Profile::objects`].
    pub(crate) files: Vec<Option<Arc<ObjectFile>>>,
}

impl Taken {
    /// What was taken since `earlier`, of the same session.
    #[cfg(feature = "serve")]
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            profile: self.profile.since(&earlier.profile),
            paused: self.paused,
            files: self.files.clone(),
        }
    }
}

/// Pauses and resumes a session without detaching, like `moncontrol(3)`. Time while it is paused is
/// not due.
#[derive(Clone, Debug)]
pub struct Control {
    paused: watch::Sender<bool>,
}

impl Control {
    /// Switches the clock off, until [`Control::resume`]. May be called before [`Session::run`].
    pub fn pause(&self) {
        self.paused.send_replace(true);
    }

    /// Switches it on again.
    pub fn resume(&self) {
        self.paused.send_replace(false);
    }
}

/// An interval whose first tick is one interval away: there is nothing to read yet.
fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// The time of `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec as u32);
    now.as_nanos() as u64
}

impl Session {
    /// Whom the session is of.
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What the numbers of the regions that were asked for mean, in the order in which the dialect
    /// tries them. Empty where regions follow the mappings.
    pub fn outlines(&self) -> Vec<Outline> {
        self.layout.outlines(&self.objects)
    }

    /// Kernel memory of the session, in bytes.
    pub const fn kernel_bytes(&self) -> u64 {
        self.kernel.memory()
    }

    /// Pauses and resumes the session, from anywhere.
    pub fn control(&self) -> Control {
        Control {
            paused: self.paused.clone(),
        }
    }

    /// Snapshots of the profile, one at every drain, for as long as somebody listens.
    pub fn snapshots(&self) -> watch::Receiver<Snapshot> {
        self.snapshots.subscribe()
    }

    /// Switches the clock on, reads the buffer now and then, and stops when the target ends or
    /// `stop` completes. The clock of a command is switched on by its exec.
    ///
    /// # Errors
    ///
    /// If the kernel refuses what it had allowed before.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<Taken, RunError> {
        let mut stop = pin!(stop);
        let mut ended = pin!(self.watched.ended().map_err(RunError::Wait)?);
        let mut drain = Alarm::default();
        drain.set(Some(self.drain_interval));
        let mut glance = every(GLANCE_INTERVAL);

        let mut shift = Alarm::default();
        shift.set(self.clock.next_shift());
        let mut patience = Alarm::default();
        let mut impatient = true;

        let mut paused = self.paused.subscribe();
        if *paused.borrow_and_update() {
            self.clock.disable()?;
        } else {
            self.switch_on()?;
        }
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                result = &mut ended => {
                    result.map_err(RunError::Wait)?;
                    break;
                }
                // We hold the other end ourselves.
                Ok(()) = paused.changed() => {
                    let pause = *paused.borrow_and_update();
                    match (pause, self.meter.is_running()) {
                        (true, true) => {
                            self.switch_off()?;
                            // Nothing ticks any more: this account adds up.
                            self.collect().await?;
                        }
                        (false, false) => self.switch_on()?,
                        _ => {}
                    }
                    self.publish()?;
                }
                ready = news(&mut self.side_band), if impatient => {
                    ready.map_err(RunError::Wait)?;
                    if !self.follow()? {
                        impatient = false;
                        patience.set(Some(if self.dense.is_empty() {
                            PATIENCE_WITHOUT_REGIONS
                        } else {
                            PATIENCE
                        }));
                    }
                }
                () = patience.rings(), if !impatient => impatient = true,
                () = shift.rings() => {
                    if self.meter.is_running() {
                        self.clock.shift()?;
                    }
                    shift.set(self.clock.next_shift());
                }
                _ = glance.tick() => {
                    self.glance()?;
                    self.follow_cpus()?;
                }
                () = drain.rings() => {
                    self.collect().await?;
                    self.publish()?;
                    drain.set(Some(self.pause_between_drains()));
                }
            }
            if self.ended {
                break;
            }
        }
        if self.meter.is_running() {
            self.switch_off()?;
        }
        // Nothing ticks any more: what is read now is all there is.
        let strays = self.drain.read_all()?;
        self.enter(&strays)?;
        self.taken()
    }

    fn switch_on(&mut self) -> Result<(), RunError> {
        let cpu_ns = self.cpu_time_ns();
        // It waits for exec if it is on before it was ever switched.
        if !self.clock.is_on() {
            self.clock.enable()?;
        }
        self.meter.start(Instant::now(), cpu_ns);
        Ok(())
    }

    /// CPU time that was used so far by whom the clock ticks for, by their own account.
    fn cpu_time_ns(&mut self) -> u64 {
        if self.clock.follows() == Follows::Cpus && !self.picks {
            return target::busy_ns().unwrap_or(0);
        }
        self.watched.cpu_time_ns()
    }

    /// Nothing ticks any more when this returns.
    fn switch_off(&mut self) -> Result<(), RunError> {
        self.clock.disable()?;
        let cpu_ns = self.cpu_time_ns();
        self.meter.stop(Instant::now(), Some(cpu_ns));
        Ok(())
    }

    /// Reads what was counted, and finds homes for strays while they still can be found.
    async fn collect(&mut self) -> Result<(), RunError> {
        self.glance()?;
        if self.drain.turn()? {
            ticks_under_way_are_done().await;
            let strays = self.drain.read()?;
            self.enter(&strays)?;
        }
        let cpu_ns = self.cpu_time_ns();
        self.meter.read(Some(cpu_ns));
        self.kernel.flush_log();
        // A thread alone has no descriptor that tells of its end on every kernel.
        if let (Some(tid), Some(tgid)) = (self.thread, self.watched.only()) {
            self.ended |= !target::has_thread(tgid, tid.get());
        }
        Ok(())
    }

    /// Enters strays into the ledger, by all that is known of processes until now.
    fn enter(&mut self, strays: &Strays) -> Result<(), RunError> {
        self.follow()?;
        for tgid in self.watched.tgids() {
            self.look_at(tgid)?;
        }
        let now = now_ns();
        let mut known = Known {
            history: &mut self.looks.history,
            threads: &self.looks.threads,
            objects: &mut self.objects,
        };
        self.ledger.enter(strays, now, &mut known);
        // Of what was over at the last drain, nothing is left in the table.
        self.looks.history.forget(self.taken_ns);
        self.looks.threads.forget(self.taken_ns);
        self.taken_ns = now;
        self.looked_ns = now;
        Ok(())
    }

    /// CPUs come and go.
    fn follow_cpus(&mut self) -> Result<(), RunError> {
        self.clock.follow_cpus()?;
        if let Some(side_band) = &mut self.side_band
            && let Err(error) = side_band.follow_cpus()
        {
            log::warn!("{error}");
        }
        Ok(())
    }

    /// Shorter than was asked for, where the table of strays would fill.
    fn pause_between_drains(&self) -> Duration {
        let (found, capacity) = self.drain.last_fill();
        let mut pause = self.drain_interval;
        let mut found = u64::from(found);
        while found > u64::from(capacity / FULL) && pause > HASTE {
            pause /= 2;
            found /= 2;
        }
        pause
    }

    fn publish(&self) -> Result<(), RunError> {
        if self.snapshots.receiver_count() > 0 {
            self.snapshots.send_replace(Some(Arc::new(self.taken()?)));
        }
        Ok(())
    }
}

/// Completes when the side-band has news; never, if there is none.
pub(crate) async fn news(side_band: &mut Option<SideBand>) -> std::io::Result<()> {
    match side_band {
        Some(side_band) => side_band.ready().await,
        None => std::future::pending().await,
    }
}

/// Completes when every tick that was under way is done.
pub(crate) async fn ticks_under_way_are_done() {
    // It waits in the kernel, and others have work to do meanwhile.
    let waited = tokio::task::spawn_blocking(wait_for_ticks_under_way).await;
    if !matches!(waited, Ok(Ok(()))) {
        tokio::time::sleep(GRACE).await;
    }
}
