//! Code of others' that reads files of others' and may panic over them: that costs what the file would
//! have told, and nothing else.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught, and only says that a file is broken: a hook that tells
/// people of panics should say nothing.
pub fn panics_are_caught() -> bool {
    CAUGHT.get()
}

/// What `read` returns, unless it panics. What it leaves behind is not looked at again by anybody who
/// minds.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    let before = CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CAUGHT.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::{caught, panics_are_caught};

    #[test]
    fn a_panic_is_no_result() {
        assert_eq!(caught(|| 1), Some(1));
        assert_eq!(caught(panics_are_caught), Some(true));
        let none: Option<u8> = caught(|| panic!("a file"));
        assert_eq!(none, None);
        assert!(!panics_are_caught());
    }
}
