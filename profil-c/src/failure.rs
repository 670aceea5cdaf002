//! Errors as C knows them: a number in `errno`, and words for who asks.

use std::{
    cell::RefCell,
    error::Error,
    ffi::{CString, c_char, c_int},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use profil_user::{LayoutError, StartError, TargetError};

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failure {
    number: c_int,
    words: String,
}

impl Failure {
    pub(crate) fn new(number: c_int, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { number, words }
    }

    /// An error with all of its causes.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut words = error.to_string();
        let mut number = libc::EIO;
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(of_system) = error.downcast_ref::<io::Error>()
                && let Some(raw) = of_system.raw_os_error()
            {
                number = raw;
            }
            next = error.source();
            if let Some(cause) = next {
                words.push_str(": ");
                words.push_str(&cause.to_string());
            }
        }
        Self { number, words }
    }

    pub(crate) fn words(&self) -> &str {
        &self.words
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let mut failure = Self::of(&error);
        match &error {
            StartError::Privileges(_) => failure.number = libc::EPERM,
            StartError::RateAboveLimit { .. } => failure.number = libc::EINVAL,
            StartError::Ended(_)
            | StartError::Target(
                TargetError::NoSuchProcess(_)
                | TargetError::Zombie(_)
                | TargetError::IsThread { .. },
            ) => failure.number = libc::ESRCH,
            StartError::Layout(
                LayoutError::BudgetTooSmall { .. } | LayoutError::TooManyBins { .. },
            ) => failure.number = libc::ENOMEM,
            StartError::Target(_) | StartError::Layout(_) => failure.number = libc::EINVAL,
            _ => {}
        }
        failure
    }
}

/// Runs the body of a function that C calls. On failure it leaves `errno` and the words and returns
/// `otherwise`; a panic, which would be a fault of ours, is such a failure and goes no further.
pub(crate) fn guarded<T>(otherwise: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    let result = catch_unwind(AssertUnwindSafe(body));
    let failure = match result {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(libc::EIO, "a fault in profil-bpf; please report it"),
    };
    let words = CString::new(failure.words.replace('\0', " ")).unwrap_or_default();
    // At the end of a thread its own values have gone: then nobody will ask.
    let _ = LAST.try_with(|last| last.replace(words));
    // SAFETY: the C library's own place for this thread's number.
    unsafe { *libc::__errno_location() = failure.number };
    otherwise
}

/// Why the last call in this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn profil_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}
