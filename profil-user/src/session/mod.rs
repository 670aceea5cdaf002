//! One session: attach → run until stopped → profile.

mod alarm;
mod attach;
mod meter;
mod snapshot;
mod ticks;

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use profil_common::{Exec, Fork, Settings};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::watch,
    time::{Interval, MissedTickBehavior},
};

use crate::{
    drain::Drain,
    error::{RunError, StartError},
    kernel::{Clock, Follows, KernelHalf, LoadPlan, PidNamespace, WarmUp},
    options::{ClockScope, Options, Rate},
    preflight::{check_privileges, check_rate},
    profile::{Note, ObjectId, Profile},
    target::{
        self, Explicit, ImageWatch, Layout, ObjectFile, Objects, Outline, Plan, Process, StrayBook,
    },
};
use alarm::Alarm;
use attach::{raise_descriptor_limit, start_clock};
use meter::Meter;

/// How often exec is looked for.
const GLANCE_INTERVAL: Duration = Duration::from_millis(250);

/// CPU time that the clock and the process may disagree by: the process's is known in steps of
/// 10 ms, and read a little later.
const UNSEEN_SLACK_NS: u64 = 100_000_000;

/// The latest state of a running session, or `None` before the first drain.
pub type Snapshot = Option<Arc<Taken>>;

/// A session that is attached and ready; the clock is off until [`Session::run`].
///
/// Dropping it, or the end of this process however it comes, detaches everything.
pub struct Session {
    process: Process,
    image: ImageWatch,
    objects: Objects,
    layout: Plan,
    strays: StrayBook,
    kernel: KernelHalf,
    drain: Drain,
    clock: Clock,
    rate: Rate,
    jitter: bool,
    drain_interval: Duration,
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

impl Session {
    /// Finds the target, lays out its regions, loads the kernel half and attaches the clock to
    /// every thread.
    ///
    /// # Errors
    ///
    /// If privileges are missing, the target cannot be profiled, or the kernel refuses.
    pub fn attach(options: &Options) -> Result<Self, StartError> {
        // What is wrong for everybody comes before what is wrong for this user.
        check_rate(options.rate)?;
        raise_descriptor_limit();
        let namespace = PidNamespace::own().map_err(StartError::PidNamespace)?;
        let process = Process::find(options.target)?;
        check_privileges()?;
        let _until_attached = WarmUp::begin(options.rate);
        let tgid = options.target.get();

        let mut notes = Vec::new();
        let image = ImageWatch::new(tgid);
        let mappings = target::read_mappings(tgid).unwrap_or_else(|error| {
            notes.push(Note::NoMappings {
                reason: error.to_string(),
            });
            Vec::new()
        });
        let mut objects = Objects::default();
        let layout = if options.regions.is_empty() {
            Plan::Mappings(Layout::plan(
                tgid,
                &mappings,
                image.executable(),
                options.bins_bytes,
                &mut objects,
            )?)
        } else {
            Plan::Asked(Explicit::plan(
                tgid,
                (&mappings, image.executable()),
                (&options.regions, options.dialect),
                options.bins_bytes,
                &mut objects,
            )?)
        };
        let rules = layout.dialect().rules();
        let follows = options.follow && rules.fork == Fork::Continues;

        let plan = LoadPlan {
            settings: Settings {
                pid_namespace_device: namespace.device,
                pid_namespace_inode: namespace.inode,
                only_tgid: if follows { 0 } else { tgid },
                bins: layout.bins(),
                charge: 0,
                dialect: layout.dialect() as u32,
            },
            wanted: options.mode,
            regions: layout.regions(),
            strays: options.strays,
            log: options.kernel_log,
        };
        let (mut kernel, clock) = start_clock(options, &plan)?;
        if clock.follows() == Follows::Cpus && options.clock == ClockScope::Task {
            notes.push(Note::CpuClock);
        }
        let drain = Drain::new(kernel.take_counters()?);
        Ok(Self {
            process,
            image,
            objects,
            layout,
            strays: StrayBook::new(mappings),
            kernel,
            drain,
            clock,
            rate: options.rate,
            jitter: options.jitter,
            drain_interval: options.drain_interval,
            notes,
            meter: Meter::default(),
            ended: false,
            paused: watch::Sender::new(false),
            snapshots: watch::Sender::new(None),
        })
    }

    /// The name of the target. Untrusted: escape it before display.
    pub fn target_name(&self) -> &str {
        self.process.name()
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
    /// `stop` completes.
    ///
    /// # Errors
    ///
    /// If the kernel refuses what it had allowed before.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<Taken, RunError> {
        let mut stop = pin!(stop);
        let pidfd = rustix::io::dup(&self.process).map_err(|errno| RunError::Wait(errno.into()))?;
        // SAFETY: an `OwnedFd` is the same open descriptor for as long as it lives.
        let ended = unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }
            .map_err(|error| RunError::Wait(error.into()))?;
        let mut drain = every(self.drain_interval);
        let mut glance = every(GLANCE_INTERVAL);

