//! Programs built with `-pg`: their start-up code calls `__monstartup`, and `_mcleanup` at exit.
//!
//! Both call `profil` inside the C library, where nobody can stand in for it, and keep the histogram in
//! memory that has no name outside. So the C library does all that it ever did, with the calls
//! counted by `mcount`, but for one thing: as soon as it has switched its own `profil` on, we switch it
//! off again, and no SIGPROF ever comes. What the kernel counts instead is kept here and put into the
//! histogram of `gmon.out` when the C library has written it.

use std::{
    ffi::{OsString, c_int, c_ulong},
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    ptr::null_mut,
};

use profil_common::{Classic, Dialect};

use crate::{
    failure::{Failure, guarded},
    next,
    session::{State, state},
    settings,
    sink::Sink,
};

/// Bytes before the first record: `struct gmon_hdr`.
const HEADER_BYTES: usize = 20;
/// The tag of a histogram, and `struct gmon_hist_hdr` behind it.
const TAG_HISTOGRAM: u8 = 0;
const WORD: usize = size_of::<c_ulong>();
const SIZE_AT: usize = 1 + 2 * WORD;
const RATE_AT: usize = SIZE_AT + 4;
const RECORD_BYTES: usize = RATE_AT + 4 + 16;

/// What is counted for `monstartup`.
pub(crate) struct Gmon {
    region: Classic,
    hertz: u32,
    counts: Vec<u64>,
}

impl Gmon {
    /// Adds what a session has counted.
    pub(crate) fn add(&mut self, counts: &[u64]) {
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
    }
}

/// What the C library's `monstartup` makes of its arguments (`gmon/gmon.c`).
fn region_of(low: c_ulong, high: c_ulong) -> Option<Classic> {
    let low = low & !3;
    let high = high.checked_add(3)? & !3;
    let text = high.checked_sub(low)?;
    let bytes = (text / 2).next_multiple_of(WORD as c_ulong);
    let scale = if bytes < text {
        // In single precision, as there: its scale is slightly off for large programs.
        (bytes as f32 / text as f32 * 65536.0) as u32
    } else {
        65536
    };
    Some(Classic {
        offset: low,
        bytes,
        scale,
        added: 0,
    })
}

/// `__monstartup` of the C library, with the histogram counted by the kernel.
///
/// # Safety
///
/// As the C library's own: the addresses are those of the program's text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __monstartup(low: c_ulong, high: c_ulong) {
    let begun = guarded(false, || {
        let mut state = state();
        let begun = region_of(low, high).map(|region| state.begin_gmon(region));
        match begun {
            Some(Err(failure)) => settings::say_fallback(failure.words()),
            Some(Ok(())) => return Ok(true),
            None => {}
        }
        Ok(false)
    });
    if let Some(next) = next::monstartup() {
        // SAFETY: the caller's promise.
        unsafe { next(low, high) };
    }
    if begun {
        guarded((), || {
            stop_next();
            state().resume_gmon()
        });
    }
}

/// The other name of [`__monstartup`].
///
/// # Safety
///
/// As [`__monstartup`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn monstartup(low: c_ulong, high: c_ulong) {
    // SAFETY: the caller's promise.
    unsafe { __monstartup(low, high) };
}

/// `moncontrol` of the C library: switches the histogram and the count of calls off and on.
///
/// # Safety
///
/// As the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn moncontrol(mode: c_int) {
    if let Some(next) = next::moncontrol() {
        // SAFETY: the caller's promise.
        unsafe { next(mode) };
    }
    guarded((), || {
        let mut state = state();
        if state.gmon.is_none() {
            return Ok(());
        }
        if mode == 0 {
            return match state.session.as_mut().filter(|session| session.is_gmon) {
                Some(session) => session.pause(),
                None => Ok(()),
            };
        }
        stop_next();
        state.resume_gmon()
    });
}

