//! The embedded BPF object: settings, load, and the descriptors that follow from it.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd},
};

use aya::{
    include_bytes_aligned,
    maps::{Map, MapError},
};
use aya_log::EbpfLogger;
use aya_obj::{ParseError, relocation::EbpfRelocationError};
use profil_common::{Charge, Region, Settings, SystemPc, Wanted, limits::BINS_PER_PAGE};

use super::{
    bpf,
    features::{Feature, Presence},
    loader::{Figures, Prepared, Program},
    maps::{Counters, CountersError, Maps, memory_of},
    memlock,
    regions::{PARTS, RegionMaps},
};

#[cfg(target_arch = "x86_64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/profil-x86_64.bpf.o");
#[cfg(target_arch = "aarch64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/profil-aarch64.bpf.o");

/// The name of the object's file, in the manifest too.
#[cfg(target_arch = "x86_64")]
pub(crate) const OBJECT_NAME: &str = "profil-x86_64.bpf.o";
#[cfg(target_arch = "aarch64")]
pub(crate) const OBJECT_NAME: &str = "profil-aarch64.bpf.o";

/// The program's name in the object, and in the kernel's list of programs.
pub(crate) const PROGRAM: &str = "profil_tick";

/// Bytes of the log ring buffer while diagnostics are off: the smallest that every page size
/// allows. Nothing is written to it then, but a map cannot be left out of a loaded object.
const IDLE_LOG_BYTES: u32 = 64 * 1024;

/// Bytes of the log ring buffer while diagnostics are on.
const LOG_BYTES: u32 = 512 * 1024;

/// What the kernel half has to know before the first tick.
pub(crate) struct LoadPlan<'a> {
    /// All but [`Settings::charge`], which depends on the kernel as well.
    pub(crate) settings: Settings,
    /// Which ticks are kept.
    pub(crate) wanted: Wanted,
    /// Sorted by process and start.
    pub(crate) regions: &'a [Region],
    /// Regions that there may be later, when they are drawn anew.
    pub(crate) room: usize,
    /// Entries of the table of strays.
    pub(crate) strays: u32,
    /// Whether rare events go to the `log` crate.
    pub(crate) log: bool,
}

/// The loaded kernel half. Dropping it unloads it, once no clock holds the program.
pub(crate) struct KernelHalf {
    program: Program,
    regions: RegionMaps,
    /// What nobody has taken; the program holds them as well.
    maps: Maps,
    logger: Option<EbpfLogger<&'static dyn log::Log>>,
    system_pc: SystemPc,
    bytes: u64,
}