        let mut shift = Alarm::default();
        shift.set(self.clock.next_shift());

        let mut paused = self.paused.subscribe();
        if !*paused.borrow_and_update() {
            self.switch_on()?;
        }
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                ready = ended.readable() => {
                    // Ready once is ready for ever: the process has ended.
                    let _ = ready.map_err(RunError::Wait)?;
                    break;
                }
                // We hold the other end ourselves.
                Ok(()) = paused.changed() => {
                    let pause = *paused.borrow_and_update();
                    match (pause, self.meter.is_running()) {
                        (true, true) => self.switch_off()?,
                        (false, false) => self.switch_on()?,
                        _ => {}
                    }
                    self.publish()?;
                }
                () = shift.rings() => {
                    if self.meter.is_running() {
                        self.clock.shift()?;
                    }
                    shift.set(self.clock.next_shift());
                }
                _ = glance.tick() => self.glance()?,
                _ = drain.tick() => {
                    self.look()?;
                    self.publish()?;
                }
            }
            if self.ended {
                break;
            }
        }
        if self.meter.is_running() {
            self.switch_off()?;
        }
        self.look()?;
        // Nothing ticks any more: what is read now is all there is.
        self.drain.read_all()?;
        self.follow_mappings()?;
        self.taken()
    }

    fn switch_on(&mut self) -> Result<(), RunError> {
        let cpu_ns = self.process.cpu_time_ns().unwrap_or(0);
        self.clock.enable()?;
        self.meter.start(Instant::now(), cpu_ns);
        Ok(())
    }

    /// Nothing ticks any more when this returns.
    fn switch_off(&mut self) -> Result<(), RunError> {
        self.clock.disable()?;
        self.meter.stop(Instant::now(), self.process.cpu_time_ns());
        Ok(())
    }

    /// Notices exec. Much cheaper than a look at the counters, and so done more often: until it
    /// is noticed, ticks of the new program may be charged to the old one.
    fn glance(&mut self) -> Result<(), RunError> {
        if !self.ended && self.image.changed() {
            self.exec()?;
        }
        Ok(())
    }

    /// Reads what was counted, retires regions whose text has gone, and finds homes for strays
    /// while they still can be found.
    fn look(&mut self) -> Result<(), RunError> {
        self.glance()?;
        let before = self.drain.last().tally;
        if self.drain.read()?.tally != before {
            self.follow_mappings()?;
        }
        self.meter.read(self.process.cpu_time_ns());
        self.kernel.flush_log();
        Ok(())
    }

    /// What the target has unmapped means nothing any more, and what it has mapped meanwhile is
    /// home to strays.
    fn follow_mappings(&mut self) -> Result<(), RunError> {
        let tgid = self.process.tgid().get();
        let mappings = target::read_mappings(tgid);
        if let Ok(today) = &mappings
            && !today.is_empty()
        {
            let gone = self.layout.retire_missing(today);
            self.retire(&gone)?;
        }
        let strays = &self.drain.last().strays;
        self.strays
            .settle(strays, (tgid, &mappings), &mut self.objects);
        Ok(())
    }

    fn retire(&mut self, gone: &[(usize, ObjectId)]) -> Result<(), RunError> {
        let indices: Vec<_> = gone.iter().map(|&(index, _)| index).collect();
        self.kernel.retire_regions(&indices)?;
        for &(_, object) in gone {
            let note = Note::Unmapped {
                object,
                uncertain: self.drain_interval,
            };
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(())
    }

    /// The target runs another program: the regions mean nothing any more. Ticks go on as
    /// strays, which are named by the mappings of today.
    fn exec(&mut self) -> Result<(), RunError> {
        let dialect = self.layout.dialect();
        if dialect.rules().exec != Exec::Follows {
            self.ended = true;
            self.notes.push(Note::EndedByExec { dialect });
            return Ok(());
        }
        let gone = self.layout.retire_missing(&[]);
        let indices: Vec<_> = gone.into_iter().map(|(index, _)| index).collect();
        self.kernel.retire_regions(&indices)?;
        // What was counted until now is of the old program, but for the time since the last glance.
        self.drain.read()?;
        let tgid = self.process.tgid().get();
        let before = Ok(self.strays.known().to_vec());
        self.strays.settle(
            &self.drain.last().strays,
            (tgid, &before),
            &mut self.objects,
        );
        // Now, and not only at the next drain: the new program may not live until then.
        let mappings = target::read_mappings(tgid);
        self.strays.restart(mappings.unwrap_or_default());
        let note = Note::Exec {
            uncertain: GLANCE_INTERVAL,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Ok(())
    }

    fn publish(&self) -> Result<(), RunError> {
        if self.snapshots.receiver_count() > 0 {
            self.snapshots.send_replace(Some(Arc::new(self.taken()?)));
        }
        Ok(())
    }
}
