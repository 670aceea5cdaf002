//! What this machine can do for us: every feature that is probed, every limit that matters, and
//! a trial of the whole kernel half on this very process.
//!
//! [`examine`] asks the machine, [`findings`] judges what it said.

mod findings;
mod limits;
mod machine;
mod privileges;
mod surroundings;

use std::time::Duration;

use profil_common::{Outcome, Settings, Wanted};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    error::StartError,
    kernel::{
        Beat, Clock, Counters, Feature, Figures, KernelHalf, LoadPlan, OBJECT_NAME,
        PROGRAM as BPF_PROGRAM, PidNamespace, Presence, Whom, max_sample_rate,
    },
    options::Rate,
    preflight::check_privileges,
};

pub use findings::{Finding, PROGRAM, Verdict, findings};
pub use machine::{Limit, Machine};

/// The names and digests of the BPF objects, as they are checked in.
const MANIFEST: &str = include_str!("../bpf/manifest.json");

/// CPU time that the trial uses up.
const TRIAL: Duration = Duration::from_millis(100);

/// Addresses that the trial can tell apart; it has no regions.
const TRIAL_STRAYS: u32 = 4096;

/// All that was found.
#[derive(Debug)]
pub struct Diagnosis {
    /// What the machine says of itself.
    pub machine: Machine,
    /// Each [`Feature`], in the order of [`Feature::ALL`].
    pub features: Vec<(Feature, Presence)>,
    /// Whether the kernel writes down for us what processes map, start and end; or why not. `None`
    /// where sessions, which read it, are not compiled in.
    pub records: Option<Result<(), String>>,
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

/// The BPF object that we load: the name of its file, and its SHA-256 by the manifest, in hexadecimal.
pub fn bpf_object() -> (&'static str, &'static str) {
    let digest = MANIFEST
        .split_once(OBJECT_NAME)
        .and_then(|(_, rest)| rest.split('"').nth(2));
    (OBJECT_NAME, digest.unwrap_or_default())
}

/// Examines the machine. What is probed leaves nothing behind.
pub fn examine() -> Diagnosis {
    // The probes raise limits.
    let machine = Machine::read();
    Diagnosis {
        machine,
        features: Feature::ALL
            .map(|feature| (feature, feature.presence()))
            .to_vec(),
        records: records(),
        trial: trial(),
    }
}

#[cfg(feature = "session")]
fn records() -> Option<Result<(), String>> {
    let opened = crate::kernel::SideBand::open();
    Some(opened.map(|_| ()).map_err(|error| {
        let cause = std::error::Error::source(&error);
        cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
    }))
}

#[cfg(not(feature = "session"))]
const fn records() -> Option<Result<(), String>> {
    None
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
        Clock::following_tasks([thread], Whom::Alone, Beat::steady(rate), kernel.program())?;
    clock.enable()?;
    use_up(TRIAL);
    clock.disable()?;
    let tally = counters
        .tally()
        .map_err(|error| StartError::Load(error.into()))?;
    Ok(Trial {
        program: BPF_PROGRAM,
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

#[cfg(test)]
mod tests;
