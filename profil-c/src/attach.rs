//! Another process, or this one, into a buffer of the caller's.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use profil_common::Dialect;
use profil_user::{Profil, Tgid, handle::Outline};

use crate::failure::{Failure, guarded};

/// The rate that stands for "as the C library", in hertz.
const CLASSIC_HERTZ: c_uint = 100;

/// A profile that is being taken: `profil_bpf` of the header.
#[derive(Debug)]
pub struct Handle {
    profil: Profil,
    buffer: *mut c_void,
    /// Its size in bytes.
    size: usize,
}

/// Where the ticks went: `struct profil_balance` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BalanceForC {
    seen: u64,
    counted: u64,
    due: u64,
}

/// Attaches to a process and switches the clock on. See the header.
///
/// # Safety
///
/// `buffer` points to `size` bytes that stay valid until the handle is detached; `dialect` is null or
/// a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil_attach(
    pid: libc::pid_t,
    buffer: *mut c_void,
    size: usize,
    offset: usize,
    scale: c_uint,
    rate: c_uint,
    dialect: *const c_char,
) -> *mut Handle {
    guarded(std::ptr::null_mut(), || {
        let invalid = |words: &str| Failure::new(libc::EINVAL, words);
        if buffer.is_null() {
            return Err(invalid("there is no buffer"));
        }
        let dialect = if dialect.is_null() {
            Dialect::Glibc
        } else {
            // SAFETY: the caller's promise.
            let word = unsafe { CStr::from_ptr(dialect) }.to_string_lossy();
            let named = Dialect::from_word(&word);
            named.ok_or_else(|| invalid(&format!("there is no dialect {word:?}")))?
        };
        let rate = if rate == 0 { CLASSIC_HERTZ } else { rate };
        let rate = rate.to_string().parse();
        let pid = match pid {
            0 => Tgid::new(std::process::id()),
            _ => u32::try_from(pid).ok().and_then(Tgid::new),
        };
        let target = pid.ok_or_else(|| Failure::new(libc::ESRCH, "no process has that number"))?;
        let bytes = match dialect {
            // Our counters are wider than those that its formula speaks of.
            Dialect::Modern => size / size_of::<u64>() * size_of::<u16>(),
            _ => size,
        };
        let profil = Profil::builder(target)
            .classic(offset as u64, bytes as u64, scale)
            .dialect(dialect)
            .rate(rate.map_err(|error| Failure::new(libc::EINVAL, format!("{error}")))?)
            .attach()?;
        Ok(Box::into_raw(Box::new(Handle {
            profil,
            buffer,
            size,
        })))
    })
}

/// Writes all counters into the buffer. See the header.
///
/// # Safety
///
/// `handle` is of `profil_attach`, not detached, and used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil_read(handle: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    with(unsafe { handle.as_mut() }, |handle| {
        handle.write();
        Ok(())
    })
}

/// Switches the clock off. See the header.
///
/// # Safety
///
/// As [`profil_read`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil_pause(handle: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    with(unsafe { handle.as_mut() }, |handle| {
        handle.profil.pause().map_err(|error| Failure::of(&error))
    })
}

/// Switches the clock on. See the header.
///
/// # Safety
///
/// As [`profil_read`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil_resume(handle: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    with(unsafe { handle.as_mut() }, |handle| {
        handle.profil.resume().map_err(|error| Failure::of(&error))
    })
}

/// Tells where the ticks went. See the header.
///
/// # Safety
///
/// As [`profil_read`]; `balance` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil_balance(handle: *mut Handle, balance: *mut BalanceForC) -> c_int {
    // SAFETY: the caller's promise.
    let balance = unsafe { balance.as_mut() };
    // SAFETY: the caller's promise.
    with(unsafe { handle.as_mut() }, |handle| {
        let balance = balance.ok_or_else(|| Failure::new(libc::EINVAL, "nowhere to write to"))?;
        let found = handle.profil.balance();
        let found = found.map_err(|error| Failure::of(&error))?;
        *balance = BalanceForC {
            seen: found.seen(),
            counted: found.binned,
            due: found.due().round() as u64,
        };
        Ok(())
    })
}

/// Stops, reads for the last time, and frees the handle. See the header.
///
/// # Safety
///
/// `handle` is null, or of `profil_attach` and not detached; it means nothing afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil_detach(handle: *mut Handle) -> c_int {
    if handle.is_null() {
        return 0;
    }
    // SAFETY: it came from a box, and the caller promises to forget it.
    let mut handle = unsafe { Box::from_raw(handle) };
    with(Some(&mut handle), |handle| {
        let paused = handle.profil.pause();
        handle.write();
        paused.map_err(|error| Failure::of(&error))
    })
}

fn with(
    handle: Option<&mut Handle>,
    body: impl FnOnce(&mut Handle) -> Result<(), Failure>,
) -> c_int {
    guarded(-1, || {
        body(handle.ok_or_else(|| Failure::new(libc::EINVAL, "there is no handle"))?)?;
        Ok(0)
    })
}

impl Handle {
    fn write(&mut self) {
        let Some(outline) = self.profil.regions().first() else {
            return;
        };
        match outline.dialect.rules().counter_bits {
            16 => self.write_each(outline, |shown| shown as u16),
            32 => self.write_each(outline, |shown| shown as u32),
            _ => self.write_each(outline, |shown| shown),
        }
    }

    /// Writes each counter as the dialect shows it, which is never more than it has bits for.
    fn write_each<T: Copy>(&self, outline: &Outline, narrow: impl Fn(u64) -> T) {
        let counters = self.buffer.cast::<T>();
        for (index, ticks) in (0..self.size / size_of::<T>()).zip(self.profil.counters(0)) {
            let shown = narrow(outline.dialect.shown(&outline.call, ticks));
            // SAFETY: inside of what the caller of `profil_attach` promised.
            unsafe { counters.add(index).write_unaligned(shown) };
        }
    }
}

const _: () = assert!(
    size_of::<BalanceForC>() == 3 * 8,
    "as the header declares it"
);
