//! The embedded BPF object: settings, load, and the descriptors that follow from it.

use std::os::fd::{AsFd as _, BorrowedFd};

use aya::{
    Ebpf, EbpfError, EbpfLoader, include_bytes_aligned,
    maps::Array,
    programs::{PerfEvent, ProgramError},
};
use aya_log::EbpfLogger;
use profil_common::{Region, Settings, SystemPc, limits::BINS_PER_PAGE};

use super::maps::{Counters, CountersError, memory_of};

#[cfg(target_arch = "x86_64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/profil-x86_64.bpf.o");
#[cfg(target_arch = "aarch64")]
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/profil-aarch64.bpf.o");

/// The program's name in the object, and the beginning of it in the kernel's list of programs.
const PROGRAM: &str = "profil_tick";

/// Bytes of the log ring buffer while diagnostics are off: the smallest that every page size
/// allows. Nothing is written to it then, but a map cannot be left out of a loaded object.
const IDLE_LOG_BYTES: u32 = 64 * 1024;

/// What the kernel half has to know before the first tick.
pub(crate) struct LoadPlan<'a> {
    /// All but [`Settings::system_pc`], which depends on the kernel.
    pub(crate) settings: Settings,
    /// Sorted by process and start.
    pub(crate) regions: &'a [Region],
    /// Entries of the table of strays.
    pub(crate) strays: u32,
    /// Whether rare events go to the `log` crate.
    pub(crate) log: bool,
}

/// The loaded kernel half. Dropping it unloads it, once no clock holds the program.
pub(crate) struct KernelHalf {
    ebpf: Ebpf,
    logger: Option<EbpfLogger<&'static dyn log::Log>>,
    bytes: u64,
}

/// Why the kernel half cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The object or its maps.
    #[error("cannot load the BPF object")]
    Object(#[from] EbpfError),
    /// The program, which the verifier may refuse.
    #[error("the kernel does not accept the BPF program")]
    Program(#[from] ProgramError),
    /// The embedded object is not the one that this code was written for.
    #[error("the BPF object has no {0}; it was built from other sources")]
    Absent(&'static str),
    /// A map.
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
    /// for them (Linux 5.15), and by its user stack elsewhere.
    pub(crate) fn load(plan: &LoadPlan<'_>) -> Result<Self, LoadError> {
        match Self::load_with(plan, SystemPc::SavedRegisters) {
            Err(LoadError::Program(first)) => {
                // If the other way fails too, the first refusal is the one to report.
                Self::load_with(plan, SystemPc::UserStack).map_err(|_| first.into())
            }
            result => result,
        }
    }

    fn load_with(plan: &LoadPlan<'_>, system_pc: SystemPc) -> Result<Self, LoadError> {
        let settings = Settings {
            system_pc: system_pc as u32,
            ..plan.settings
        };
        let log_level: u8 = if plan.log {
            aya_log::Level::Info as u8
        } else {
            0
        };
        // A plane for user and one for system time.
        let counters = plan.settings.bins.saturating_mul(2).max(1);
        let mut loader = EbpfLoader::new();
        loader
            // Nothing here needs the kernel's type information, and parsing it takes longer than
            // all the rest of the start.
            .btf(None)
            .override_global(Settings::SYMBOL, &settings, true)
            .override_global(aya_log::LEVEL, &log_level, true)
            .map_max_entries("REGIONS", count(plan.regions.len()))
            .map_max_entries("BINS", counters)
            .map_max_entries("TOUCHED", counters.div_ceil(BINS_PER_PAGE))
            .map_max_entries("STRAYS", plan.strays.max(1));
        if !plan.log {
            loader.map_max_entries("AYA_LOGS", IDLE_LOG_BYTES);
        }
        let mut ebpf = loader.load(OBJECT)?;

        let mut regions: Array<_, Region> = ebpf
            .map_mut("REGIONS")
            .ok_or(LoadError::Absent("REGIONS"))?
            .try_into()
            .map_err(CountersError::Map)?;
        for (index, region) in (0..).zip(plan.regions) {
            regions.set(index, region, 0).map_err(CountersError::Map)?;
        }
        let mut region_count: Array<_, u32> = ebpf
            .map_mut("REGION_COUNT")
            .ok_or(LoadError::Absent("REGION_COUNT"))?
            .try_into()
            .map_err(CountersError::Map)?;
        region_count
            .set(0, plan.regions.len() as u32, 0)
            .map_err(CountersError::Map)?;
        let bytes = memory_of(&ebpf)?;
        let logger = if plan.log {
            Some(EbpfLogger::init(&mut ebpf)?)
        } else {
            None
        };

        let program: &mut PerfEvent = ebpf
            .program_mut(PROGRAM)
            .ok_or(LoadError::Absent(PROGRAM))?
            .try_into()?;
        program.load()?;
        Ok(Self {
            ebpf,
            logger,
            bytes,
        })
    }

    /// The loaded program, to be attached to clocks.
    pub(crate) fn program(&self) -> Result<BorrowedFd<'_>, LoadError> {
        let program = self
            .ebpf
            .program(PROGRAM)
            .ok_or(LoadError::Absent(PROGRAM))?;
        Ok(<&PerfEvent>::try_from(program)?.fd()?.as_fd())
    }

    /// The counters, to be read by the drain and nobody else.
    pub(crate) fn take_counters(&mut self) -> Result<Counters, LoadError> {
        Ok(Counters::take(&mut self.ebpf)?)
    }

    /// Empties the regions with these indices: from now on their ticks are strays.
    pub(crate) fn retire_regions(&mut self, indices: &[usize]) -> Result<(), LoadError> {
        let map = self
            .ebpf
            .map_mut("REGIONS")
            .ok_or(LoadError::Absent("REGIONS"))?;
        let mut regions: Array<_, Region> = map.try_into().map_err(CountersError::Map)?;
        for &index in indices {
            let index = index as u32;
            let mut region = regions.get(&index, 0).map_err(CountersError::Map)?;
            region.bins = 0;
            regions.set(index, region, 0).map_err(CountersError::Map)?;
        }
        Ok(())
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

/// A map cannot be empty, and no plan has more than 2^32 regions.
fn count(regions: usize) -> u32 {
    u32::try_from(regions).unwrap_or(u32::MAX).max(1)
}
