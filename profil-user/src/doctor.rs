//! What this machine can do for us: every feature that is probed, every limit that matters, and
//! a trial of the whole kernel half on this very process.

use std::time::Duration;

use profil_common::{Outcome, Settings, Wanted};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    error::StartError,
    kernel::{
        Beat, Clock, Counters, Feature, Figures, KernelHalf, LoadPlan, Missing, PROGRAM,
        PidNamespace, Presence, Whom, max_sample_rate, missing_capabilities, paranoid,
    },
    options::Rate,
    preflight::check_privileges,
};

/// CPU time that the trial uses up.
const TRIAL: Duration = Duration::from_millis(100);

/// Addresses that the trial can tell apart; it has no regions.
const TRIAL_STRAYS: u32 = 4096;

/// All that was found.
#[derive(Debug)]
pub struct Diagnosis {
    /// Each [`Feature`], in the order of [`Feature::ALL`].
    pub features: Vec<(Feature, Presence)>,
    /// What we lack of what a profile takes.
    pub missing: Vec<Missing>,
    /// `kernel.perf_event_max_sample_rate`: the highest rate, in hertz.
    pub max_rate: Option<u32>,
    /// `kernel.perf_event_paranoid`: how much the unprivileged may do (perf_event_open(2)).
    pub paranoid: Option<i32>,
    /// Whether processes have the numbers here that the kernel knows them by.
    pub initial_pid_namespace: Option<bool>,
    /// What became of the trial.
    pub trial: Result<Trial, StartError>,
}

/// A profile of this process, over a tenth of a second.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The name of the BPF program.
    pub program: &'static str,
    /// Its size, and the verifier's work.
    pub figures: Figures,
    /// Whether system time is charged by saved registers, not by the user stack.
    pub by_saved_registers: bool,
    /// Kernel memory of the maps, in bytes.
    pub kernel_bytes: u64,
    /// Times that the program ran.
    pub runs: u64,
    /// Runs that counted an address.
    pub counted: u64,
    /// Ticks that were due, by the clock's own time.
    pub due: f64,
}

/// Examines the machine. What is probed leaves nothing behind.
pub fn examine() -> Diagnosis {
    Diagnosis {
        features: Feature::ALL
            .map(|feature| (feature, feature.presence()))
            .to_vec(),
        missing: missing_capabilities(),
        max_rate: max_sample_rate(),
        paranoid: paranoid(),
        initial_pid_namespace: PidNamespace::own().ok().map(PidNamespace::is_initial),
        trial: trial(),
    }
}

/// Loads the kernel half, lets it count this thread, and takes it away again.
fn trial() -> Result<Trial, StartError> {
    check_privileges()?;
    let namespace = PidNamespace::own().map_err(StartError::PidNamespace)?;
    let settings = Settings {
        pid_namespace_device: namespace.device,
        pid_namespace_inode: namespace.inode,
        ..Settings::default()
    };
    let mut kernel = KernelHalf::load(&LoadPlan {
        settings,
        wanted: Wanted::Both,
        regions: &[],
        room: 0,
        strays: TRIAL_STRAYS,
        log: false,
    })?;
    let counters: Counters = kernel.take_counters()?;
    let thread = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned();
    let rate = max_sample_rate().map_or(Rate::DEFAULT, Rate::at_most);
    let mut clock =
        Clock::following_tasks(&[thread], Whom::Alone, Beat::steady(rate), kernel.program())?;
    clock.enable()?;
    use_up(TRIAL);
    clock.disable()?;
    let tally = counters
        .tally()
        .map_err(|error| StartError::Load(error.into()))?;
    Ok(Trial {
        program: PROGRAM,
        figures: kernel.figures(),
        by_saved_registers: kernel.charges_by_saved_registers(),
        kernel_bytes: kernel.memory(),
        runs: tally.runs,
        counted: tally.outcomes[Outcome::Stray as usize],
        due: clock.elapsed()?.ticks,
    })
}

/// Spends CPU time of this thread.
fn use_up(time: Duration) {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec as u32)
    };
    let end = now() + time;
    while now() < end {
        std::hint::spin_loop();
    }
}
