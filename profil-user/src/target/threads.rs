//! The threads of a process.

use std::{fs, io};

use super::process::Status;
use crate::options::Tgid;

/// Lists the threads of a process, by thread id, in ascending order.
///
/// The kernel cuts the list short when a thread ends while it is read, so the list is read again
/// until it is as long as the kernel's own count.
///
/// # Errors
///
/// If the process is gone.
pub(crate) fn list(tgid: Tgid) -> io::Result<Vec<u32>> {
    /// A process that loses and gains threads all the time may never agree with itself; the
    /// caller's own check for new threads still holds then.
    const TRIES: usize = 10;

    let mut longest = Vec::new();
    for _ in 0..TRIES {
        let mut tids = Vec::new();
        for entry in fs::read_dir(format!("/proc/{tgid}/task"))? {
            if let Some(tid) = entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            {
                tids.push(tid);
            }
        }
        let status = fs::read(format!("/proc/{tgid}/status"))?;
        let status = String::from_utf8_lossy(&status);
        let complete = tids.len() >= Status::parse(&status).threads as usize;
        if tids.len() >= longest.len() {
            longest = tids;
        }
        if complete {
            break;
        }
    }
    longest.sort_unstable();
    Ok(longest)
}

/// Whether a process still has a thread.
pub(crate) fn has(tgid: u32, tid: u32) -> bool {
    fs::exists(format!("/proc/{tgid}/task/{tid}")).unwrap_or(true)
}

/// Whether `later` holds no thread that `earlier` did not: none was born in between.
pub(crate) fn settled(earlier: &[u32], later: &[u32]) -> bool {
    later.iter().all(|tid| earlier.binary_search(tid).is_ok())
}

#[cfg(test)]
mod tests {
    use super::{list, settled};
    use crate::options::Tgid;

    #[test]
    fn this_process_has_this_thread() {
        let tgid = Tgid::new(std::process::id()).unwrap();
        let tid = rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .cast_unsigned();
        assert!(list(tgid).unwrap().contains(&tid));
    }

    #[test]
    fn threads_may_end_but_not_appear() {
        assert!(settled(&[1, 2, 3], &[1, 3]));
        assert!(settled(&[1, 2, 3], &[]));
        assert!(!settled(&[1, 3], &[1, 2, 3]));
        assert!(!settled(&[], &[1]));
    }
}
