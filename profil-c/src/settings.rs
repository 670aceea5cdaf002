//! What the environment says: the programs that we stand in for cannot.

use std::{
    env,
    fmt::Display,
    io::{self, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

use profil_common::Dialect;
use profil_user::Rate;

/// Ticks of the C library's own clock per second (`AT_CLKTCK` on all common machines).
const CLASSIC_HERTZ: &str = "100";

/// The rate: `$PROFIL_RATE`, else the C library's.
pub(crate) fn rate() -> Option<Rate> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if let Some(text) = env::var_os("PROFIL_RATE") {
        match text.to_string_lossy().parse() {
            Ok(rate) => return Some(rate),
            Err(error) => once(
                &SAID,
                &format_args!("PROFIL_RATE: {error}; using {CLASSIC_HERTZ}"),
            ),
        }
    }
    CLASSIC_HERTZ.parse().ok()
}

/// By whose rules `profil` counts: `$PROFIL_DIALECT`, else the C library's. Only those with the
/// counters of 16 bits that its caller has room for.
pub(crate) fn dialect() -> Dialect {
    static SAID: AtomicBool = AtomicBool::new(false);
    let Some(text) = env::var_os("PROFIL_DIALECT") else {
        return Dialect::Glibc;
    };
    let named = text.to_str().and_then(Dialect::from_word);
    let fits = named.filter(|dialect| dialect.rules().counter_bits == 16);
    fits.unwrap_or_else(|| {
        once(
            &SAID,
            &format_args!("PROFIL_DIALECT: {text:?} is none with 16-bit counters; using glibc"),
        );
        Dialect::Glibc
    })
}

/// Says why the C library does the work itself: to who wants to know, and to who asked for a rate
/// that it does not have.
pub(crate) fn say_fallback(reason: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if env::var_os("PROFIL_VERBOSE").is_some() || env::var_os("PROFIL_RATE").is_some() {
        once(
            &SAID,
            &format_args!("{reason}; the C library counts instead, by SIGPROF"),
        );
    }
}

/// Says that all is well, to who wants to know.
pub(crate) fn say_on(rate: Rate, dialect: Dialect) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if env::var_os("PROFIL_VERBOSE").is_some() {
        let word = dialect.word();
        once(
            &SAID,
            &format_args!("counting in the kernel at {rate} Hz, by the rules of {word}"),
        );
    }
}

/// Says something that could not be done.
pub(crate) fn complain(what: &dyn Display) {
    // Whoever closed standard error does not want to hear it.
    let _ = writeln!(io::stderr(), "libprofil_bpf: {what}");
}

fn once(said: &AtomicBool, what: &dyn Display) {
    if !said.swap(true, Ordering::Relaxed) {
        complain(what);
    }
}
