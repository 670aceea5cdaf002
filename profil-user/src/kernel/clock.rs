//! The clock: cpu-clock perf events that are switched together.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    time::Duration,
};

use super::{
    beat::Beat,
    clock_error::ClockError,
    cpus,
    event::{Event, Subject},
};

/// A set of cpu-clock events that are switched together. Dropping it switches them off and
/// detaches the program: the kernel closes what it no longer holds, also if we are killed.
#[derive(Debug)]
pub(crate) struct Clock {
    events: Vec<Event>,
    beat: Beat,
    /// The first of the periods that tick; as many follow, in a circle, as are awake at a time.
    first: usize,
    /// Whether it was switched on last, or off.
    is_on: bool,
    /// What it takes to follow further CPUs. `None` for a clock that follows tasks.
    on_cpus: Option<OnCpus>,
    /// The time of events whose CPUs have gone.
    gone: Elapsed,
}

/// A clock that follows CPUs.
#[derive(Debug)]
struct OnCpus {
    program: OwnedFd,
    /// The only processes for which it ticks.
    cgroup: Option<OwnedFd>,
    /// The kernel's list of the CPUs that it follows.
    online: String,
}

/// How long a clock was on, and what that was worth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elapsed {
    /// CPU time, in nanoseconds, that the followed tasks and all that they started have run; or,
    /// of a clock that follows CPUs, the time that it was on, of all CPUs together.
    pub(crate) ns: u64,
    /// Ticks: of each event, its own time by its own period.
    pub(crate) ticks: f64,
}

/// Whose time a clock measures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Follows {
    /// Tasks, wherever they run, and all that they start: it ticks in their own CPU time.
    Tasks,
    /// CPUs, whatever runs there.
    Cpus,
    /// CPUs, while they run processes of a cgroup.
    Cgroup,
}

/// Which tasks a clock follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Whom {
    /// Threads and all that they start.
    WithChildren,
    /// A thread that will execute a program, and all that it starts: it is switched on by that, and
    /// not before.
    FromExec,
    /// A thread alone.
    Alone,
}

impl Clock {
    /// Opens a clock, switched off, that runs `program` at every tick of the threads `tids`.
    /// Threads that have ended meanwhile are passed over.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; see [`ClockError::is_out_of_descriptors`].
    pub(crate) fn following_tasks(
        tids: impl IntoIterator<Item = u32>,
        whom: Whom,
        beat: Beat,
        program: BorrowedFd<'_>,
    ) -> Result<Self, ClockError> {
        let mut clock = Self::new(beat, None);
        clock.is_on = whom == Whom::FromExec;
        for tid in tids {
            match clock.open(program, |is_awake| match whom {
                Whom::FromExec if is_awake => Subject::FromExec(tid),
                Whom::FromExec | Whom::WithChildren => Subject::Task(tid),
                Whom::Alone => Subject::Thread(tid),
            }) {
                Err(ClockError::Open { source, .. })
                    if whom == Whom::WithChildren && source.raw_os_error() == Some(libc::ESRCH) => {
                }
                opened => opened?,
            }
        }
        Ok(clock)
    }

    /// Opens a clock, switched off, that runs `program` at every tick of every CPU that is online;
    /// of a cgroup, whose directory is given, only while processes of it or below it run there.
    pub(crate) fn following_cpus(
        cgroup: Option<OwnedFd>,
        beat: Beat,
        program: BorrowedFd<'_>,
    ) -> Result<Self, ClockError> {
        let program = program
            .try_clone_to_owned()
            .map_err(|source| ClockError::Open {
                what: "every CPU".to_owned(),
                source,
            })?;
        let on_cpus = OnCpus {
            program,
            cgroup,
            online: String::new(),
        };
        let mut clock = Self::new(beat, Some(on_cpus));
        clock.follow_cpus()?;
        Ok(clock)
    }

    fn new(beat: Beat, on_cpus: Option<OnCpus>) -> Self {
        Self {
            events: Vec::new(),
            beat,
            first: 0,
            is_on: false,
            on_cpus,
            gone: Elapsed::default(),
        }
    }

