//! The limit that BPF maps count against before Linux 5.11: `RLIMIT_MEMLOCK` (getrlimit(2)).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a stray takes in a preallocated hash map, roughly: its key, its counter and times, and the
/// links of the table (`struct htab_elem`, `kernel/bpf/hashtab.c`).
pub(super) const BYTES_PER_STRAY: u64 = 16 + 24 + 48;

/// Raises the limit as far as we may. Later kernels do not look at it, so that is harmless there.
pub(super) fn raise() {
    let limit = getrlimit(Resource::Memlock);
    if limit.current.is_none() {
        return;
    }
    let none = Rlimit {
        current: None,
        maximum: None,
    };
    if setrlimit(Resource::Memlock, none).is_err() {
        // Without CAP_SYS_RESOURCE, the hard limit is the end. What comes too late is refused.
        let _ = setrlimit(
            Resource::Memlock,
            Rlimit {
                current: limit.maximum,
                ..limit
            },
        );
    }
}

/// The limit, in bytes, or `None` if there is none.
pub(super) fn limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// Calls `probe` with a limit of nothing.
pub(super) fn without_any<T>(probe: impl FnOnce() -> T) -> Option<T> {
    let limit = getrlimit(Resource::Memlock);
    let nothing = Rlimit {
        current: Some(0),
        ..limit
    };
    setrlimit(Resource::Memlock, nothing).ok()?;
    let result = probe();
    // A soft limit can always be raised again to what it was.
    let _ = setrlimit(Resource::Memlock, limit);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::{limit, without_any};

    #[test]
    fn the_limit_is_as_before_after_a_probe() {
        let before = limit();
        assert_eq!(without_any(limit), Some(Some(0)));
        assert_eq!(limit(), before);
    }
}
