//! From options to a clock on every CPU: a new one, or the one that somebody left.

use std::{
    path::PathBuf,
    time::{Instant, SystemTime},
};

use profil_common::{Settings, Wanted};

use super::{Cgroups, Pulse, Ticking, Watch};
use crate::{
    error::StartError,
    kernel::{Beat, Clock, Counters, KernelHalf, LoadPlan, PidNamespace, Pins, SideBand},
    options::Rate,
    preflight::{check_privileges, check_rate},
    session::{Looks, raise_descriptor_limit},
    target::Objects,
};

/// How far the rate of a clock that is there may be from what is asked for, of itself.
const SAME_RATE: f64 = 1e-3;

/// What to count.
#[derive(Clone, Debug)]
pub(crate) struct WatchOptions {
    /// Ticks per second of each CPU.
    pub(crate) rate: Rate,
    /// Which ticks.
    pub(crate) wanted: Wanted,
    /// Entries of the table of strays.
    pub(crate) strays: u32,
    /// The directory, in a BPF file system, of what is to outlive us.
    pub(crate) pins: Option<PathBuf>,
}

impl Watch {
    /// Switches a clock on, or takes over one that is on.
    ///
    /// # Errors
    ///
    /// If privileges are missing, or the kernel refuses, or what is there counts something else.
    pub(crate) fn start(options: &WatchOptions) -> Result<Self, StartError> {
        check_rate(options.rate)?;
        raise_descriptor_limit();
        check_privileges()?;
        // Before anything is looked at: what changes after the look is written down.
        let side_band = match SideBand::open() {
            Ok(side_band) => Some(side_band),
            Err(error) => {
                log::warn!("{error}; short-lived processes may have no names");
                None
            }
        };
        let (mut looks, mut objects) = (Looks::new(false), Objects::default());
        looks.look_at_everybody(&mut objects);
        let found = objects.list().len();
        let attached = attach(options)?;
        let period_ns = attached.period_ns.round() as u64;
        Ok(Self {
            ticking: attached.ticking,
            counters: attached.counters,
            pulse: Pulse::new(period_ns),
            side_band,
            looks,
            objects,
            cgroups: Cgroups::default(),
            generation: 0,
            renewed: Instant::now(),
            found,
            swept: Instant::now(),
            told: 0,
            pending: Vec::new(),
            taken_ns: 0,
            turned: SystemTime::now(),
            period_ns,
            kernel_bytes: attached.kernel_bytes,
            adopted: attached.adopted,
            instance: attached.instance,
            lost: 0,
        })
    }
}

struct Attached {
    ticking: Ticking,
    counters: Counters,
    period_ns: f64,
    kernel_bytes: u64,
    adopted: bool,
    instance: u64,
}

fn attach(options: &WatchOptions) -> Result<Attached, StartError> {
    if let Some(dir) = &options.pins
        && let Some((pins, counters)) = Pins::find(dir)?
    {
        let meta = *pins.meta();
        let asked = (options.rate.hertz(), number_of(options.wanted));
        let there = (1e9 / meta.period_ns(), meta.mode);
        if (there.0 / asked.0 - 1.0).abs() > SAME_RATE || there.1 != asked.1 {
            let text =
                |(hertz, mode): (f64, u64)| format!("{hertz:.0} Hz in mode {}", name_of(mode));
            return Err(StartError::OtherClock {
                dir: dir.clone(),
                there: text(there),
                asked: text(asked),
            });
        }
        let (_, capacity) = counters.stray_fill();
        if capacity != options.strays {
            log::warn!(
                "the table of addresses goes on with {capacity} entries, not {}: --unpin first changes that",
                options.strays
            );
        }
        return Ok(Attached {
            counters,
            period_ns: meta.period_ns(),
            kernel_bytes: meta.kernel_bytes,
            adopted: true,
            instance: meta.instance,
            ticking: Ticking::Pinned(pins),
        });
    }
    let namespace = PidNamespace::own().map_err(StartError::PidNamespace)?;
    let plan = LoadPlan {
        settings: Settings {
            pid_namespace_device: namespace.device,
            pid_namespace_inode: namespace.inode,
            ..Settings::default()
        },
        wanted: options.wanted,
        regions: &[],
        room: 0,
        strays: options.strays,
        log: false,
    };
    let mut kernel = KernelHalf::load(&plan)?;
    let kernel_bytes = kernel.memory();
    let beat = Beat::pair(options.rate);
    let meta = beat.meta(number_of(options.wanted), kernel_bytes);
    let ticking = match &options.pins {
        Some(dir) => {
            let pins = Pins::make(dir, &kernel, meta)?;
            return Ok(Attached {
                ticking: Ticking::Pinned(pins),
                counters: kernel.take_counters()?,
                period_ns: meta.period_ns(),
                kernel_bytes,
                adopted: false,
                instance: meta.instance,
            });
        }
        None => {
            let mut clock = Clock::following_cpus(None, beat, kernel.program())?;
            clock.enable()?;
            clock
        }
    };
    Ok(Attached {
        counters: kernel.take_counters()?,
        ticking: Ticking::Held(ticking),
        period_ns: meta.period_ns(),
        kernel_bytes,
        adopted: false,
        instance: meta.instance,
    })
}

/// Modes as they are written down.
const MODES: [(Wanted, &str); 5] = [
    (Wanted::Both, "prof"),
    (Wanted::User, "user"),
    (Wanted::System, "system"),
    (Wanted::Kernel, "kernel"),
    (Wanted::Split, "split"),
];

fn number_of(wanted: Wanted) -> u64 {
    let index = MODES.iter().position(|&(mode, _)| mode == wanted);
    index.map_or(u64::MAX, |index| index as u64)
}

fn name_of(mode: u64) -> &'static str {
    let mode = usize::try_from(mode).ok().and_then(|mode| MODES.get(mode));
    mode.map_or("unknown", |&(_, name)| name)
}
