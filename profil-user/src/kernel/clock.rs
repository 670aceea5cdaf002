//! The clock: cpu-clock perf events with the kernel half attached (perf_event_open(2)).

use std::{
    fmt, fs, io,
    os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
    os::unix::fs::MetadataExt as _,
    thread::{self, JoinHandle},
    time::Duration,
};

use perf_event_open_sys::{
    bindings::{
        PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr,
    },
    ioctls, perf_event_open,
};

use super::beat::Beat;
use crate::options::Rate;

/// A set of cpu-clock events that are switched together. Dropping it switches them off and
/// detaches the program: the kernel closes what it no longer holds, also if we are killed.
#[derive(Debug)]
pub(crate) struct Clock {
    events: Vec<Event>,
    follows: Follows,
    beat: Beat,
    /// The first of the periods that tick; as many follow, in a circle, as are awake at a time.
    first: usize,
}

/// One event on one thread or CPU.
#[derive(Debug)]
struct Event {
    fd: OwnedFd,
    /// Which of the periods it has.
    period: usize,
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
}

/// Why the clock cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// A perf event could not be opened.
    #[error("cannot open a cpu-clock event on {what}")]
    Open {
        /// The thread or CPU.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The BPF program could not be attached to it.
    #[error("cannot attach the BPF program to a cpu-clock event")]
    Attach(#[source] io::Error),
    /// It could not be switched.
    #[error("cannot switch the clock")]
    Switch(#[source] io::Error),
    /// Its time could not be read.
    #[error("cannot read the clock's own time")]
    Read(#[source] io::Error),
    /// The list of CPUs is not readable.
    #[error("cannot read which CPUs are online")]
    Cpus(#[source] io::Error),
}

impl Clock {
    /// Opens a clock, switched off, that runs `program` at every tick of the threads `tids` and
    /// of everything that they start from now on. Threads that have ended meanwhile are passed
    /// over.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; see [`ClockError::is_out_of_descriptors`].
    pub(crate) fn following_tasks(
        tids: &[u32],
        beat: Beat,
        program: BorrowedFd<'_>,
    ) -> Result<Self, ClockError> {
        let mut events = Vec::with_capacity(tids.len() * beat.periods_ns().len());
        for &tid in tids {
            match open_events(&beat, Subject::Task(tid), program, &mut events) {
                Err(ClockError::Open { source, .. })
                    if source.raw_os_error() == Some(libc::ESRCH) => {}
                opened => opened?,
            }
        }
        Ok(Self::new(events, Follows::Tasks, beat))
    }

    /// Opens a clock, switched off, that runs `program` at every tick of the thread `tid` and of
    /// nothing that it starts.
    pub(crate) fn following_thread(
        tid: u32,
        beat: Beat,
        program: BorrowedFd<'_>,
    ) -> Result<Self, ClockError> {
        let mut events = Vec::new();
        open_events(&beat, Subject::Thread(tid), program, &mut events)?;
        Ok(Self::new(events, Follows::Tasks, beat))
    }

    /// Opens a clock, switched off, that runs `program` at every tick of every CPU that is online.
    pub(crate) fn following_cpus(beat: Beat, program: BorrowedFd<'_>) -> Result<Self, ClockError> {
        let online =
            fs::read_to_string("/sys/devices/system/cpu/online").map_err(ClockError::Cpus)?;
        let cpus = parse_cpu_list(&online)
            .ok_or_else(|| ClockError::Cpus(io::ErrorKind::InvalidData.into()))?;
        let mut events = Vec::with_capacity(cpus.len() * beat.periods_ns().len());
        for cpu in cpus {
            open_events(&beat, Subject::Cpu(cpu), program, &mut events)?;
        }
        Ok(Self::new(events, Follows::Cpus, beat))
    }

    fn new(events: Vec<Event>, follows: Follows, beat: Beat) -> Self {
        Self {
            events,
            follows,
            beat,
            first: 0,
        }
    }

    pub(crate) const fn follows(&self) -> Follows {
        self.follows
    }

    /// How many threads or CPUs the clock follows by events of their own.
    pub(crate) fn len(&self) -> usize {
        self.events.iter().filter(|event| event.period == 0).count()
    }

    /// Switches the clock on, for every thread and everything that it started since.
    pub(crate) fn enable(&self) -> Result<(), ClockError> {
        self.switch(Switch::On, |period| self.is_awake(period))
    }

    /// Switches the clock off. When this returns no tick is under way any more: the kernel stops
    /// each timer on the CPU that it runs on, and goes on later with what is left of its period.
    pub(crate) fn disable(&self) -> Result<(), ClockError> {
        self.switch(Switch::Off, |_| true)
    }

    /// Of a jittered clock that is on, sends one period to rest, and lets that one go on that has
    /// rested longest. Its phase is another then, though it lost nothing of its time.
    pub(crate) fn shift(&mut self) -> Result<(), ClockError> {
        let count = self.beat.periods_ns().len();
        if count <= self.beat.awake() {
            return Ok(());
        }
        let tired = self.first;
        self.switch(Switch::Off, |period| period == tired)?;
        self.first = (tired + 1) % count;
        let rested = (tired + self.beat.awake()) % count;
        self.switch(Switch::On, |period| period == rested)
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
        let mut elapsed = Elapsed::default();
        for event in &self.events {
            let mut count = [0; size_of::<u64>()];
            let read = rustix::io::read(&event.fd, &mut count)
                .map_err(|errno| ClockError::Read(errno.into()))?;
            // Nothing is read from an event whose CPU has gone.
            if read == count.len() {
                let ns = u64::from_ne_bytes(count);
                elapsed.ns += ns;
                elapsed.ticks += ns as f64 / self.beat.periods_ns()[event.period] as f64;
            }
        }
        elapsed.ns /= self.beat.awake() as u64;
        Ok(elapsed)
    }

    /// Switches the events of some of the periods.
    fn switch(&self, to: Switch, periods: impl Fn(usize) -> bool) -> Result<(), ClockError> {
        for event in self.events.iter().filter(|event| periods(event.period)) {
            let fd = event.fd.as_raw_fd();
            // SAFETY: the descriptor is open; the calls take nothing by reference.
            let done = unsafe {
                match to {
                    Switch::On => ioctls::ENABLE(fd, 0),
                    Switch::Off => ioctls::DISABLE(fd, 0),
                }
            };
            if done < 0 {
                return Err(ClockError::Switch(io::Error::last_os_error()));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Switch {
    On,
    Off,
}

impl ClockError {
    /// Whether there are more threads than we may have files open.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        let Self::Open { source, .. } = self else {
            return false;
        };
        matches!(source.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
    }
}

/// Attaches a BPF program to an event. The event keeps the program, and closing the event
/// detaches it: there is no link to outlive us, on any kernel.
fn attach(event: &OwnedFd, program: BorrowedFd<'_>) -> Result<(), ClockError> {
    let program = program.as_raw_fd().cast_unsigned();
    // SAFETY: both descriptors are open; the call takes nothing by reference.
    if unsafe { ioctls::SET_BPF(event.as_raw_fd(), program) } < 0 {
        return Err(ClockError::Attach(io::Error::last_os_error()));
    }
    Ok(())
}

/// The machine's first event on a task, opened beside the rest of the start.
///
/// It makes the kernel switch its scheduler hooks on and wait until every CPU has seen that, some
/// 20 ms (`perf_sched_events` in `kernel/events/core.c`). While this event lives, further ones
/// are opened at once.
pub(crate) struct WarmUp(Option<JoinHandle<io::Result<OwnedFd>>>);

impl WarmUp {
    /// Starts to open it, on a thread of its own, which it follows and which ends at once.
    pub(crate) fn begin(rate: Rate) -> Self {
        let thread = thread::Builder::new().spawn(move || try_own_thread(rate));
        Self(thread.ok())
    }
}

impl Drop for WarmUp {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it could not be opened, the real ones say so.
            let _ = thread.join();
        }
    }
}

/// Opens an event, switched off, on the calling thread.
pub(super) fn try_own_thread(rate: Rate) -> io::Result<OwnedFd> {
    const THIS_THREAD: u32 = 0;
    open_event(rate.period_ns(), Subject::Task(THIS_THREAD))
}

/// What one event follows.
#[derive(Clone, Copy)]
enum Subject {
    /// A thread and all that it starts.
    Task(u32),
    /// A thread alone.
    Thread(u32),
    Cpu(u32),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(tid) | Self::Thread(tid) => write!(f, "thread {tid}"),
            Self::Cpu(cpu) => write!(f, "CPU {cpu}"),
        }
    }
}

/// Opens an event for each period, and attaches the program to each at once: what a thread starts
/// inherits its events as they are at that moment, and would tick for nobody if the program came
/// later.
fn open_events(
    beat: &Beat,
    subject: Subject,
    program: BorrowedFd<'_>,
    events: &mut Vec<Event>,
) -> Result<(), ClockError> {
    for (period, &period_ns) in beat.periods_ns().iter().enumerate() {
        let fd = open_event(period_ns, subject).map_err(|source| ClockError::Open {
            what: subject.to_string(),
            source,
        })?;
        attach(&fd, program)?;
        events.push(Event { fd, period });
    }
    Ok(())
}

fn open_event(period_ns: u64, subject: Subject) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
        ..perf_event_attr::default()
    };
    // A period and not a frequency: cpu-clock would turn a frequency into a period just so, but
    // we want to know which.
    attributes.__bindgen_anon_1.sample_period = period_ns;
    attributes.set_disabled(1);
    let (pid, cpu) = match subject {
        Subject::Task(tid) => {
            attributes.set_inherit(1);
            (tid.cast_signed(), -1)
        }
        Subject::Thread(tid) => (tid.cast_signed(), -1),
        Subject::Cpu(cpu) => (-1, cpu.cast_signed()),
    };
    const NO_GROUP: libc::c_int = -1;
    // SAFETY: the attributes live for the call and their size is given in them.
    let event = unsafe {
        perf_event_open(
            &mut attributes,
            pid,
            cpu,
            NO_GROUP,
            u64::from(PERF_FLAG_FD_CLOEXEC),
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
}

/// Parses the kernel's list format for CPUs, such as `0-3,8`.
fn parse_cpu_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The PID namespace in which the kernel half must number processes so that we understand it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PidNamespace {
    /// 0 for the initial namespace, where no translation is needed.
    pub(crate) device: u64,
    /// 0 for the initial namespace.
    pub(crate) inode: u64,
}

impl PidNamespace {
    /// The inode of the initial PID namespace on every kernel (`include/linux/proc_ns.h`).
    const INITIAL_INODE: u64 = 0xefff_fffc;

    /// Whether it is the initial one.
    pub(crate) const fn is_initial(self) -> bool {
        self.inode == 0
    }

    /// The namespace that this process is in.
    pub(crate) fn own() -> io::Result<Self> {
        // A /proc of another namespace would give us numbers that mean other processes here.
        let in_proc = fs::read_link("/proc/self")?;
        if in_proc.as_os_str() != std::process::id().to_string().as_str() {
            return Err(io::Error::other(
                "/proc belongs to another PID namespace; mount one of this namespace",
            ));
        }
        let metadata = fs::metadata("/proc/self/ns/pid")?;
        if metadata.ino() == Self::INITIAL_INODE {
            return Ok(Self {
                device: 0,
                inode: 0,
            });
        }
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::parse_cpu_list;

    #[test]
    fn a_list_of_cpus_has_ranges() {
        assert_eq!(parse_cpu_list("0\n"), Some(vec![0]));
        assert_eq!(parse_cpu_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpu_list("a-b"), None);
    }
}
