//! The machine as a whole: who may use it, and its settings.

use std::{
    env, fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Resource, Rlimit};

const NO_LIMIT: Rlimit = Rlimit {
    current: None,
    maximum: None,
};

static CLAIM: Mutex<()> = Mutex::new(());

/// The right to load the machine and to change its settings, held by one test at a time.
///
/// Tests that measure would disturb each other. They are meant to run with `--test-threads=1`;
/// this keeps them right without it.
pub struct Machine {
    _claim: MutexGuard<'static, ()>,
}

impl Machine {
    /// Waits for the other tests. `None` without root.
    pub fn claim() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        // Before Linux 5.11 BPF maps count against it, also those of the users that tests become.
        let _ = rustix::process::setrlimit(Resource::Memlock, NO_LIMIT);
        // A test that failed left nothing behind that the next one depends on.
        let claim = CLAIM.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self { _claim: claim })
    }

    /// Raises a limit in `/proc/sys` to at least `wanted`, for as long as the returned value
    /// lives.
    ///
    /// # Panics
    ///
    /// If it cannot be read or raised.
    pub fn raise(&self, sysctl: &str, wanted: i64) -> Changed {
        Changed::to(sysctl, |before| before.max(wanted))
    }

    /// Sets a value in `/proc/sys`, for as long as the returned value lives.
    ///
    /// # Panics
    ///
    /// If it cannot be read or set.
    pub fn set(&self, sysctl: &str, wanted: i64) -> Changed {
        Changed::to(sysctl, |_| wanted)
    }
}

/// A value in `/proc/sys` that was changed. Set back when dropped.
pub struct Changed {
    restore: Option<(String, i64)>,
}

impl Changed {
    fn to(sysctl: &str, wanted: impl FnOnce(i64) -> i64) -> Self {
        let path = format!("/proc/sys/{}", sysctl.replace('.', "/"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let before: i64 = text
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{path} holds {text:?}"));
        let wanted = wanted(before);
        if before == wanted {
            return Self { restore: None };
        }
        fs::write(&path, wanted.to_string())
            .unwrap_or_else(|error| panic!("cannot set {path} to {wanted}: {error}"));
        Self {
            restore: Some((path, before)),
        }
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        if let Some((path, before)) = &self.restore {
            // It was writable a moment ago, and a panic here would hide the test's own.
            let _ = fs::write(path, before.to_string());
        }
    }
}

/// Whether an emulator runs this machine (`$PROFIL_EMULATED`).
///
/// There everything is several times slower, so measurements are shorter and bounds wider.
pub fn is_emulated() -> bool {
    env::var_os("PROFIL_EMULATED").is_some_and(|value| value == "1")
}

/// By what part of itself a number of ticks may be off beside chance.
pub fn slack() -> f64 {
    if is_emulated() { 0.05 } else { 0.0 }
}

/// By how much a share of ticks may be off beside chance: an emulator takes interrupts only at the
/// ends of straight pieces of code.
pub fn share_slack() -> f64 {
    if is_emulated() { 0.03 } else { 0.0 }
}

/// The kernel's own tick, by which `getrusage` splits time into user and system.
pub fn kernel_tick() -> Duration {
    // The coarse clock moves once a tick.
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    Duration::new(
        u64::try_from(tick.tv_sec).expect("a resolution is not negative"),
        u32::try_from(tick.tv_nsec).expect("nanoseconds below a second"),
    )
}
