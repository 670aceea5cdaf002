//! One record of a ring: its bytes, and what they say (perf_event_open(2), "MMAP layout").
//!
//! Every record is a header `{u32 type, u16 misc, u16 size}`, a body that depends on the type, and,
//! because the events ask for `sample_id_all`, a trailer of a fixed size. Text in a body is padded
//! with zeros to eight bytes.

use perf_event_open_sys::bindings::{
    PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK, PERF_RECORD_LOST,
    PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MISC_MMAP_BUILD_ID, PERF_RECORD_MMAP2, PERF_SAMPLE_CPU,
    PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
};

/// What the trailer has, in this order: `{u32 tgid, tid} {u64 time} {u32 cpu, reserved}`. The first
/// two are of the task that was running, which is not always the one that the record is about.
pub(super) const SAMPLE_TYPE: u64 = (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU) as u64;

/// Bytes of the trailer.
const TRAILER: usize = 8 + 8 + 8;

/// Bytes of the header.
const HEADER: usize = 4 + 2 + 2;

/// Something that the kernel did to a process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Record {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`; of the machine's, if we are in a time namespace.
    pub(crate) time_ns: u64,
    /// To which process. Numbers are those of the PID namespace of whoever opened the rings; 0 is a
    /// process that has no number there, and `u32::MAX` one that has none any more.
    pub(crate) tgid: u32,
    /// To which of its threads.
    pub(crate) tid: u32,
    pub(crate) event: Event,
}

/// What it did.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    /// It mapped something executable, or made a mapping executable.
    Mapped(Mapped),
    /// It gave a thread a name; by exec(2), or because somebody asked for it.
    Named { name: Vec<u8>, exec: bool },
    /// It started a thread, if the parent's process is the same, or else a process.
    Started { parent_tgid: u32, parent_tid: u32 },
    /// The thread ended. The end of the first thread, which has the number of its process, is not the
    /// process's if others go on; nor if one of them calls exec(2): then the others end, the first one
    /// included, and the caller goes on under the first one's number, with a [`Event::Named`].
    Ended,
    /// The ring was full for so many records before this one; process and thread are those that were
    /// running when there was room again.
    Lost { records: u64 },
}

/// A mapping with text in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mapped {
    /// Its first address.
    pub(crate) start: u64,
    /// The address after its last.
    pub(crate) end: u64,
    /// Where in the file it starts, in bytes.
    pub(crate) offset: u64,
    pub(crate) file: MappedFile,
    /// As the kernel knows it: a path in the process's own root; `/memfd:jit (deleted)` and the like
    /// of files that have none, or none any more; `[vdso]`, `//anon` and others of what is no file.
    /// Others choose it: escape before display.
    pub(crate) path: Vec<u8>,
}

/// Which file was mapped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MappedFile {
    /// Where the kernel has no build id, or is not asked for it. All are 0 if there is no file.
    Inode {
        /// Major and minor.
        device: (u32, u32),
        inode: u64,
    },
    /// The first `length` bytes, at most 20, are the build id.
    BuildId { bytes: [u8; 20], length: u8 },
}

/// A record that is not as the kernel writes them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Malformed;

/// Takes the first record off `bytes`, and says what it says. `None` if they do not start with a whole
/// one.
pub(crate) fn next(bytes: &mut &[u8]) -> Option<Result<Option<Record>, Malformed>> {
    split_first(bytes).map(parse)
}

/// Takes the first record off `bytes`. `None` if they do not start with a whole one.
pub(super) fn split_first<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = u16::from_ne_bytes(*bytes.get(6..)?.first_chunk()?);
    if usize::from(size) < HEADER {
        return None;
    }
    let (record, rest) = bytes.split_at_checked(size.into())?;
    *bytes = rest;
    Some(record)
}

/// What a whole record says. `Ok(None)` if it is of a kind that is of no use here.
///
/// # Errors
///
/// If the record is too short for what its header says that it is.
pub(super) fn parse(record: &[u8]) -> Result<Option<Record>, Malformed> {
    parse_or_short(record).ok_or(Malformed)
}

/// As [`parse`], with `None` for what is too short.
fn parse_or_short(record: &[u8]) -> Option<Option<Record>> {
    let mut header = Fields(record);
    let (kind, misc, _size) = (header.u32()?, header.u16()?, header.u16()?);
    let misc = u32::from(misc);
    let (body, trailer) = header
        .0
        .split_at_checked(header.0.len().checked_sub(TRAILER)?)?;
    let mut body = Fields(body);
    let mut trailer = Fields(trailer);
    let (running_tgid, running_tid) = (trailer.u32()?, trailer.u32()?);
    let time_ns = trailer.u64()?;

    let (tgid, tid, event) = match kind {
        PERF_RECORD_MMAP2 => {
            let (tgid, tid) = (body.u32()?, body.u32()?);
            let has_build_id = misc & PERF_RECORD_MISC_MMAP_BUILD_ID != 0;
            match mapped(body, has_build_id)? {
                Some(mapped) => (tgid, tid, Event::Mapped(mapped)),
                None => return Some(None),
            }
        }
        PERF_RECORD_COMM => {
            let (tgid, tid) = (body.u32()?, body.u32()?);
            let name = body.text();
            let exec = misc & PERF_RECORD_MISC_COMM_EXEC != 0;
            (tgid, tid, Event::Named { name, exec })
        }
        PERF_RECORD_FORK => {
            let (tgid, parent_tgid, tid, parent_tid) =
                (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
            let event = Event::Started {
                parent_tgid,
                parent_tid,
            };
            (tgid, tid, event)
        }
        PERF_RECORD_EXIT => {
            let (tgid, _parent_tgid, tid) = (body.u32()?, body.u32()?, body.u32()?);
            (tgid, tid, Event::Ended)
        }
        PERF_RECORD_LOST => {
            let (_event_id, records) = (body.u64()?, body.u64()?);
            (running_tgid, running_tid, Event::Lost { records })
        }
        _ => return Some(None),
    };
    Some(Some(Record {
        time_ns,
        tgid,
        tid,
        event,
    }))
}

/// The rest of a `PERF_RECORD_MMAP2`. `Some(None)` if the mapping is not executable.
fn mapped(mut body: Fields<'_>, has_build_id: bool) -> Option<Option<Mapped>> {
    let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
    let file = if has_build_id {
        let [length, _, _, _] = body.take()?;
        let bytes: [u8; 20] = body.take()?;
        MappedFile::BuildId {
            length: length.min(bytes.len() as u8),
            bytes,
        }
    } else {
        let device = (body.u32()?, body.u32()?);
        let (inode, _generation) = (body.u64()?, body.u64()?);
        MappedFile::Inode { device, inode }
    };
    let (protection, _flags) = (body.u32()?, body.u32()?);
    let is_executable = protection & libc::PROT_EXEC.cast_unsigned() != 0;
    Some(is_executable.then(|| Mapped {
        start,
        // The last page may end where the addresses do; no text of a process is there.
        end: start.saturating_add(length),
        offset,
        file,
        path: body.text(),
    }))
}

/// Fields in the order in which they come, as the machine has them in memory.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    /// What is left, up to the first zero.
    fn text(&self) -> Vec<u8> {
        let end = self.0.iter().position(|&byte| byte == 0);
        self.0[..end.unwrap_or(self.0.len())].to_vec()
    }
}

#[cfg(test)]
mod tests;
