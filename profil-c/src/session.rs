//! The one profile that this process takes of itself, and the thread that carries its ticks.
//!
//! The thread is started before the first clock is attached, so it inherits none; it is left out of
//! the list of threads that get one; and it has all signals blocked, so that no handler of the
//! program ever runs in it. Between profiles it sleeps.

use std::{
    mem::MaybeUninit,
    ptr,
    sync::{Condvar, Mutex, MutexGuard, Once, PoisonError, mpsc},
    thread,
    time::Duration,
};

use profil_common::Dialect;
use profil_user::{Profil, Rate, Tgid};

use crate::{failure::Failure, settings, sink::Sink};

/// How old what is in the program's buffer can be.
const CARRY_INTERVAL: Duration = Duration::from_millis(10);

/// Kernel memory of a counter, for user and for system time.
const BYTES_PER_BIN: u64 = 16;

static STATE: Mutex<State> = Mutex::new(State {
    session: None,
    carrier: None,
    of_next: OfNext::Nothing,
    gmon: None,
});
static CHANGED: Condvar = Condvar::new();

/// What this process does about profiling itself.
pub(crate) struct State {
    pub(crate) session: Option<Session>,
    /// The thread, once there is one.
    carrier: Option<u32>,
    /// What the C library does, because we could not.
    pub(crate) of_next: OfNext,
    pub(crate) gmon: Option<crate::gmon::Gmon>,
}

/// Which of the C library's functions is on in our place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OfNext {
    Nothing,
    Profil,
    Sprofil,
}

/// A profile of ourselves.
pub(crate) struct Session {
    profil: Profil,
    /// By the index of their region.
    sinks: Vec<Sink>,
    /// Whether `sprofil` began it: then its next call ends it.
    pub(crate) is_sprofil: bool,
    /// Whether it counts for `monstartup`.
    pub(crate) is_gmon: bool,
}

/// The state, for one thread at a time. What a panic left is as good as it was: counters only grow.
pub(crate) fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Attaches to this process, with the clock off, in place of what was before.
    pub(crate) fn begin(
        &mut self,
        mut sinks: Vec<Sink>,
        dialect: Dialect,
        rate: Rate,
    ) -> Result<&mut Session, Failure> {
        self.end()?;
        watch_forks_and_exit();
        let carrier = self.carrier()?;
        let ourselves = Tgid::new(std::process::id())
            .ok_or_else(|| Failure::new(libc::ESRCH, "a process without a number"))?;
        let bins = sinks.iter().fold(0, |sum: u64, sink| {
            sum.saturating_add(sink.region().bins(dialect))
        });
        let mut builder = Profil::builder(ourselves)
            .except_thread(carrier)
            .dialect(dialect)
            .rate(rate)
            // The program has as much memory for it, and chose the size.
            .memory(bins.saturating_mul(BYTES_PER_BIN))
            .strays(1)
            .paused();
        for sink in &sinks {
            let region = sink.region();
            builder = builder.classic(region.offset, region.bytes, region.scale);
        }
        let profil = builder.attach()?;
        // In the order of the regions, which is the dialect's.
        let mut sorted = Vec::new();
        for outline in profil.regions() {
            let same = |sink: &Sink| {
                let (one, other) = (sink.region(), &outline.call);
                (one.offset, one.bytes, one.scale) == (other.offset, other.bytes, other.scale)
            };
            let place = sinks.iter().position(same);
            let place =
                place.ok_or_else(|| Failure::new(libc::EIO, "a region that nobody gave"))?;
            sorted.push(sinks.remove(place));
        }
        settings::say_on(rate, dialect);
        Ok(self.session.insert(Session {
            profil,
            sinks: sorted,
            is_sprofil: false,
            is_gmon: false,
        }))
    }

    /// Stops, and carries the last ticks. Nothing happens where nothing is on.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        let Some(mut session) = self.session.take() else {
            return Ok(());
        };
        let paused = session.pause();
        session.carry();
        if session.is_gmon
            && let Some(gmon) = &mut self.gmon
        {
            let kept = session.sinks.into_iter().next().map(Sink::into_kept);
            gmon.add(&kept.unwrap_or_default());
        }
        paused
    }

    /// The thread that carries, started on first use.
    fn carrier(&mut self) -> Result<u32, Failure> {
        if let Some(tid) = self.carrier {
            return Ok(tid);
        }
        let (sender, tid) = mpsc::channel();
        let before = block_signals();
        let spawned = thread::Builder::new()
            .name("profil-bpf".to_owned())
            .spawn(move || {
                // SAFETY: takes nothing.
                let tid = unsafe { libc::gettid() };
                if sender.send(tid.cast_unsigned()).is_ok() {
                    carry_for_ever();
                }
            });
        restore_signals(&before);
        spawned.map_err(|error| Failure::of(&error))?;
        let tid = tid
            .recv()
            .map_err(|_| Failure::new(libc::EAGAIN, "a thread that did not start"))?;
        Ok(*self.carrier.insert(tid))
    }
}

