//! The PID namespace that we are in: numbers of processes mean nothing without it.

use std::{fs, io, os::unix::fs::MetadataExt as _};

/// The PID namespace in which the kernel half must number processes so that we understand it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PidNamespace {
    /// 0 for the initial namespace, where no translation is needed.
    pub(crate) device: u64,
    /// 0 for the initial namespace.
    pub(crate) inode: u64,
}

impl PidNamespace {
    /// The inode of the initial PID namespace on every kernel (`include/linux/proc_ns.h`).
    const INITIAL_INODE: u64 = 0xefff_fffc;

    /// Whether it is the initial one.
    pub(crate) const fn is_initial(self) -> bool {
        self.inode == 0
    }

    /// The namespace that this process is in.
    pub(crate) fn own() -> io::Result<Self> {
        // A /proc of another namespace would give us numbers that mean other processes here.
        let in_proc = fs::read_link("/proc/self")?;
        if in_proc.as_os_str() != std::process::id().to_string().as_str() {
            return Err(io::Error::other(
                "/proc belongs to another PID namespace; mount one of this namespace",
            ));
        }
        let metadata = fs::metadata("/proc/self/ns/pid")?;
        if metadata.ino() == Self::INITIAL_INODE {
            return Ok(Self {
                device: 0,
                inode: 0,
            });
        }
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}
