//! Which program image a process runs: exec replaces it under a number that stays.

use std::{fs, os::unix::fs::MetadataExt as _};

use super::process::stat_fields;

/// Notices that a process has started another program.
///
/// Exec makes a new address space. Where its code and its stack start is in `/proc/PID/stat`, and
/// its executable's inode behind `/proc/PID/exe`; all are cheap to read at every drain. Who may
/// not trace the process (no CAP_SYS_PTRACE) is always shown the same, and learns of exec only by
/// the mappings, at the next drain.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct ImageWatch {
    tgid: u32,
    image: Option<Image>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Image {
    start_code: u64,
    start_stack: u64,
    executable: Option<u64>,
}

impl ImageWatch {
    pub(crate) fn new(tgid: u32) -> Self {
        Self {
            tgid,
            image: Image::read(tgid),
        }
    }

    /// The inode of the executable, if the kernel would tell.
    pub(crate) fn executable(&self) -> Option<u64> {
        self.image.as_ref()?.executable
    }

    /// Whether the process runs another image than at the last call.
    pub(crate) fn changed(&mut self) -> bool {
        // A process that has ended, or is in the middle of exec, has no image to compare.
        let Some(now) = Image::read(self.tgid) else {
            return false;
        };
        let changed = self.image.as_ref().is_some_and(|before| *before != now);
        self.image = Some(now);
        changed
    }
}

impl Image {
    fn read(tgid: u32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{tgid}/stat")).ok()?;
        // `startcode` and `startstack`
        let [start_code, start_stack] = stat_fields(&stat, [26, 28])?;
        if start_code == 0 {
            return None;
        }
        let executable = fs::metadata(format!("/proc/{tgid}/exe")).ok();
        Some(Self {
            start_code,
            start_stack,
            executable: executable.map(|metadata| metadata.ino()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ImageWatch;

    #[test]
    fn this_process_stays_what_it_is() {
        let mut watch = ImageWatch::new(std::process::id());
        assert!(watch.executable().is_some());
        assert!(!watch.changed());
    }

    #[test]
    fn another_image_is_noticed_once() {
        let mut watch = ImageWatch::new(std::process::id());
        watch.image.as_mut().unwrap().start_code += 1;
        assert!(watch.changed());
        assert!(!watch.changed());
    }
}