impl Session {
    pub(crate) fn resume(&mut self) -> Result<(), Failure> {
        self.profil.resume().map_err(|error| Failure::of(&error))?;
        CHANGED.notify_all();
        Ok(())
    }

    pub(crate) fn pause(&mut self) -> Result<(), Failure> {
        self.profil.pause().map_err(|error| Failure::of(&error))
    }

    fn carry(&mut self) {
        let Self { profil, sinks, .. } = self;
        profil.read(|bin, ticks| {
            if let Some(sink) = sinks.get_mut(bin.region) {
                sink.carry(bin.number, ticks);
            }
        });
    }
}

fn carry_for_ever() {
    let mut state = state();
    loop {
        state = match state
            .session
            .as_mut()
            .filter(|session| !session.profil.is_paused())
        {
            Some(session) => {
                session.carry();
                let waited = CHANGED.wait_timeout(state, CARRY_INTERVAL);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

fn block_signals() -> libc::sigset_t {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are written before they are used.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigemptyset(before.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: the set is that of `block_signals`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
}

/// Once: a child gets no copy of our state that it could mistake for its own, and at exit nothing
/// that was counted stays behind.
fn watch_forks_and_exit() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the functions live as long as this library, and glibc forgets them with it.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child));
            libc::atexit(at_exit);
        }
    });
}

/// The state while the process forks, so that the child finds it whole.
struct Held(std::cell::UnsafeCell<Option<MutexGuard<'static, State>>>);

// SAFETY: written and taken only by the thread that forks, which holds the lock in between.
unsafe impl Sync for Held {}

static HELD: Held = Held(std::cell::UnsafeCell::new(None));

extern "C" fn before_fork() {
    let state = state();
    // SAFETY: we hold the lock, and whoever else forks waits for it.
    unsafe { *HELD.0.get() = Some(state) };
}

extern "C" fn after_fork() {
    // SAFETY: as above.
    drop(unsafe { (*HELD.0.get()).take() });
}

/// The child is not profiled, as with the C library: it has no timer there, and no clock of ours
/// counts it here. What it may do is begin anew.
extern "C" fn in_child() {
    // SAFETY: as above; the child's only thread is the one that forked.
    let Some(mut state) = (unsafe { (*HELD.0.get()).take() }) else {
        return;
    };
    state.carrier = None;
    if let Some(session) = state.session.take() {
        let Session { sinks, is_gmon, .. } = session;
        if is_gmon && let Some(gmon) = &mut state.gmon {
            // Its profile is the parent's up to now.
            let kept = sinks.into_iter().next().map(Sink::into_kept);
            gmon.add(&kept.unwrap_or_default());
        }
        // Its descriptors and mappings are closed with it. The parent's clock goes on: closing, other
        // than switching off, is of this process alone.
    }
}

extern "C" fn at_exit() {
    crate::failure::guarded((), || state().end());
}
