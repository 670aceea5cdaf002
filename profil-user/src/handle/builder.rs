//! What is to be profiled, and the way from there to a clock that is attached.

use std::io;

use profil_common::{Dialect, Fork, Settings, Wanted};

use super::Profil;
use crate::{
    error::StartError,
    kernel::{Beat, Clock, KernelHalf, LoadPlan, PidNamespace, WarmUp, Whom},
    options::{Options, Rate, RegionAsked, Scale, Start, Tgid},
    preflight::{check_privileges, check_rate},
    target::{self, Explicit, ImageWatch, Layout, Objects, Plan, Process},
};

/// Lists of threads that are taken before one holds still.
const TRIES: usize = 50;

/// Describes a [`Profil`], with the defaults of [`Options`].
///
/// ```
/// use profil_user::{Dialect, Profil, Tgid};
///
/// let target = Tgid::new(std::process::id()).expect("we are a process");
/// // profil(buf, 8192, 0x401000, 0x8000) of the C library, on all threads but this one.
/// let builder = Profil::builder(target)
///     .classic(0x40_1000, 8192, 0x8000)
///     .dialect(Dialect::Glibc)
///     .rate("1000".parse()?)
///     .paused();
/// # Ok::<_, profil_user::RateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProfilBuilder {
    target: Tgid,
    thread: Option<u32>,
    except: Vec<u32>,
    regions: Vec<RegionAsked>,
    dialect: Dialect,
    rate: Rate,
    bins_bytes: u64,
    strays: u32,
    paused: bool,
}

impl ProfilBuilder {
    pub(super) const fn new(target: Tgid) -> Self {
        Self {
            target,
            thread: None,
            except: Vec::new(),
            regions: Vec::new(),
            dialect: Dialect::Modern,
            rate: Rate::DEFAULT,
            bins_bytes: Options::DEFAULT_BINS_BYTES,
            strays: Options::DEFAULT_STRAYS,
            paused: false,
        }
    }

    /// Counts only the thread with this number (gettid(2)), and nothing that it starts.
    #[must_use]
    pub const fn thread(mut self, tid: u32) -> Self {
        self.thread = Some(tid);
        self
    }

    /// Leaves out the thread with this number: of our own process, the one that reads. What it
    /// starts later is left out too. May be called more than once.
    #[must_use]
    pub fn except_thread(mut self, tid: u32) -> Self {
        self.except.push(tid);
        self
    }

    /// Adds a region. Without any, every executable mapping of the process is one, as fine as the
    /// memory allows.
    #[must_use]
    pub fn region(mut self, region: RegionAsked) -> Self {
        self.regions.push(region);
        self
    }

    /// Adds the region that `profil(buffer, bytes, offset, scale)` describes: `bytes` of buffer for
    /// addresses from `offset` up, `scale` buffer bytes for a byte of text, in 16.16 fixed point.
    #[must_use]
    pub fn classic(self, offset: u64, bytes: u64, scale: u32) -> Self {
        self.region(RegionAsked {
            start: Start::Address(offset),
            bytes: Some(bytes),
            scale: Scale(scale),
        })
    }