    /// Opens an event for each period.
    fn open<'a>(
        &mut self,
        program: BorrowedFd<'_>,
        subject: impl Fn(bool) -> Subject<'a>,
    ) -> Result<(), ClockError> {
        for (period, &period_ns) in self.beat.periods_ns().iter().enumerate() {
            let subject = subject(self.is_awake(period));
            let event = Event::open((period, period_ns), subject, program)?;
            self.events.push(event);
        }
        Ok(())
    }

    /// Follows the CPUs that have come online since the last call, and no more those that have
    /// gone. Takes a small file if nothing has changed; nothing, of a clock that follows tasks.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub(crate) fn follow_cpus(&mut self) -> Result<(), ClockError> {
        let Some(mut on_cpus) = self.on_cpus.take() else {
            return Ok(());
        };
        let followed = self.follow_cpus_of(&mut on_cpus);
        self.on_cpus = Some(on_cpus);
        followed
    }

    fn follow_cpus_of(&mut self, on_cpus: &mut OnCpus) -> Result<(), ClockError> {
        let online = cpus::online_list().map_err(ClockError::Cpus)?;
        if online != on_cpus.online {
            let cpus = cpus::parse_list(&online)
                .ok_or_else(|| ClockError::Cpus(io::ErrorKind::InvalidData.into()))?;
            self.let_go(|event| event.cpu.is_some_and(|cpu| !cpus.contains(&cpu)))?;
            for cpu in cpus {
                if !self.events.iter().any(|event| event.cpu == Some(cpu)) {
                    self.add_cpu(cpu, on_cpus)?;
                }
            }
            on_cpus.online = online;
        }
        // What is known when a CPU goes before the next look.
        for event in &mut self.events {
            event.read_ns = event.elapsed_ns()?;
        }
        Ok(())
    }

    /// Follows a CPU by events of its own anew: those that it had stand still.
    #[cfg(feature = "serve")]
    pub(crate) fn renew_cpu(&mut self, cpu: u32) -> Result<(), ClockError> {
        let Some(on_cpus) = self.on_cpus.take() else {
            return Ok(());
        };
        let renewed = self
            .let_go(|event| event.cpu == Some(cpu))
            .and_then(|()| self.add_cpu(cpu, &on_cpus));
        self.on_cpus = Some(on_cpus);
        renewed
    }

    /// Closes events, and keeps their time.
    fn let_go(&mut self, is_gone: impl Fn(&Event) -> bool) -> Result<(), ClockError> {
        for event in self.events.extract_if(.., |event| is_gone(event)) {
            let ns = event.elapsed_ns()?;
            self.gone.ns += ns;
            self.gone.ticks += ns as f64 / self.beat.periods_ns()[event.period] as f64;
        }
        Ok(())
    }

    fn add_cpu(&mut self, cpu: u32, on_cpus: &OnCpus) -> Result<(), ClockError> {
        let first = self.events.len();
        let opened = self.open(on_cpus.program.as_fd(), |_| match &on_cpus.cgroup {
            Some(cgroup) => Subject::CgroupOnCpu(cgroup.as_fd(), cpu),
            None => Subject::Cpu(cpu),
        });
        match opened {
            // It has gone offline since.
            Err(ClockError::Open { source, .. }) if source.raw_os_error() == Some(libc::ENODEV) => {
                self.events.truncate(first);
            }
            opened => opened?,
        }
        if self.is_on {
            for event in &self.events[first..] {
                if self.is_awake(event.period) {
                    event.enable()?;
                }
            }
        }
        Ok(())
    }

    pub(crate) const fn follows(&self) -> Follows {
        match &self.on_cpus {
            None => Follows::Tasks,
            Some(OnCpus { cgroup: None, .. }) => Follows::Cpus,
            Some(OnCpus {
                cgroup: Some(_), ..
            }) => Follows::Cgroup,
        }
    }

    /// How many threads or CPUs the clock follows by events of their own.
    pub(crate) fn len(&self) -> usize {
        self.events.iter().filter(|event| event.period == 0).count()
    }

    /// Whether it was switched on last; a clock that waits for exec is on.
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Switches the clock on, for every thread and everything that it started since.
    pub(crate) fn enable(&mut self) -> Result<(), ClockError> {
        self.is_on = true;
        let events = self.events.iter();
        let mut awake = events.filter(|event| self.is_awake(event.period));
        awake.try_for_each(Event::enable)
    }

    /// Switches the clock off. When this returns no tick is under way any more: the kernel stops
    /// each timer on the CPU that it runs on, and goes on later with what is left of its period.
    pub(crate) fn disable(&mut self) -> Result<(), ClockError> {
        self.is_on = false;
        self.events.iter().try_for_each(Event::disable)
    }

    /// Of a jittered clock that is on, sends one period to rest, and lets that one go on that has
    /// rested longest. Its phase is another then, though it lost nothing of its time.
    pub(crate) fn shift(&mut self) -> Result<(), ClockError> {
        let count = self.beat.periods_ns().len();
        if count <= self.beat.awake() {
            return Ok(());
        }
        let tired = self.first;
        self.of_period(tired).try_for_each(Event::disable)?;
        self.first = (tired + 1) % count;
        let rested = (tired + self.beat.awake()) % count;
        self.of_period(rested).try_for_each(Event::enable)
    }

    fn of_period(&self, period: usize) -> impl Iterator<Item = &Event> {
        self.events
            .iter()
            .filter(move |event| event.period == period)
    }

    fn is_awake(&self, period: usize) -> bool {
        let count = self.beat.periods_ns().len();
        (period + count - self.first) % count < self.beat.awake()
    }

    /// When to [`Clock::shift`] next. `None` for a clock of one period.
    pub(crate) fn next_shift(&mut self) -> Option<Duration> {
        let subjects = self.len();
        self.beat.is_jittered().then(|| self.beat.rest(subjects))
    }

    /// How long the clock was on, in the time that it measures.
    pub(crate) fn elapsed(&self) -> Result<Elapsed, ClockError> {
        let mut elapsed = self.gone;
        for event in &self.events {
            let ns = event.elapsed_ns()?;
            elapsed.ns += ns;
            elapsed.ticks += ns as f64 / self.beat.periods_ns()[event.period] as f64;
        }
        elapsed.ns /= self.beat.awake() as u64;
        Ok(elapsed)
    }
}