/// Why the kernel half cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The kernel has no such thing.
    #[error("this kernel has no {}", .0.name())]
    Lacks(Feature),
    /// Before Linux 5.11, maps count against a limit of the user's.
    #[error(
        "{wanted} bytes of BPF maps are more than RLIMIT_MEMLOCK allows ({limit} bytes), which \
         this kernel counts them against"
    )]
    Memlock {
        /// What the maps take, roughly.
        wanted: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The embedded object cannot be read.
    #[error("cannot read the embedded BPF object")]
    Parse(#[from] ParseError),
    /// The embedded object cannot be put together.
    #[error("cannot link the embedded BPF object")]
    Link(#[from] EbpfRelocationError),
    /// The embedded object is not the one that this code was written for.
    #[error("the BPF object has no {0}; it was built from other sources")]
    Absent(&'static str),
    /// A map cannot be made or written.
    #[error("cannot make the BPF maps")]
    Map(#[from] MapError),
    /// The verifier.
    #[error("the kernel does not accept the BPF program{}", conclusion(.log))]
    Refused {
        /// What the call said.
        source: io::Error,
        /// What the verifier said, in many lines.
        log: String,
    },
    /// The kernel does not describe what it has loaded.
    #[error("cannot ask the kernel about the loaded BPF program")]
    Info(#[source] io::Error),
    /// The counters.
    #[error(transparent)]
    Counters(#[from] CountersError),
    /// The log.
    #[error("cannot read the BPF log")]
    Log(#[from] aya_log::Error),
}

impl KernelHalf {
    /// Loads the object with its settings and writes the regions.
    ///
    /// System time is charged by the saved registers of the task where the kernel has a helper
    /// for them, and by its user stack elsewhere.
    pub(crate) fn load(plan: &LoadPlan<'_>) -> Result<Self, LoadError> {
        memlock::raise();
        let result = match Self::load_with(plan, SystemPc::SavedRegisters) {
            Err(LoadError::Refused { .. })
                if Feature::SavedRegisters.presence() == Presence::Absent =>
            {
                Self::load_with(plan, SystemPc::UserStack)
            }
            result => result,
        };
        result.map_err(|error| explain(error, plan))
    }

    fn load_with(plan: &LoadPlan<'_>, system_pc: SystemPc) -> Result<Self, LoadError> {
        let settings = Settings {
            charge: Charge::new(plan.wanted, system_pc) as u32,
            ..plan.settings
        };
        let (log_level, log_bytes) = if plan.log {
            (aya_log::Level::Info as u8, LOG_BYTES)
        } else {
            (0, IDLE_LOG_BYTES)
        };
        let counters = counters(&settings);
        let globals = [
            (Settings::SYMBOL, bpf::bytes_of(&settings)),
            (aya_log::LEVEL, bpf::bytes_of(&log_level)),
        ];
        let entries = [
            ("REGIONS", count(plan.regions.len().max(plan.room) * PARTS)),
            ("BINS", counters),
            ("TOUCHED", counters.div_ceil(BINS_PER_PAGE)),
            ("STRAYS", plan.strays.max(1)),
            ("AYA_LOGS", log_bytes),
        ];
        let mut object = Prepared::new(OBJECT, &globals, &entries)?;
        let program = object.load(PROGRAM)?;
        let bytes = memory_of(&object.maps);
        let mut maps = object.maps;

        let mut take = |name| {
            let map = maps.remove(name).ok_or(LoadError::Absent(name))?;
            Ok::<_, LoadError>(Map::Array(map))
        };
        let mut regions = RegionMaps::new(
            take("REGIONS")?.try_into()?,
            take("REGION_TABLE")?.try_into()?,
        );
        regions.write(plan.regions)?;
        let logger = if plan.log {
            Some(EbpfLogger::init_from_id(program.id)?)
        } else {
            None
        };
        Ok(Self {
            program,
            regions,
            maps,
            logger,
            system_pc,
            bytes,
        })
    }

    /// The loaded program, to be attached to clocks.
    pub(crate) fn program(&self) -> BorrowedFd<'_> {
        self.program.fd.as_fd()
    }

    /// The size of the program, and what the verifier had to do.
    pub(crate) const fn figures(&self) -> Figures {
        self.program.figures
    }

    /// Whether system time is charged by the saved registers of the task.
    pub(crate) fn charges_by_saved_registers(&self) -> bool {
        self.system_pc == SystemPc::SavedRegisters
    }

    /// A map that nobody has taken.
    #[cfg(feature = "serve")]
    pub(super) fn map(&self, name: &'static str) -> Result<&aya::maps::MapData, LoadError> {
        self.maps.get(name).ok_or(LoadError::Absent(name))
    }

    /// The counters, to be read by the drain and nobody else.
    pub(crate) fn take_counters(&mut self) -> Result<Counters, LoadError> {
        Ok(Counters::take(&mut self.maps)?)
    }

    /// Empties the regions with these indices: from now on their ticks are strays.
    pub(crate) fn retire_regions(&mut self, indices: &[usize]) -> Result<(), LoadError> {
        self.regions.retire(indices)
    }

    /// Draws the regions anew, all of them and at once. Between two such calls no tick may be under
    /// way all the time. There must have been room for as many in [`LoadPlan::room`].
    pub(crate) fn draw_regions(&mut self, regions: &[Region]) -> Result<(), LoadError> {
        self.regions.write(regions)
    }

    /// Kernel memory that the maps use, in bytes, by the kernel's own account.
    pub(crate) const fn memory(&self) -> u64 {
        self.bytes
    }

    /// Hands on what the kernel half logged, if it was asked to log.
    pub(crate) fn flush_log(&mut self) {
        if let Some(logger) = &mut self.logger {
            logger.flush();
        }
    }
}

/// A plane of bins for user and one for system time.
fn counters(settings: &Settings) -> u32 {
    settings.bins.saturating_mul(2).max(1)
}

/// A map cannot be empty, and no plan has more than 2^32 regions.
fn count(regions: usize) -> u32 {
    u32::try_from(regions).unwrap_or(u32::MAX).max(1)
}

/// Looks for what the kernel lacks behind what it said: a call that it does not know, a map of a
/// kind that it does not have and a wrong argument are all the same to it.
fn explain(error: LoadError, plan: &LoadPlan<'_>) -> LoadError {
    let (LoadError::Map(_) | LoadError::Refused { .. } | LoadError::Counters(_)) = error else {
        return error;
    };
    let lacks = Feature::NEEDED_TO_LOAD
        .into_iter()
        .find(|feature| feature.presence() == Presence::Absent);
    if let Some(feature) = lacks {
        return LoadError::Lacks(feature);
    }
    if is_refused_map(&error)
        && Feature::FreeMaps.presence() == Presence::Absent
        && let Some(limit) = memlock::limit()
    {
        let bins = u64::from(counters(&plan.settings)) * size_of::<u64>() as u64;
        return LoadError::Memlock {
            wanted: bins + u64::from(plan.strays) * memlock::BYTES_PER_STRAY,
            limit,
        };
    }
    error
}

fn is_refused_map(error: &LoadError) -> bool {
    matches!(error, LoadError::Map(MapError::CreateError { io_error, .. })
        if io_error.raw_os_error() == Some(libc::EPERM))
}

/// The verifier's last words: the reason comes after all that it looked at, and only its figures
/// come later.
fn conclusion(log: &str) -> String {
    let figures = ["processed ", "verification time ", "stack depth "];
    log.lines()
        .rev()
        .find(|line| !line.is_empty() && !figures.iter().any(|start| line.starts_with(start)))
        .map_or_else(String::new, |line| format!(" ({line})"))
}

#[cfg(test)]
mod tests {
    use super::{Feature, LoadError, conclusion};

    #[test]
    fn the_reason_of_the_verifier_is_shown() {
        let log = "0: (bf) r6 = r1\n; let x = ctx.regs.cs;\n1: (79) r1 = *(u64 *)(r1 +4096)\n\
                   invalid bpf_context access off=4096 size=8\n\
                   processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0\n";
        assert_eq!(
            conclusion(log),
            " (invalid bpf_context access off=4096 size=8)"
        );
        assert_eq!(conclusion(""), "");
    }

    #[test]
    fn what_a_kernel_lacks_is_named() {
        for feature in Feature::NEEDED_TO_LOAD {
            let text = LoadError::Lacks(feature).to_string();
            assert!(text.contains(feature.name()), "{text}");
        }
    }
}