    /// By whose rules regions are counted. Others than ours need a region.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// How often the clock ticks, in the CPU time of each thread.
    #[must_use]
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }

    /// Most kernel memory that all bins may use, in bytes: 16 a bin.
    #[must_use]
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.bins_bytes = bytes;
        self
    }

    /// How many distinct addresses outside every region are told apart, at some 72 bytes of
    /// kernel memory each.
    #[must_use]
    pub const fn strays(mut self, addresses: u32) -> Self {
        self.strays = addresses;
        self
    }

    /// Leaves the clock off until [`Profil::resume`].
    #[must_use]
    pub const fn paused(mut self) -> Self {
        self.paused = true;
        self
    }

    /// Finds the target, lays out the regions, loads the kernel half, attaches a clock to each
    /// thread, and switches it on.
    ///
    /// Takes a file descriptor for each thread while it lives, and on kernels before 5.11 raises
    /// `RLIMIT_MEMLOCK`.
    ///
    /// # Errors
    ///
    /// If privileges are missing, the target cannot be profiled, a region makes no sense, or the
    /// kernel refuses. `EMFILE` in a [`StartError::Clock`] says that there are more threads than
    /// we may have open files.
    pub fn attach(&self) -> Result<Profil, StartError> {
        check_rate(self.rate)?;
        let namespace = PidNamespace::own().map_err(StartError::PidNamespace)?;
        let process = Process::find(self.target)?;
        check_privileges()?;
        let tgid = self.target.get();
        // It is a thread, and of our own process we want the list of them to hold still.
        let ourselves = tgid == std::process::id();
        let _until_attached = (!ourselves).then(|| WarmUp::begin(self.rate));

        let image = ImageWatch::new(tgid);
        // Only until the regions are drawn: it keeps the files of the target open.
        let mut objects = Objects::default();
        let plan = self.plan(&image, &mut objects)?;
        let follows = plan.dialect().rules().fork == Fork::Continues && self.thread.is_none();
        let mut kernel = KernelHalf::load(&LoadPlan {
            settings: Settings {
                pid_namespace_device: namespace.device,
                pid_namespace_inode: namespace.inode,
                only_tgid: if follows { 0 } else { tgid },
                bins: plan.bins(),
                charge: 0,
                dialect: plan.dialect() as u32,
                ..Settings::default()
            },
            room: 0,
            wanted: Wanted::Both,
            regions: plan.regions(),
            strays: self.strays,
            log: false,
        })?;
        let counters = kernel.take_counters()?;
        let mut profil = Profil {
            clock: self.clock(&kernel)?,
            process,
            image,
            kernel,
            counters,
            outlines: plan.all_outlines(&objects),
            plan,
            rate: self.rate,
            running: false,
        };
        if !self.paused {
            profil.clock.enable()?;
            profil.running = true;
        }
        Ok(profil)
    }

    fn plan(&self, image: &ImageWatch, objects: &mut Objects) -> Result<Plan, StartError> {
        let tgid = self.target.get();
        let by_numbers = |region: &RegionAsked| {
            matches!(region.start, Start::Address(_)) && region.bytes.is_some()
        };
        let mappings = if !self.regions.is_empty() && self.regions.iter().all(by_numbers) {
            // What lies there is not needed, and need not be readable.
            Vec::new()
        } else {
            target::read_mappings(tgid).map_err(|source| StartError::Mappings {
                tgid: self.target,
                source,
            })?
        };
        let executable = image.executable();
        // The dialects of old have no region of their own choice, and say so.
        if self.regions.is_empty() && self.dialect == Dialect::Modern {
            let layout = Layout::plan(tgid, &mappings, executable, self.bins_bytes, objects)?;
            return Ok(Plan::Mappings(layout));
        }
        let asked = (&self.regions[..], self.dialect);
        let mappings = (&mappings[..], executable);
        let explicit = Explicit::plan(tgid, mappings, asked, self.bins_bytes, objects)?;
        Ok(Plan::Asked(explicit))
    }

    /// Opens the clock, switched off. As for a session, threads are listed, their events opened,
    /// and threads listed again: one that is new in the second list either inherited an event or
    /// has none, and nobody can tell which, so everything is closed and tried again.
    fn clock(&self, kernel: &KernelHalf) -> Result<Clock, StartError> {
        let tgid = self.target;
        let threads = || {
            target::list_threads(tgid).map_err(|source| match source.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) => StartError::Ended(tgid),
                _ => StartError::Threads { tgid, source },
            })
        };
        if let Some(thread) = self.thread {
            if !threads()?.contains(&thread) {
                return Err(StartError::NoSuchThread { tgid, thread });
            }
            return Ok(Clock::following_tasks(
                [thread],
                Whom::Alone,
                Beat::steady(self.rate),
                kernel.program(),
            )?);
        }
        for _ in 0..TRIES {
            let mut before = threads()?;
            let listed = before.clone();
            before.retain(|tid| !self.except.contains(tid));
            let clock = Clock::following_tasks(
                before,
                Whom::WithChildren,
                Beat::steady(self.rate),
                kernel.program(),
            )?;
            if clock.len() == 0 {
                return Err(StartError::Ended(tgid));
            }
            if target::threads_settled(&listed, &threads()?) {
                return Ok(clock);
            }
        }
        Err(StartError::Threads {
            tgid,
            source: io::Error::other("it starts threads faster than they can be followed"),
        })
    }
}