/// `_mcleanup` of the C library: writes `gmon.out`.
///
/// # Safety
///
/// As the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _mcleanup() {
    let gmon = guarded(None, || {
        let mut state = state();
        if state
            .session
            .as_ref()
            .is_some_and(|session| session.is_gmon)
        {
            state.end()?;
        }
        Ok(state.gmon.take())
    });
    if let Some(next) = next::mcleanup() {
        // SAFETY: the caller's promise.
        unsafe { next() };
    }
    if let Some(gmon) = gmon {
        guarded((), || {
            if let Err(error) = open_written().and_then(|file| gmon.fill_in(file)) {
                settings::complain(&format_args!("no ticks in gmon.out: {error}"));
            }
            Ok(())
        });
    }
}

/// Switches off what the C library has just switched on. That it counts calls is not touched.
fn stop_next() {
    if let Some(next) = next::profil() {
        // SAFETY: without a buffer it only turns itself off.
        unsafe { next(null_mut(), 0, 0, 0) };
    }
}

impl State {
    /// Attaches for a histogram, with the clock off.
    fn begin_gmon(&mut self, region: Classic) -> Result<(), Failure> {
        let rate = settings::rate().ok_or_else(|| Failure::new(libc::EINVAL, "no rate"))?;
        let sink = Sink::kept(region, Dialect::Glibc);
        self.begin(vec![sink], Dialect::Glibc, rate)?.is_gmon = true;
        self.gmon = Some(Gmon {
            region,
            hertz: rate.asked(),
            counts: vec![0; usize::try_from(region.bins(Dialect::Glibc)).unwrap_or(0)],
        });
        Ok(())
    }

    /// Switches its clock on; in a child that was started meanwhile, or where the program has profiled
    /// itself otherwise, a new one.
    fn resume_gmon(&mut self) -> Result<(), Failure> {
        if !self.session.as_ref().is_some_and(|session| session.is_gmon) {
            let Some(before) = self.gmon.take() else {
                return Ok(());
            };
            let begun = self.begin_gmon(before.region);
            match &mut self.gmon {
                Some(gmon) => gmon.add(&before.counts),
                none => *none = Some(before),
            }
            begun?;
        }
        match &mut self.session {
            Some(session) => session.resume(),
            None => Ok(()),
        }
    }
}

impl Gmon {
    /// Puts the counts into the file that the C library has just written.
    fn fill_in(&self, mut file: File) -> io::Result<()> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let not_ours = || io::Error::other("it is not the file that was expected");
        let record = bytes
            .get(HEADER_BYTES..HEADER_BYTES + RECORD_BYTES)
            .filter(|record| bytes.starts_with(b"gmon") && self.describes(record))
            .ok_or_else(not_ours)?;
        let mut record = record.to_vec();
        record[RATE_AT..RATE_AT + 4].copy_from_slice(&self.hertz.to_ne_bytes());
        if bytes.len() < HEADER_BYTES + RECORD_BYTES + self.counts.len() * 2 {
            return Err(not_ours());
        }
        let mut left = self.counts.clone();
        let mut at = HEADER_BYTES as u64;
        // A counter has 16 bits; readers add up records of the same range.
        loop {
            let mut out = record.clone();
            for count in &mut left {
                let part = (*count).min(u16::MAX.into());
                *count -= part;
                out.extend_from_slice(&(part as u16).to_ne_bytes());
            }
            file.write_all_at(&out, at)?;
            if left.iter().all(|&count| count == 0) {
                return Ok(());
            }
            at = file.metadata()?.len();
        }
    }

    /// Whether a record is a histogram of the range that we have counted. It may be told by other
    /// addresses: those of the file, where the program was loaded elsewhere.
    fn describes(&self, record: &[u8]) -> bool {
        let word = |at: usize| {
            let mut bytes = [0; WORD];
            bytes.copy_from_slice(&record[at..at + WORD]);
            c_ulong::from_ne_bytes(bytes)
        };
        let size = record[SIZE_AT..RATE_AT].try_into().map(u32::from_ne_bytes);
        let span = word(1 + WORD).wrapping_sub(word(1));
        record[0] == TAG_HISTOGRAM
            && size.is_ok_and(|size| size as usize == self.counts.len())
            && region_of(0, span).is_some_and(|region| region.bytes == self.region.bytes)
    }
}

