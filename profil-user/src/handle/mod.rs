//! A handle on live counters: what `profil(2)` gave its caller, for any process.
//!
//! A [`Profil`] is attached to a process or to one of its threads and counts in the kernel. Its
//! buffer is mapped into our memory, so it can be read at any time without a system call, also
//! while the clock runs: [`Profil::read`], [`Profil::counters`], [`Profil::view_u16`],
//! [`Profil::snapshot`]. What does make system calls says so.
//!
//! ```no_run
//! use std::{thread::sleep, time::Duration};
//!
//! use profil_user::{Profil, Tgid};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Tgid::new(4242).ok_or("no process is numbered 0")?;
//! let profil = Profil::builder(target).rate("1000".parse()?).attach()?;
//! let before = profil.snapshot();
//! sleep(Duration::from_secs(1));
//! for (bin, ticks) in profil.snapshot().since(&before).hottest(5) {
//!     println!("{ticks:6} {:#x}", profil.address_of(bin).unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A handle does nothing by itself: it has no thread, no timer and no signal. So it follows no
//! changes of the target's mappings, other than a session; [`Profil::check`] tells whether the
//! regions still mean what they meant. Code that was mapped after [`ProfilBuilder::attach`] has
//! no bins, and its ticks are strays in the [`Profil::balance`].
//!
//! Ticks of processes that the target starts are counted there as well, in dialects where a child
//! goes on, but never in a bin: bins belong to the addresses of one process.

mod builder;
mod snapshot;

use profil_common::{Dialect, Exec, Region};

pub use builder::ProfilBuilder;
pub use snapshot::{Bin, Snapshot};

pub use crate::target::Outline;
use crate::{
    error::RunError,
    kernel::{Clock, Counters, KernelHalf},
    options::{Rate, Tgid},
    profile::Balance,
    target::{ImageWatch, Plan, Process},
};

/// Live counters of a process. See the [module](self).
///
/// Dropping it, or the end of our process however it comes, detaches everything.
pub struct Profil {
    process: Process,
    image: ImageWatch,
    /// Declared before the program that it runs, and so closed before.
    clock: Clock,
    kernel: KernelHalf,
    counters: Counters,
    plan: Plan,
    outlines: Vec<Outline>,
    rate: Rate,
    running: bool,
}

/// What [`Profil::check`] found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// The target runs the program that the regions were laid out for.
    SameProgram,
    /// It has started another one: the regions are empty from now on, and in a dialect that ends
    /// there the clock is off.
    OtherProgram,
    /// It has ended. What was counted can still be read.
    Ended,
}

/// What a [`Profil`] leaves.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The counters.
    pub snapshot: Snapshot,
    /// Where every tick went. It holds exactly, because nothing ticks any more.
    pub balance: Balance,
}

impl Profil {
    /// Begins to describe a profile of `target`, which may be our own process.
    pub fn builder(target: Tgid) -> ProfilBuilder {
        ProfilBuilder::new(target)
    }

    /// The process.
    pub const fn target(&self) -> Tgid {
        self.process.tgid()
    }

    /// The clock's rate, in the target's own CPU time.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// By whose rules is counted.
    pub const fn dialect(&self) -> Dialect {
        self.plan.dialect()
    }

    /// The regions, in the order in which they are numbered in a [`Bin`]: by address, or in the
    /// order in which the dialect tries them, which need not be that in which they were asked for.
    pub fn regions(&self) -> &[Outline] {
        &self.outlines
    }

    /// Kernel memory of the maps, in bytes; fixed since it was attached.
    pub const fn kernel_bytes(&self) -> u64 {
        self.kernel.memory()
    }

