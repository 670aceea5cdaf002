//! The ring of one CPU: a dummy event, and the memory that the kernel writes its records to.

use std::{
    io,
    mem::offset_of,
    os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use perf_event_open_sys::{
    bindings::{
        PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr,
        perf_event_mmap_page,
    },
    perf_event_open,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::record::SAMPLE_TYPE;

/// Pages for the records of a CPU; a power of two, as the kernel wants it.
const PAGES: usize = 64;

/// An event, switched on, that counts nothing and has the kernel write its side-band records.
pub(super) struct Ring {
    pub(super) cpu: u32,
    memory: Memory,
    event: OwnedFd,
}

/// At which step a ring could not be had, and what the kernel said.
pub(super) enum Refusal {
    Open(io::Error),
    Map(io::Error),
}

impl Ring {
    /// Opens the ring of a CPU. `build_ids` says whether to ask for build ids in place of inodes,
    /// and is cleared if this kernel does not have that (it came with Linux 5.12).
    pub(super) fn open(cpu: u32, build_ids: &mut bool) -> Result<Self, Refusal> {
        let event = match open_event(cpu, *build_ids) {
            // A bit that it does not know, or, if the attributes end before it, too many of them.
            Err(error)
                if *build_ids
                    && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::E2BIG)) =>
            {
                let event = open_event(cpu, false);
                *build_ids = event.is_err();
                event
            }
            opened => opened,
        };
        let event = event.map_err(Refusal::Open)?;
        let memory = Memory::of_event(event.as_fd()).map_err(Refusal::Map)?;
        Ok(Self { cpu, memory, event })
    }

    /// Whether something was written that was not read.
    pub(super) fn has_records(&self) -> bool {
        let Control { head, tail } = self.memory.control();
        // We alone write the tail.
        head.load(Ordering::Acquire) != tail.load(Ordering::Relaxed)
    }

    /// Takes out what was written, appends it to `bytes`, and leaves its room to the kernel.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        self.memory.take(bytes);
    }
}

impl AsFd for Ring {
    /// Becomes readable when something is written.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

fn open_event(cpu: u32, build_ids: bool) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_DUMMY),
        sample_type: SAMPLE_TYPE,
        clockid: libc::CLOCK_MONOTONIC,
        ..perf_event_attr::default()
    };
    attributes.set_sample_id_all(1);
    attributes.set_use_clockid(1);
    attributes.set_mmap(1);
    attributes.set_mmap2(1);
    attributes.set_build_id(build_ids.into());
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
    attributes.set_task(1);
    // Whoever waits is woken at the first byte.
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = 1;

    const EVERYBODY: libc::pid_t = -1;
    const NO_GROUP: libc::c_int = -1;
    // SAFETY: the attributes live for the call and their size is given in them.
    let event = unsafe {
        perf_event_open(
            &mut attributes,
            EVERYBODY,
            cpu.cast_signed(),
            NO_GROUP,
            u64::from(PERF_FLAG_FD_CLOEXEC),
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
}

/// A page of control, then the records, in a circle of a power of two bytes.
struct Memory {
    address: NonNull<u8>,
    page: usize,
    /// Bytes for records.
    size: usize,
}

/// How far each side is, in bytes since the beginning; they only grow, and wrap at 2^64.
struct Control<'a> {
    /// What the kernel has written.
    head: &'a AtomicU64,
    /// What we have read.
    tail: &'a AtomicU64,
}

