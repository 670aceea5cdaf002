//! `profil` and `sprofil` with the prototypes of the C library, for programs that profile themselves.

use std::{
    ffi::{c_int, c_uint, c_ulong, c_ushort, c_void},
    ptr::null_mut,
};

use profil_common::{Classic, Dialect, Effect, Refusal, limits::MAX_CLASSIC_REGIONS};

use crate::{
    failure::{Failure, guarded},
    next,
    session::{OfNext, State, state},
    settings,
    sink::Sink,
};

/// `PROF_UINT` of `<sys/profil.h>`: counters of 32 bits.
const PROF_UINT: c_uint = 1;

/// One region of `sprofil` (`<sys/profil.h>`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Prof {
    /// The buffer.
    pub(crate) base: *mut c_void,
    /// Its size in bytes.
    pub(crate) size: usize,
    /// The lowest address.
    pub(crate) offset: usize,
    /// The scale, used as an `unsigned int`.
    pub(crate) scale: c_ulong,
}

/// `profil` of the C library, counted by the kernel.
///
/// # Safety
///
/// `buffer` is null, or points to `size` bytes that stay valid until profiling is turned off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profil(
    buffer: *mut c_ushort,
    size: usize,
    offset: usize,
    scale: c_uint,
) -> c_int {
    guarded(-1, || {
        let dialect = settings::dialect();
        let region = classic(offset, size, scale);
        let effect = if buffer.is_null() {
            Effect::Off
        } else {
            dialect.call(&region)
        };
        let mut state = state();
        match effect {
            Effect::Refused(_) => {
                return Err(Failure::new(
                    Refusal::ERRNO,
                    "the dialect refuses these numbers",
                ));
            }
            Effect::Off | Effect::Ineffective => {
                state.end()?;
                return Ok(state.end_next());
            }
            Effect::On => {}
        }
        // SAFETY: the caller's promise.
        let sink = unsafe { Sink::into_buffer(region, dialect, buffer.cast()) };
        if let Err(failure) = state.start(vec![sink], dialect, false) {
            settings::say_fallback(failure.words());
            let next = next::profil().ok_or_else(no_next)?;
            state.of_next = OfNext::Profil;
            // SAFETY: the caller's promise.
            return Ok(unsafe { next(buffer, size, offset, scale) });
        }
        Ok(0)
    })
}

/// `sprofil` of the C library, counted by the kernel. A call while it is on turns it off.
///
/// # Safety
///
/// `regions` points to as many as `count` says, with buffers of their sizes that stay valid until
/// profiling is turned off; `period` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sprofil(
    regions: *mut Prof,
    count: c_int,
    period: *mut libc::timeval,
    flags: c_uint,
) -> c_int {
    guarded(-1, || {
        let mut state = state();
        if state
            .session
            .as_ref()
            .is_some_and(|session| session.is_sprofil)
        {
            state.end()?;
            return Ok(0);
        }
        let dialect = if flags & PROF_UINT == 0 {
            Dialect::Sprofil
        } else {
            Dialect::SprofilUint
        };
        let given = match usize::try_from(count) {
            // SAFETY: the caller's promise.
            Ok(count @ 1..) if !regions.is_null() => unsafe {
                std::slice::from_raw_parts(regions, count)
            },
            _ => &[],
        };
        let effective: Vec<_> = given
            .iter()
            .map(|prof| {
                (
                    classic(prof.offset, prof.size, prof.scale as c_uint),
                    prof.base,
                )
            })
            .filter(|(region, _)| dialect.call(region).counts())
            .collect();
        let started = if state.of_next == OfNext::Sprofil {
            // Theirs to turn off.
            Err(Failure::new(libc::EBUSY, "the C library has begun"))
        } else if effective.len() > MAX_CLASSIC_REGIONS as usize {
            Err(Failure::new(
                libc::E2BIG,
                format!(
                    "{} regions are more than {MAX_CLASSIC_REGIONS}",
                    effective.len()
                ),
            ))
        } else if effective.is_empty() {
            Ok(())
        } else {
            let sink = |&(region, base): &(Classic, *mut c_void)| {
                // SAFETY: the caller's promise.
                unsafe { Sink::into_buffer(region, dialect, base) }
            };
            state.start(effective.iter().map(sink).collect(), dialect, true)
        };
        if let Err(failure) = started {
            settings::say_fallback(failure.words());
            let next = next::sprofil().ok_or_else(no_next)?;
            state.of_next = match state.of_next {
                OfNext::Sprofil => OfNext::Nothing,
                _ => OfNext::Sprofil,
            };
            // SAFETY: the caller's promise.
            return Ok(unsafe { next(regions, count, period, flags) });
        }
        if !period.is_null()
            && let Some(rate) = settings::rate()
        {
            let micros = rate.period_ns().div_euclid(1000);
            // SAFETY: the caller's promise.
            unsafe {
                (*period).tv_sec = (micros / 1_000_000) as libc::time_t;
                (*period).tv_usec = (micros % 1_000_000) as libc::suseconds_t;
            }
        }
        Ok(0)
    })
}

impl State {
    fn start(
        &mut self,
        sinks: Vec<Sink>,
        dialect: Dialect,
        is_sprofil: bool,
    ) -> Result<(), Failure> {
        let rate = settings::rate().ok_or_else(|| Failure::new(libc::EINVAL, "no rate"))?;
        let session = self.begin(sinks, dialect, rate)?;
        session.is_sprofil = is_sprofil;
        session.resume()?;
        self.end_next();
        Ok(())
    }

    /// Turns the C library's own off, if it is on because of us.
    fn end_next(&mut self) -> c_int {
        match std::mem::replace(&mut self.of_next, OfNext::Nothing) {
            OfNext::Nothing => 0,
            // SAFETY: without a buffer it only turns itself off.
            OfNext::Profil => next::profil().map_or(0, |next| unsafe { next(null_mut(), 0, 0, 0) }),
            OfNext::Sprofil => {
                // SAFETY: as above, whatever the arguments.
                next::sprofil().map_or(0, |next| unsafe { next(null_mut(), 0, null_mut(), 0) })
            }
        }
    }
}

fn classic(offset: usize, size: usize, scale: c_uint) -> Classic {
    Classic {
        offset: offset as u64,
        bytes: size as u64,
        scale,
        added: 0,
    }
}

fn no_next() -> Failure {
    Failure::new(libc::ENOSYS, "the C library has no such function")
}