/// Opens the file as the C library names it: after `$GMON_OUT_PREFIX` and the process, or `gmon.out`.
fn open_written() -> io::Result<File> {
    let open = |name: OsString| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(name)
    };
    // As there: programs with other privileges than their caller's do not listen to it.
    // SAFETY: takes a number.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let prefix = std::env::var_os("GMON_OUT_PREFIX").filter(|_| !is_secure);
    if let Some(mut name) = prefix {
        name.push(format!(".{}", std::process::id()));
        if let Ok(file) = open(name) {
            return Ok(file);
        }
    }
    open("gmon.out".into())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_region_is_that_of_the_c_library() {
        let region = region_of(0x40_1001, 0x40_1e2d).expect("a range");
        assert_eq!((region.offset, region.bytes), (0x40_1000, 0x718));
        assert_eq!(region.scale, 32_768);
        let region = region_of(0x1000, 0x1404).expect("a range");
        assert_eq!((region.bytes, region.scale), (0x208, 33_150));
        let region = region_of(0x1000, 0x1004).expect("a range");
        assert_eq!((region.bytes, region.scale), (8, 65_536));
        assert!(region_of(8, 0).is_none());
        assert!(region_of(0, c_ulong::MAX).is_none());
    }

    fn gmon(counts: Vec<u64>) -> Gmon {
        let region = region_of(0x1000, 0x1020).expect("a range");
        Gmon {
            region,
            hertz: 1000,
            counts,
        }
    }

    /// As the C library writes it: a histogram, and a call.
    fn file(size: u32) -> File {
        let mut bytes = b"gmon\x01\0\0\0".to_vec();
        bytes.resize(HEADER_BYTES, 0);
        bytes.push(TAG_HISTOGRAM);
        for address in [0 as c_ulong, 0x20] {
            bytes.extend(address.to_ne_bytes());
        }
        bytes.extend(size.to_ne_bytes());
        bytes.extend(100_u32.to_ne_bytes());
        bytes.extend(b"seconds\0\0\0\0\0\0\0\0s");
        bytes.extend([0; 16]);
        bytes.extend(b"\x01a call");
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("room");
        file.rewind().expect("a file");
        file
    }

    fn contents(file: &mut File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.rewind().expect("a file");
        file.read_to_end(&mut bytes).expect("a file");
        bytes
    }

    #[test]
    fn counts_are_put_where_they_belong_and_the_rest_behind() {
        let mut written = file(8);
        let before = contents(&mut written);
        written.rewind().expect("a file");
        let handle = written.try_clone().expect("a file");
        gmon(vec![1, 0, 65_536, 3, 0, 0, 0, 9])
            .fill_in(handle)
            .expect("it fits");
        let after = contents(&mut written);
        let counts = |record: &[u8]| -> Vec<u16> {
            let counts = record[RECORD_BYTES..RECORD_BYTES + 16].chunks_exact(2);
            counts
                .map(|two| u16::from_ne_bytes([two[0], two[1]]))
                .collect()
        };
        assert_eq!(
            counts(&after[HEADER_BYTES..]),
            [1, 0, 65_535, 3, 0, 0, 0, 9]
        );
        assert_eq!(after[HEADER_BYTES + RATE_AT..][..4], 1000_u32.to_ne_bytes());
        // Names and calls are as they were, and one record more holds what is left.
        assert_eq!(
            after[HEADER_BYTES + RATE_AT + 4..][..16],
            before[HEADER_BYTES + RATE_AT + 4..][..16]
        );
        assert_eq!(
            after[HEADER_BYTES + RECORD_BYTES + 16..before.len()],
            *b"\x01a call"
        );
        assert_eq!(counts(&after[before.len()..]), [0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(after.len(), before.len() + RECORD_BYTES + 16);
    }

    #[test]
    fn another_file_is_left_alone() {
        for (size, counts) in [(9, 8), (8, 7), (0, 8)] {
            let mut written = file(size);
            let before = contents(&mut written);
            written.rewind().expect("a file");
            let handle = written.try_clone().expect("a file");
            assert!(gmon(vec![5; counts]).fill_in(handle).is_err());
            assert_eq!(contents(&mut written), before);
        }
        let empty = tempfile::tempfile().expect("a file");
        assert!(gmon(vec![5; 8]).fill_in(empty).is_err());
    }
}
