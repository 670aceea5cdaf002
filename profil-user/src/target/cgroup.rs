//! A control group: found by what a person calls it, and who is in it (cgroups(7)).

mod container;
mod mounts;
mod tree;

use std::{
    ffi::OsStr,
    fmt, fs, io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::fstatfs;

use container::Prefix;
pub(crate) use container::id_in as container_in;
use mounts::Mount;

/// A control group, held open: if it is removed and made anew, this is still the old one.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    dir: OwnedFd,
}

/// Why a control group cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// The mounts cannot be read.
    #[error("cannot read which control groups are mounted")]
    Mounts(#[source] io::Error),
    /// Neither version is mounted where it would be of use.
    #[error("no control groups are mounted here: neither version 2 nor version 1's perf_event")]
    NotMounted,
    /// Nothing is called so.
    #[error("there is no control group {asked:?}, neither by path nor as a container's id")]
    NotFound {
        /// As it was given.
        asked: PathBuf,
    },
    /// It is a directory, but not a control group.
    #[error("{path:?} is not a control group")]
    NotACgroup {
        /// As it was given.
        path: PathBuf,
    },
    /// Several containers' ids begin so.
    #[error("{asked:?} may be {candidates}; give more of the id, or a path")]
    Ambiguous {
        /// As it was given.
        asked: PathBuf,
        /// Those that it may be.
        candidates: Candidates,
    },
    /// There are more control groups than are looked at.
    #[error("no container {asked:?} was among the first {searched} control groups; give its path")]
    TooMany {
        /// As it was given.
        asked: PathBuf,
        /// How many were looked at.
        searched: usize,
    },
    /// It is there, but cannot be opened.
    #[error("cannot open the control group {path:?}")]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Control groups to choose from, shown in one line.
#[derive(Debug)]
pub struct Candidates(Vec<PathBuf>);

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        for (index, path) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { " or " };
            // Quoted, because others choose the names.
            write!(f, "{separator}{path:?}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " or {more} more"),
        }
    }
}

impl Cgroup {
    /// Finds what a person means by `asked`: a path in the file system; a path from the root of the
    /// control groups, as `/proc/PID/cgroup` has it, with or without the first slash; or at least
    /// eight hexadecimal digits with which a container's id begins.
    ///
    /// Paths from the root and ids are looked for in version 2 first, then in version 1's hierarchy
    /// of the controller `perf_event`.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one; see [`CgroupError`].
    pub(crate) fn find(asked: &OsStr) -> Result<Self, CgroupError> {
        let mounts = fs::read("/proc/self/mountinfo").map_err(CgroupError::Mounts)?;
        Finder {
            mounts: mounts::parse(&mounts),
            is_cgroup: is_cgroup_file_system,
        }
        .find(Path::new(asked))
    }

    /// Its directory, for whoever wants its processes and nothing else.
    pub(crate) fn into_dir(self) -> OwnedFd {
        self.dir
    }

    /// Where it is in the file system. Others choose its name: escape before display.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Where to look, and what to take for a control group.
struct Finder {
    mounts: Vec<Mount>,
    is_cgroup: fn(BorrowedFd<'_>) -> io::Result<bool>,
}

impl Finder {
    fn find(&self, asked: &Path) -> Result<Cgroup, CgroupError> {
        // A path of the file system that is there, but is something else, may still be one from the
        // root.
        let mut elsewhere = None;
        if asked.as_os_str().is_empty() {
            // A variable that was not set, and not the root.
            return Err(CgroupError::NotFound {
                asked: asked.to_owned(),
            });
        }
        if asked.is_absolute() {
            match self.open(asked) {
                Err(error @ CgroupError::NotACgroup { .. }) => elsewhere = Some(error),
                Err(CgroupError::NotFound { .. }) => {}
                found => return found,
            }
        }
        if self.mounts.is_empty() {
            return Err(elsewhere.unwrap_or(CgroupError::NotMounted));
        }
        for path in self.mounts.iter().flat_map(|mount| mount.places(asked)) {
            match self.open(&path) {
                Err(CgroupError::NotACgroup { .. } | CgroupError::NotFound { .. }) => {}
                found => return found,
            }
        }
        if let Some(prefix) = Prefix::parse(asked.as_os_str().as_bytes()) {
            return self.find_container(asked, &prefix);
        }
        Err(elsewhere.unwrap_or_else(|| CgroupError::NotFound {
            asked: asked.to_owned(),
        }))
    }

    fn find_container(&self, asked: &Path, prefix: &Prefix) -> Result<Cgroup, CgroupError> {
        let mut searched = 0;
        let mut complete = true;
        for mount in &self.mounts {
            let root = match self.open(&mount.point) {
                // Hidden by another mount.
                Err(CgroupError::NotACgroup { .. } | CgroupError::NotFound { .. }) => continue,
                opened => opened?,
            };
            let unreadable = |source| CgroupError::Unreadable {
                path: mount.point.clone(),
                source,
            };
            let mut found = Vec::new();
            let walked = tree::walk(root.dir.as_fd(), |_, path| {
                Ok(if prefix.is_of(path) {
                    found.push(mount.point.join(path));
                    // What is below is in the same container.
                    tree::Then::Beside
                } else {
                    tree::Then::Below
                })
            })
            .map_err(unreadable)?;
            searched += walked.directories;
            complete &= walked.complete;
            found.sort_unstable();
            match &found[..] {
                [] => {}
                [path] => return self.open(path),
                _ => {
                    return Err(CgroupError::Ambiguous {
                        asked: asked.to_owned(),
                        candidates: Candidates(found),
                    });
                }
            }
        }
        let asked = asked.to_owned();
        Err(if complete {
            CgroupError::NotFound { asked }
        } else {
            CgroupError::TooMany { asked, searched }
        })
    }

    fn open(&self, path: &Path) -> Result<Cgroup, CgroupError> {
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => CgroupError::NotFound {
                asked: path.to_owned(),
            },
            io::ErrorKind::NotADirectory => CgroupError::NotACgroup {
                path: path.to_owned(),
            },
            _ => CgroupError::Unreadable {
                path: path.to_owned(),
                source,
            },
        };
        let dir = tree::open(rustix::fs::CWD, path).map_err(|errno| unreadable(errno.into()))?;
        if !(self.is_cgroup)(dir.as_fd()).map_err(unreadable)? {
            return Err(CgroupError::NotACgroup {
                path: path.to_owned(),
            });
        }
        // Without `..` and links on the way.
        let path = fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
            .unwrap_or_else(|_| path.to_owned());
        Ok(Cgroup { path, dir })
    }
}

/// Whether a directory is of one of the file systems of control groups.
fn is_cgroup_file_system(dir: BorrowedFd<'_>) -> io::Result<bool> {
    // Numbers of four bytes, of which some architectures' statfs(2) makes wider ones.
    let kind = fstatfs(dir)?.f_type as u64;
    Ok(kind == libc::CGROUP2_SUPER_MAGIC as u64 || kind == libc::CGROUP_SUPER_MAGIC as u64)
}

#[cfg(test)]
mod tests;
