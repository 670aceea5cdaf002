//! What ticks fall in: an ELF file, the vDSO, generated code, or nowhere that is known.

use std::{fmt, path::PathBuf};

use super::BuildId;

/// The number of an object in its profile.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectId(usize);

impl ObjectId {
    /// The object at `index`.
    pub const fn new(index: usize) -> Self {
        Self(index)
    }

    /// Its index in [`Profile::objects`](super::Profile::objects).
    pub const fn index(self) -> usize {
        self.0
    }
}

/// One object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Whether it is the executable that the process was started from.
    pub is_main: bool,
    /// Which build it is, if it was read and says so.
    pub build_id: Option<BuildId>,
    /// Its profiled ranges of text, by address, without overlap. Empty for what has no regions.
    pub text: Vec<Text>,
}

/// What an object is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ObjectKind {
    /// A file.
    File {
        /// Its path as the process sees it. Untrusted: escape it before display.
        path: PathBuf,
        /// The width of its addresses, if it is an ELF file that could be read; otherwise the
        /// addresses of its counts are file offsets.
        class: Option<ElfClass>,
    },
    /// The kernel's code for user mode (vdso(7)).
    Vdso,
    /// The kernel and its modules; the addresses of its counts are those in the running kernel.
    Kernel,
    /// Memory of a process without a file; the addresses of its counts are those in the process.
    Anonymous {
        /// The process.
        tgid: u32,
    },
    /// No object at all; the addresses of its counts are those in the process.
    Nowhere(Unresolved),
}

/// Why an address belongs to no object.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Unresolved {
    /// The process ended before its mappings could be read.
    ProcessEnded,
    /// Nothing executable was mapped there any more when the mappings were read.
    Unmapped,
    /// The kernel would not show the mappings.
    Refused,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ProcessEnded => "process ended",
            Self::Unmapped => "no longer mapped",
            Self::Refused => "mappings not readable",
        })
    }
}

/// The width of an ELF file's addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ElfClass {
    /// 32 bits.
    Elf32,
    /// 64 bits.
    Elf64,
}

/// A profiled range of an object's text.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Text {
    /// First link-time address.
    pub start: u64,
    /// First link-time address past the range.
    pub end: u64,
    /// Bytes of text per bin: two, or more where the memory budget was short.
    pub width: u64,
}

impl Object {
    /// A short name: the last part of the path, or a word in brackets. Untrusted: escape it
    /// before display.
    pub fn name(&self) -> String {
        match &self.kind {
            ObjectKind::File { path, .. } => match path.file_name() {
                Some(name) => name.to_string_lossy().into_owned(),
                None => path.to_string_lossy().into_owned(),
            },
            ObjectKind::Vdso => "[vdso]".to_owned(),
            ObjectKind::Kernel => "[kernel]".to_owned(),
            ObjectKind::Anonymous { .. } => "[anonymous]".to_owned(),
            ObjectKind::Nowhere(reason) => format!("[{reason}]"),
        }
    }
}
