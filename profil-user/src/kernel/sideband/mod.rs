//! The side-band: what the kernel says about processes that start, exec, map text and end, all over
//! the machine (perf_event_open(2)).
//!
//! There is a ring a CPU, and a record is in the ring of the CPU on which it came to pass. A process
//! that moves about is in several; time puts its story in order.

mod record;
mod ring;

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::event::epoll;
use tokio::io::{Interest, unix::AsyncFd};

use super::cpus;
pub(crate) use record::{Event, Mapped, MappedFile, Record, next};
use ring::{Refusal, Ring};

/// The rings of all CPUs. Dropping it ends the kernel's work for it.
pub(crate) struct SideBand {
    rings: Vec<Ring>,
    /// The kernel's list of the CPUs of these rings.
    online: String,
    /// Whether this kernel may have build ids; false once it was found out that it has not.
    build_ids: bool,
    /// Watches all rings.
    epoll: OwnedFd,
    /// A duplicate of `epoll` that the runtime watches.
    watched: Option<AsyncFd<OwnedFd>>,
    /// Records that were taken out and are not yet handed over.
    held: Vec<Record>,
    lost: u64,
    bytes: Vec<u8>,
}

/// Why there is no side-band.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SideBandError {
    /// The list of CPUs is not readable.
    #[error("cannot read which CPUs are online")]
    Cpus(#[source] io::Error),
    /// The event of a CPU could not be opened: `EACCES` or `EPERM` without `CAP_PERFMON`.
    #[error("cannot ask the kernel what processes map and start on CPU {cpu}")]
    Open {
        /// The CPU.
        cpu: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// Its ring could not be mapped: `EPERM` if not even a page may be locked.
    #[error(
        "cannot map a ring for what processes map and start on CPU {cpu} (kernel.perf_event_mlock_kb)"
    )]
    Map {
        /// The CPU.
        cpu: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// The rings cannot be waited for (epoll(7)).
    #[error("cannot wait for what processes map and start")]
    Watch(#[source] io::Error),
}

impl SideBand {
    /// Opens the rings of all CPUs that are online. From then on everything is written down.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. It wants `CAP_PERFMON`, or `kernel.perf_event_paranoid` below 1.
    pub(crate) fn open() -> Result<Self, SideBandError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| SideBandError::Watch(errno.into()))?;
        let mut side_band = Self {
            rings: Vec::new(),
            online: String::new(),
            build_ids: true,
            epoll,
            watched: None,
            held: Vec::new(),
            lost: 0,
            bytes: Vec::new(),
        };
        side_band.follow_cpus()?;
        Ok(side_band)
    }

    /// Everything that was written before the call, of all CPUs, in the order of time.
    ///
    /// Nor is anything handed over later that came to pass before the last of these; but for what a
    /// CPU was just then about to write.
    pub(crate) fn read(&mut self) -> Vec<Record> {
        self.take_all();
        let Some(last_ns) = self.held.iter().map(|record| record.time_ns).max() else {
            return Vec::new();
        };
        // While the last rings were read, something may have been written to the first ones, and then
        // what followed from it to the last ones.
        self.take_all();
        // Those of one CPU are in order already, and at equal times stay so.
        self.held.sort_by_key(|record| record.time_ns);
        let count = self
            .held
            .partition_point(|record| record.time_ns <= last_ns);
        let later = self.held.split_off(count);
        std::mem::replace(&mut self.held, later)
    }

    /// Opens rings on CPUs that have come online since, and drops those of CPUs that have gone; what
    /// is in these is read first. Takes a small file if nothing has changed.
    ///
    /// A CPU that goes and comes again between two calls is not noticed, and its ring stays empty until it
    /// is renewed.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a ring; the others go on, and the next call tries again.
    pub(crate) fn follow_cpus(&mut self) -> Result<(), SideBandError> {
        let online = cpus::online_list().map_err(SideBandError::Cpus)?;
        if online == self.online {
            return Ok(());
        }
        let cpus = cpus::parse_list(&online)
            .ok_or_else(|| SideBandError::Cpus(io::ErrorKind::InvalidData.into()))?;
        for index in (0..self.rings.len()).rev() {
            if !cpus.contains(&self.rings[index].cpu) {
                self.drop_ring(index);
            }
        }
        for cpu in cpus {
            if !self.rings.iter().any(|ring| ring.cpu == cpu) {
                self.add(cpu)?;
            }
        }
        self.online = online;
        Ok(())
    }

    /// Opens the ring of a CPU anew: that which it had stays empty.
    ///
    /// # Errors
    ///
    /// As for [`SideBand::follow_cpus`].
    #[cfg(feature = "serve")]
    pub(crate) fn renew_cpu(&mut self, cpu: u32) -> Result<(), SideBandError> {
        if let Some(index) = self.rings.iter().position(|ring| ring.cpu == cpu) {
            self.drop_ring(index);
        }
        self.add(cpu)
    }

    /// Waits until there is something to read. Nothing is lost if the wait is given up.
    ///
    /// # Errors
    ///
    /// If the runtime cannot wait for descriptors.
    ///
    /// # Panics
    ///
    /// Outside of a runtime with I/O enabled.
    pub(crate) async fn ready(&mut self) -> io::Result<()> {
        while self.held.is_empty() && !self.rings.iter().any(Ring::has_records) {
            let mut ready = self.watched()?.readable().await?;
            // Before the rings are looked at: what comes after that look makes it ready again.
            ready.clear_ready();
        }
        Ok(())
    }

    /// Records that the kernel had no room for, and what was no record; as far as it was said: the
    /// kernel says it with the next record that there is room for.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    fn watched(&mut self) -> io::Result<&AsyncFd<OwnedFd>> {
        if self.watched.is_none() {
            let epoll = self.epoll.try_clone()?;
            // SAFETY: an `OwnedFd` is the same open descriptor for as long as it lives.
            let watched = unsafe { AsyncFd::register_with_interest(epoll, Interest::READABLE) }?;
            self.watched = Some(watched);
        }
        self.watched.as_ref().ok_or(io::ErrorKind::Other.into())
    }

    fn add(&mut self, cpu: u32) -> Result<(), SideBandError> {
        let ring = match Ring::open(cpu, &mut self.build_ids) {
            // It has gone offline since.
            Err(Refusal::Open(source)) if source.raw_os_error() == Some(libc::ENODEV) => {
                return Ok(());
            }
            Err(Refusal::Open(source)) => return Err(SideBandError::Open { cpu, source }),
            Err(Refusal::Map(source)) => return Err(SideBandError::Map { cpu, source }),
            Ok(ring) => ring,
        };
        let which = epoll::EventData::new_u64(cpu.into());
        epoll::add(&self.epoll, ring.as_fd(), which, epoll::EventFlags::IN)
            .map_err(|errno| SideBandError::Watch(errno.into()))?;
        self.rings.push(ring);
        Ok(())
    }

    /// Takes what is in a ring, and closes it.
    fn drop_ring(&mut self, index: usize) {
        self.take_ring(index);
        let gone = self.rings.swap_remove(index);
        // Closing it would do, were it not for copies of the descriptor in children.
        let _ = epoll::delete(&self.epoll, gone.as_fd());
    }

    fn take_all(&mut self) {
        for index in 0..self.rings.len() {
            self.take_ring(index);
        }
    }

    /// Takes what is in a ring.
    fn take_ring(&mut self, index: usize) {
        self.bytes.clear();
        self.rings[index].take(&mut self.bytes);
        let mut rest = &self.bytes[..];
        while let Some(record) = next(&mut rest) {
            match record {
                Ok(None) => {}
                Ok(Some(record)) => {
                    if let Event::Lost { records } = record.event {
                        self.lost = self.lost.saturating_add(records);
                    }
                    self.held.push(record);
                }
                Err(record::Malformed) => self.lost += 1,
            }
        }
        if !rest.is_empty() {
            self.lost += 1;
        }
    }
}
