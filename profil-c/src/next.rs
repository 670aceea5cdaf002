//! The functions that ours stand in for: those of the C library, or of whoever comes next.

use std::{
    ffi::{CStr, c_int, c_uint, c_ulong, c_ushort, c_void},
    mem,
};

use crate::dropin::Prof;

pub(crate) type Profil = unsafe extern "C" fn(*mut c_ushort, usize, usize, c_uint) -> c_int;
pub(crate) type Sprofil =
    unsafe extern "C" fn(*mut Prof, c_int, *mut libc::timeval, c_uint) -> c_int;
pub(crate) type Monstartup = unsafe extern "C" fn(c_ulong, c_ulong);
pub(crate) type Moncontrol = unsafe extern "C" fn(c_int);
pub(crate) type Mcleanup = unsafe extern "C" fn();

pub(crate) fn profil() -> Option<Profil> {
    // SAFETY: this is the prototype of glibc's function of that name.
    unsafe { find(c"profil") }
}

pub(crate) fn sprofil() -> Option<Sprofil> {
    // SAFETY: as above.
    unsafe { find(c"sprofil") }
}

pub(crate) fn monstartup() -> Option<Monstartup> {
    // SAFETY: as above.
    unsafe { find(c"__monstartup") }
}

pub(crate) fn moncontrol() -> Option<Moncontrol> {
    // SAFETY: as above.
    unsafe { find(c"moncontrol") }
}

pub(crate) fn mcleanup() -> Option<Mcleanup> {
    // SAFETY: as above.
    unsafe { find(c"_mcleanup") }
}

/// # Safety
///
/// `F` is the type of a pointer to the function of that name.
unsafe fn find<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    // SAFETY: not null, and of that type by the caller's promise.
    (!address.is_null()).then(|| unsafe { mem::transmute_copy(&address) })
}