    /// Switches the clock on. Nothing happens if it is on.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn resume(&mut self) -> Result<(), RunError> {
        if !self.running {
            self.clock.enable()?;
            self.running = true;
        }
        Ok(())
    }

    /// Switches the clock off. When this returns no tick is under way any more, and time that
    /// passes now is not due. Nothing happens if it is off.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn pause(&mut self) -> Result<(), RunError> {
        if self.running {
            self.clock.disable()?;
            self.running = false;
        }
        Ok(())
    }

    /// Whether the clock is off.
    pub const fn is_paused(&self) -> bool {
        !self.running
    }

    /// Calls `visit` with every bin that is not zero and its ticks, user and system time together,
    /// by region and number. Pages of bins that were never used are passed over.
    ///
    /// Makes no system call. While the clock runs, the counts are those of slightly different
    /// moments, and none ever gets smaller.
    pub fn read(&self, mut visit: impl FnMut(Bin, u64)) {
        let regions = self.plan.regions();
        let mut region = 0;
        self.counters
            .for_each_pair(self.plan.bins(), |number, user, system| {
                let begun = |next: &Region| next.first <= number;
                while regions.get(region + 1).is_some_and(begun) {
                    region += 1;
                }
                let number = number - regions[region].first;
                visit(Bin { region, number }, user + system);
            });
    }

    /// The counters of one region, wide and in order: user and system ticks together. Nothing if
    /// there is no such region. Makes no system call.
    pub fn counters(&self, region: usize) -> impl Iterator<Item = u64> {
        let range = self.bins_of(region);
        range.map(|index| self.counters.bin(index) + self.counters.bin(self.plan.bins() + index))
    }

    /// Writes the counters of one region as the dialect would have left them, wrapped, saturated
    /// or stopped, in 16 bits. Where its counters are wider, what does not fit is the highest
    /// value. Returns how many were written: the smaller of both lengths.
    ///
    /// Makes no system call.
    pub fn view_u16(&self, region: usize, view: &mut [u16]) -> usize {
        self.view(region, view, |shown| {
            u16::try_from(shown).unwrap_or(u16::MAX)
        })
    }

    /// As [`Profil::view_u16`], in 32 bits.
    pub fn view_u32(&self, region: usize, view: &mut [u32]) -> usize {
        self.view(region, view, |shown| {
            u32::try_from(shown).unwrap_or(u32::MAX)
        })
    }

    fn view<T>(&self, region: usize, view: &mut [T], narrow: impl Fn(u64) -> T) -> usize {
        let Some(outline) = self.outlines.get(region) else {
            return 0;
        };
        let mut written = 0;
        for (to, ticks) in view.iter_mut().zip(self.counters(region)) {
            *to = narrow(outline.dialect.shown(&outline.call, ticks));
            written += 1;
        }
        written
    }

    /// The indices of a region's user bins.
    fn bins_of(&self, region: usize) -> std::ops::Range<u32> {
        let region = self.plan.regions().get(region);
        region.map_or(0..0, |region| region.first..region.first + region.bins)
    }

    /// All counters as a plain value. Makes no system call.
    pub fn snapshot(&self) -> Snapshot {
        let mut counts = Vec::new();
        self.read(|bin, ticks| counts.push((bin, ticks)));
        Snapshot::of(counts)
    }

    /// The lowest address, in the process, that is counted in `bin`. `None` if there is no such
    /// bin, or the dialect knows no such address.
    pub fn address_of(&self, bin: Bin) -> Option<u64> {
        self.plan.address_in_process(bin.region, bin.number)
    }

    /// Where every tick went, and how many were due by the clock's own measure of the target's CPU
    /// time. [`Balance::holds`] is exact while the clock is off.
    ///
    /// Makes system calls: one for the account, one for each thread's clock, and one for each
    /// address outside the regions.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn balance(&self) -> Result<Balance, RunError> {
        let mut binned = 0;
        // The account first: what is counted later is not in it.
        let tally = self.counters.tally()?;
        self.counters.for_each_bin(|_, ticks| binned += ticks);
        let strays = self.counters.strays()?;
        Ok(Balance {
            tally,
            binned,
            strays: strays.iter().map(|(_, stray)| stray.ticks).sum(),
            unwanted: 0,
            stray_fill: self.counters.stray_fill(),
            due_ns: self.clock.elapsed()?.ns,
            period_ns: self.rate.period_ns() as f64,
            others_are_due: true,
            kernel_bytes: self.kernel.memory(),
        })
    }

    /// Looks whether the regions still mean what they meant: reads from `/proc`. To be called now
    /// and then by whoever watches a process that may start another program; between the change
    /// and the call, ticks of the new program can have been counted for the old one.
    ///
    /// # Errors
    ///
    /// If the kernel refuses what follows from the change.
    pub fn check(&mut self) -> Result<Status, RunError> {
        if self.process.has_ended() {
            return Ok(Status::Ended);
        }
        if !self.image.changed() {
            return Ok(Status::SameProgram);
        }
        if self.dialect().rules().exec != Exec::Follows {
            self.pause()?;
        }
        let all: Vec<_> = (0..self.plan.regions().len()).collect();
        self.kernel.retire_regions(&all)?;
        Ok(Status::OtherProgram)
    }

    /// Detaches, and returns all that was counted.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. It is detached all the same.
    pub fn stop(mut self) -> Result<Stopped, RunError> {
        self.pause()?;
        Ok(Stopped {
            snapshot: self.snapshot(),
            balance: self.balance()?,
        })
    }
}

impl std::fmt::Debug for Profil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profil")
            .field("target", &self.target())
            .field("rate", &self.rate)
            .field("dialect", &self.dialect())
            .field("regions", &self.outlines.len())
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}