// SAFETY: the mapping belongs to the value alone and is tied to no thread.
unsafe impl Send for Memory {}
// SAFETY: through a shared reference only the two atomics are read.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps the memory of an event. Where it counts against `RLIMIT_MEMLOCK` and
    /// `kernel.perf_event_mlock_kb`, takes what these leave.
    fn of_event(event: BorrowedFd<'_>) -> io::Result<Self> {
        let mut pages = PAGES;
        loop {
            match Self::map(pages, Some(event)) {
                Err(error)
                    if pages > 1
                        && matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) =>
                {
                    pages /= 2;
                }
                mapped => return mapped,
            }
        }
    }

    /// Maps so many pages for records, a power of two, and one more; without an event, memory that
    /// nobody writes to.
    fn map(pages: usize, event: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let size = pages * page;
        // Only if we may write our tail does the kernel heed it, rather than to write over what was
        // not read.
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            match event {
                Some(event) => mmap(
                    anywhere,
                    page + size,
                    protection,
                    MapFlags::SHARED,
                    event,
                    0,
                ),
                None => mmap_anonymous(anywhere, page + size, protection, MapFlags::PRIVATE),
            }
        }?;
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Self {
            address,
            page,
            size,
        })
    }

    fn control(&self) -> Control<'_> {
        const _: () = {
            assert!(offset_of!(perf_event_mmap_page, data_head).is_multiple_of(8));
            assert!(offset_of!(perf_event_mmap_page, data_tail).is_multiple_of(8));
        };
        let page = self.address.cast::<perf_event_mmap_page>().as_ptr();
        // SAFETY: the first page is mapped as long as `self` lives and is of this layout; both
        // fields are aligned, and no reference to them is made but as atomics. The kernel, in this
        // respect another thread, reads and writes each as one word.
        unsafe {
            Control {
                head: AtomicU64::from_ptr(&raw mut (*page).data_head),
                tail: AtomicU64::from_ptr(&raw mut (*page).data_tail),
            }
        }
    }

    fn take(&mut self, bytes: &mut Vec<u8>) {
        let Control { head, tail } = self.control();
        // Pairs with the kernel's release: what was written before is seen after.
        let head = head.load(Ordering::Acquire);
        let from = tail.load(Ordering::Relaxed);
        // The kernel never is a whole circle ahead; if somebody wrote to the page, what is there is
        // nonsense, and that is all.
        let unread = (head.wrapping_sub(from) as usize).min(self.size);
        let start = from as usize & (self.size - 1);
        let first = unread.min(self.size - start);
        for (start, length) in [(start, first), (0, unread - first)] {
            // SAFETY: the range is inside the mapping, and the kernel does not write to what lies
            // between tail and head.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(self.address.as_ptr().add(self.page + start), length)
            });
        }
        // What was read above is read before the kernel may see this.
        tail.store(head, Ordering::Release);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is the one that was mapped, and no reference to it outlives `self`.
        let result = unsafe { munmap(self.address.as_ptr().cast(), self.page + self.size) };
        debug_assert!(result.is_ok(), "{result:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use proptest::prelude::*;

    use super::Memory;

    impl Memory {
        /// Writes as the kernel does.
        fn write(&mut self, bytes: &[u8]) {
            let head = self.control().head.load(Ordering::Relaxed);
            for (at, &byte) in (head..).zip(bytes) {
                let place = self.page + (at as usize & (self.size - 1));
                // SAFETY: the place is inside the mapping, which is ours alone.
                unsafe { self.address.as_ptr().add(place).write(byte) };
            }
            let head = head.wrapping_add(bytes.len() as u64);
            self.control().head.store(head, Ordering::Release);
        }
    }

    #[test]
    fn a_head_that_is_nonsense_is_survived() {
        let mut memory = Memory::map(1, None).expect("two pages");
        memory.control().head.store(u64::MAX - 5, Ordering::Relaxed);
        let mut bytes = Vec::new();
        memory.take(&mut bytes);
        assert_eq!(bytes.len(), memory.size);
        bytes.clear();
        memory.take(&mut bytes);
        assert!(bytes.is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_wherever_it_wraps(
            lengths in prop::collection::vec(0..=4096_usize, 1..12),
        ) {
            let mut memory = Memory::map(1, None).expect("two pages");
            let mut next = (0..=250_u8).cycle();
            for length in lengths {
                let written: Vec<u8> = next.by_ref().take(length.min(memory.size)).collect();
                memory.write(&written);
                let mut read = Vec::new();
                memory.take(&mut read);
                prop_assert_eq!(read, written);
            }
        }
    }
}
