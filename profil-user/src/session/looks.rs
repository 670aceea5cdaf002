//! What is known of processes: by looking at them once, and then by what the kernel writes down.

use std::{ffi::OsString, fs, os::unix::ffi::OsStringExt as _, path::PathBuf};

use crate::{
    kernel::{Event, Mapped, MappedFile, Record},
    profile::{BuildId, ObjectId},
    target::{self, Backing, FileId, FileMapping, History, Mapping, Objects, ThreadBook},
};

/// What no process is numbered: one of another namespace, and one that has gone.
const NOBODY: [u32; 2] = [0, u32::MAX];

/// Whether a process can have this number.
pub(crate) fn is_somebody(tgid: u32) -> bool {
    !NOBODY.contains(&tgid)
}

/// Processes, their threads, and what they had mapped.
pub(crate) struct Looks {
    pub(crate) history: History,
    pub(crate) threads: ThreadBook,
}

/// What else may follow from a record.
pub(crate) enum Change {
    /// The process runs another program.
    Exec,
    /// It has mapped something.
    Mapped(Mapping, ObjectId),
}

impl Looks {
    /// Nothing is known yet. Threads are told apart only if somebody wants to know.
    pub(crate) fn new(by_thread: bool) -> Self {
        Self {
            history: History::default(),
            threads: ThreadBook::new(by_thread),
        }
    }

    /// A process that is there, and has been since before we came.
    pub(crate) fn look(&mut self, tgid: u32, mappings: Vec<Mapping>, objects: &mut Objects) {
        const BEFORE: u64 = 0;
        self.history
            .observed(tgid, (BEFORE, BEFORE), mappings, objects);
        if let Ok(name) = fs::read(format!("/proc/{tgid}/comm")) {
            let name = String::from_utf8_lossy(&name);
            self.history
                .named(tgid, BEFORE, name.trim_end_matches('\n'));
        }
        self.threads.observe(tgid);
    }

    /// All processes that there are. One that ends meanwhile is left out: the side-band knows.
    pub(crate) fn look_at_everybody(&mut self, objects: &mut Objects) {
        let Ok(entries) = fs::read_dir("/proc") else {
            return;
        };
        for entry in entries.flatten() {
            let number = entry.file_name();
            let Some(tgid) = number.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Ok(mappings) = target::read_mappings(tgid) {
                self.look(tgid, mappings, objects);
            }
        }
    }

    /// Takes in what the kernel wrote down of somebody.
    pub(crate) fn note(&mut self, record: Record, objects: &mut Objects) -> Option<Change> {
        let Record {
            time_ns: time,
            tgid,
            tid,
            event,
        } = record;
        match event {
            Event::Started { parent_tgid, .. } => {
                if parent_tgid != tgid {
                    self.history.started(tgid, parent_tgid, time);
                }
                self.threads.started(tid, tgid, time);
            }
            Event::Named { name, exec } => {
                let name = String::from_utf8_lossy(&name);
                if tid == tgid {
                    self.history.named(tgid, time, &name);
                }
                self.threads.named(tid, time, &name);
                if exec {
                    self.history.exec(tgid, time);
                    return Some(Change::Exec);
                }
            }
            Event::Mapped(mapped) => {
                let mapping = mapping_of(mapped)?;
                let object = objects.of_mapping(tgid, &mapping);
                self.history.mapped(tgid, time, mapping.clone(), object);
                return Some(Change::Mapped(mapping, object));
            }
            Event::Ended => {
                if tid == tgid {
                    self.history.ended(tgid, time);
                }
            }
            Event::Lost { .. } => {}
        }
        None
    }
}

/// A mapping as the side-band tells it. `None` for what no tick ever falls in.
fn mapping_of(mapped: Mapped) -> Option<Mapping> {
    if mapped.start >= mapped.end {
        return None;
    }
    let (id, build_id) = match mapped.file {
        MappedFile::Inode { device, inode } => (FileId { device, inode }, None),
        MappedFile::BuildId { bytes, length } => {
            let bytes = bytes.get(..length.into())?;
            (FileId::UNKNOWN, BuildId::new(bytes))
        }
    };
    let backing = match &mapped.path[..] {
        b"[vdso]" => Backing::Vdso,
        b"[vsyscall]" => return None,
        _ if id == FileId::UNKNOWN && build_id.is_none() => Backing::Anonymous,
        _ => Backing::File(FileMapping {
            offset: mapped.offset,
            id,
            build_id,
            path: PathBuf::from(OsString::from_vec(mapped.path)),
        }),
    };
    Some(Mapping {
        start: mapped.start,
        end: mapped.end,
        backing,
    })
}
