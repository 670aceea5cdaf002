//! Single cpu-clock perf events with the kernel half attached (perf_event_open(2)).

use std::{
    fmt, io,
    os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
    thread::{self, JoinHandle},
};

use perf_event_open_sys::{
    bindings::{
        PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_FLAG_PID_CGROUP, PERF_TYPE_SOFTWARE,
        perf_event_attr,
    },
    ioctls, perf_event_open,
};

use super::clock_error::ClockError;
use crate::options::Rate;

/// One event on one thread or CPU.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) fd: OwnedFd,
    /// Which of the clock's periods it has.
    pub(super) period: usize,
    /// The CPU that it follows, if it follows one.
    pub(super) cpu: Option<u32>,
    /// How long it had been on when that was last read, in nanoseconds.
    pub(super) read_ns: u64,
}

/// What one event follows.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    /// A thread and all that it starts.
    Task(u32),
    /// A thread that will execute a program, from then on, and all that it starts.
    FromExec(u32),
    /// A thread alone.
    Thread(u32),
    /// A CPU, whatever runs there.
    Cpu(u32),
    /// A CPU while it runs processes of a cgroup (`PERF_FLAG_PID_CGROUP`).
    CgroupOnCpu(BorrowedFd<'a>, u32),
}

impl Subject<'_> {
    const fn cpu(self) -> Option<u32> {
        match self {
            Self::Cpu(cpu) | Self::CgroupOnCpu(_, cpu) => Some(cpu),
            Self::Task(_) | Self::FromExec(_) | Self::Thread(_) => None,
        }
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(tid) | Self::FromExec(tid) | Self::Thread(tid) => write!(f, "thread {tid}"),
            Self::Cpu(cpu) => write!(f, "CPU {cpu}"),
            Self::CgroupOnCpu(_, cpu) => write!(f, "the cgroup on CPU {cpu}"),
        }
    }
}

impl Event {
    /// Opens an event, switched off, with the program attached at once: what a thread starts
    /// inherits its events as they are at that moment, and would tick for nobody if the program came
    /// later.
    pub(super) fn open(
        (period, period_ns): (usize, u64),
        subject: Subject<'_>,
        program: BorrowedFd<'_>,
    ) -> Result<Self, ClockError> {
        let fd = open(period_ns, subject).map_err(|source| ClockError::Open {
            what: subject.to_string(),
            source,
        })?;
        attach(&fd, program)?;
        Ok(Self {
            fd,
            period,
            cpu: subject.cpu(),
            read_ns: 0,
        })
    }

    /// How long it was on, in nanoseconds. Of an event whose CPU has gone, as far as is known.
    pub(super) fn elapsed_ns(&self) -> Result<u64, ClockError> {
        let mut count = [0; size_of::<u64>()];
        let read = rustix::io::read(&self.fd, &mut count)
            .map_err(|errno| ClockError::Read(errno.into()))?;
        if read == count.len() {
            Ok(u64::from_ne_bytes(count))
        } else {
            Ok(self.read_ns)
        }
    }

    /// Opens an event of a CPU, switched off, to which no program is attached.
    pub(super) fn on_cpu(cpu: u32, period_ns: u64) -> Result<Self, ClockError> {
        let subject = Subject::Cpu(cpu);
        let fd = open(period_ns, subject).map_err(|source| ClockError::Open {
            what: subject.to_string(),
            source,
        })?;
        Ok(Self {
            fd,
            period: 0,
            cpu: Some(cpu),
            read_ns: 0,
        })
    }

    pub(super) fn enable(&self) -> Result<(), ClockError> {
        // SAFETY: the descriptor is open; the call takes nothing by reference.
        switched(unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) })
    }

    pub(super) fn disable(&self) -> Result<(), ClockError> {
        // SAFETY: as above.
        switched(unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) })
    }
}

fn switched(result: libc::c_int) -> Result<(), ClockError> {
    if result < 0 {
        return Err(ClockError::Switch(io::Error::last_os_error()));
    }
    Ok(())
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

fn open(period_ns: u64, subject: Subject<'_>) -> io::Result<OwnedFd> {
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
    let mut flags = PERF_FLAG_FD_CLOEXEC;
    let (pid, cpu) = match subject {
        Subject::Task(tid) => {
            attributes.set_inherit(1);
            (tid.cast_signed(), -1)
        }
        Subject::FromExec(tid) => {
            attributes.set_inherit(1);
            attributes.set_enable_on_exec(1);
            (tid.cast_signed(), -1)
        }
        Subject::Thread(tid) => (tid.cast_signed(), -1),
        Subject::Cpu(cpu) => (-1, cpu.cast_signed()),
        Subject::CgroupOnCpu(cgroup, cpu) => {
            flags |= PERF_FLAG_PID_CGROUP;
            (cgroup.as_raw_fd(), cpu.cast_signed())
        }
    };
    const NO_GROUP: libc::c_int = -1;
    // SAFETY: the attributes live for the call and their size is given in them.
    let event = unsafe { perf_event_open(&mut attributes, pid, cpu, NO_GROUP, u64::from(flags)) };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
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
    open(rate.period_ns(), Subject::Task(THIS_THREAD))
}
