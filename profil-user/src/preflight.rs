//! What is asked before anything is attached, whoever attaches.

use crate::{
    error::StartError,
    kernel::{max_sample_rate, missing_capabilities},
    options::Rate,
};

/// Refuses a rate that the kernel would throttle.
pub(crate) fn check_rate(rate: Rate) -> Result<(), StartError> {
    match max_sample_rate() {
        Some(limit) if rate.asked() > limit => Err(StartError::RateAboveLimit { rate, limit }),
        _ => Ok(()),
    }
}

/// Refuses to begin what the kernel would refuse later, in words that say less.
pub(crate) fn check_privileges() -> Result<(), StartError> {
    let missing = missing_capabilities();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(StartError::Privileges(missing))
    }
}
