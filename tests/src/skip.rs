//! Tests that cannot run here say so: a skip is counted and shown, never silent.

use std::{env, fs::OpenOptions, io::Write as _};

/// Notes that `test` did not run, and why: prints it, and appends `TEST: reason` to the file that
/// `$PROFIL_SKIPS` names.
///
/// # Panics
///
/// If the file cannot be written: then the skip would go unseen.
#[expect(
    clippy::print_stderr,
    reason = "whoever watches the tests should see it"
)]
pub fn note(test: &str, reason: &str) {
    eprintln!("SKIPPED {test}: {reason}");
    let Some(list) = env::var_os("PROFIL_SKIPS") else {
        return;
    };
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&list)
        .and_then(|mut file| file.write_all(format!("{test}: {reason}\n").as_bytes()))
        .unwrap_or_else(|error| panic!("cannot note a skip in {}: {error}", list.display()));
}

/// The path of a function, from the name of a type inside it.
#[doc(hidden)]
pub fn function_of(inner: &'static str) -> &'static str {
    inner.strip_suffix("::here").unwrap_or(inner)
}

/// Skips the test that it stands in, with a reason.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        fn here() {}
        $crate::skip::note(
            $crate::skip::function_of(::std::any::type_name_of_val(&here)),
            &::std::format!($($reason)+),
        );
        return;
    }};
}

/// Skips the test unless all of these programs are on `$PATH`.
#[macro_export]
macro_rules! require_programs {
    ($($program:expr),+) => {
        $(
            if $crate::places::on_path($program).is_none() {
                $crate::skip!("needs the program {}", $program);
            }
        )+
    };
}

/// Claims the machine for the test: the value keeps other such tests of this binary waiting.
/// Skips the test without root.
#[macro_export]
macro_rules! claim_machine {
    () => {
        match $crate::Machine::claim() {
            Some(machine) => machine,
            None => $crate::skip!("needs root"),
        }
    };
}
