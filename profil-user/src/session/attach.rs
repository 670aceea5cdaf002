//! From options to a clock that is attached to every thread of the target.

use crate::{
    error::StartError,
    kernel::{Beat, Clock, KernelHalf, LoadPlan},
    options::{ClockScope, Options},
    target,
};
use profil_common::Settings;

/// Loads the kernel half and opens a clock on every thread of the target: list the threads, open
/// their events, list again. A thread that is new in the second list either inherited an event or
/// was started by one that had none yet, and nobody can tell which: to open one more could count
/// it twice. So everything is closed and tried again; and if the process never holds still,
/// or has more threads than we may open files, the clock follows the CPUs.
pub(super) fn start_clock(
    options: &Options,
    plan: &LoadPlan<'_>,
) -> Result<(KernelHalf, Clock), StartError> {
    const TRIES: usize = 50;

    let tgid = options.target;
    if options.clock == ClockScope::Cpu {
        return start_cpu_clock(options, plan);
    }
    let kernel = KernelHalf::load(plan)?;
    let threads = || {
        target::list_threads(tgid).map_err(|source| match source.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => StartError::Ended(tgid),
            _ => StartError::Threads { tgid, source },
        })
    };
    for _ in 0..TRIES {
        let before = threads()?;
        match Clock::following_tasks(&before, beat(options), kernel.program()) {
            Ok(clock) if clock.len() == 0 => return Err(StartError::Ended(tgid)),
            Ok(clock) => {
                if target::threads_settled(&before, &threads()?) {
                    return Ok((kernel, clock));
                }
            }
            Err(error) if error.is_out_of_descriptors() => break,
            Err(error) => return Err(error.into()),
        }
    }
    // Before the other is loaded: their memory would be twice what was asked for.
    drop(kernel);
    start_cpu_clock(options, plan)
}

/// The periods of the clock.
fn beat(options: &Options) -> Beat {
    if options.jitter {
        Beat::jittered(options.rate)
    } else {
        Beat::steady(options.rate)
    }
}

/// A clock that ticks for every process, and a kernel half that chooses the target's ticks.
fn start_cpu_clock(
    options: &Options,
    plan: &LoadPlan<'_>,
) -> Result<(KernelHalf, Clock), StartError> {
    let settings = Settings {
        only_tgid: options.target.get(),
        ..plan.settings
    };
    let kernel = KernelHalf::load(&LoadPlan { settings, ..*plan })?;
    let clock = Clock::following_cpus(beat(options), kernel.program())?;
    Ok((kernel, clock))
}

/// One event a thread (or four, of a jittered clock) needs as many descriptors, and every object stays open.
pub(super) fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this is refused, the clock follows CPUs where the limit is too low.
    let _ = setrlimit(Resource::Nofile, limit);
}
