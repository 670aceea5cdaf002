//! A loaded kernel half, and a clock on whom it is to count.

use std::os::fd::OwnedFd;

use profil_common::Settings;

use crate::{
    error::StartError,
    headway::Headway,
    kernel::{Beat, Clock, ClockError, KernelHalf, LoadPlan, Whom},
    options::{ClockScope, Options, Target, Tgid},
    target,
};

/// A kernel half and a clock that runs it.
pub(super) struct Started {
    pub(super) kernel: KernelHalf,
    pub(super) clock: Clock,
    /// Whether the clock ticks for everybody and the kernel half picks one process's ticks.
    pub(super) picks: bool,
}

/// Loads the kernel half and opens a clock on every thread of the targets: list the threads, open
/// their events, list again. A thread that is new in the second list either inherited an event or
/// was started by one that had none yet, and nobody can tell which: to open one more could count
/// it twice. So everything is closed and tried again; and if the process never holds still,
/// or has more threads than we may open files, the clock follows the CPUs. The headway is in threads.
pub(super) fn start_clock(
    options: &Options,
    plan: &LoadPlan<'_>,
    tgids: &[u32],
    cgroup: Option<&OwnedFd>,
    headway: &Headway,
) -> Result<Started, StartError> {
    const TRIES: usize = 50;

    if cgroup.is_some() || tgids.is_empty() || options.clock == ClockScope::Cpu {
        return start_cpu_clock(options, plan, tgids, cgroup);
    }
    let kernel = KernelHalf::load(plan)?;
    let one = match options.target {
        Target::Thread(tid) => Some((tid, Whom::Alone)),
        Target::Command(tgid) => Some((tgid, Whom::FromExec)),
        _ => None,
    };
    if let Some((tid, whom)) = one {
        let clock = Clock::following_tasks([tid.get()], whom, beat(options), kernel.program())?;
        return Ok(Started {
            kernel,
            clock,
            picks: false,
        });
    }
    for _ in 0..TRIES {
        let before = threads_of(tgids)?;
        headway.begin(before.len() as u64);
        let counted = before.iter().copied().inspect(|_| headway.step());
        match Clock::following_tasks(counted, Whom::WithChildren, beat(options), kernel.program()) {
            Ok(clock) if clock.len() == 0 => {
                return Err(
                    match (tgids, tgids.first().and_then(|&tgid| Tgid::new(tgid))) {
                        ([_], Some(tgid)) => StartError::Ended(tgid),
                        _ => StartError::AllEnded,
                    },
                );
            }
            Ok(clock) => {
                if target::threads_settled(&before, &threads_of(tgids)?) {
                    return Ok(Started {
                        kernel,
                        clock,
                        picks: false,
                    });
                }
            }
            Err(error) if error.is_out_of_descriptors() => break,
            Err(error) => return Err(error.into()),
        }
    }
    // Before the other is loaded: their memory would be twice what was asked for.
    drop(kernel);
    start_cpu_clock(options, plan, tgids, None)
}

/// The threads of all targets, in ascending order. Of several, some may have ended.
fn threads_of(tgids: &[u32]) -> Result<Vec<u32>, StartError> {
    let mut threads = Vec::new();
    for tgid in tgids.iter().filter_map(|&tgid| Tgid::new(tgid)) {
        match target::list_threads(tgid) {
            Ok(listed) => threads.extend(listed),
            Err(source) => match source.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) if tgids.len() > 1 => {}
                Some(libc::ENOENT | libc::ESRCH) => return Err(StartError::Ended(tgid)),
                _ => return Err(StartError::Threads { tgid, source }),
            },
        }
    }
    threads.sort_unstable();
    Ok(threads)
}

/// The periods of the clock.
fn beat(options: &Options) -> Beat {
    if options.jitter {
        Beat::jittered(options.rate)
    } else {
        Beat::steady(options.rate)
    }
}

/// A clock that ticks for every process, or for those of a cgroup; and a kernel half that chooses
/// the target's ticks, if it is one.
fn start_cpu_clock(
    options: &Options,
    plan: &LoadPlan<'_>,
    tgids: &[u32],
    cgroup: Option<&OwnedFd>,
) -> Result<Started, StartError> {
    let only = match tgids {
        [tgid] => *tgid,
        _ => 0,
    };
    let settings = Settings {
        only_tgid: only,
        ..plan.settings
    };
    let kernel = KernelHalf::load(&LoadPlan { settings, ..*plan })?;
    let cgroup = cgroup.map(OwnedFd::try_clone).transpose();
    let cgroup = cgroup.map_err(|source| ClockError::Open {
        what: "the cgroup".to_owned(),
        source,
    })?;
    let clock = Clock::following_cpus(cgroup, beat(options), kernel.program())?;
    Ok(Started {
        kernel,
        clock,
        picks: only != 0,
    })
}

/// One event a thread (or four, of a jittered clock) needs as many descriptors, and every object stays open.
pub(crate) fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this is refused, the clock follows CPUs where the limit is too low.
    let _ = setrlimit(Resource::Nofile, limit);
}
