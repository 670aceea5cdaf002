//! Counters that outlive us: maps, the program and its links to clocks, with names in a BPF file system.
//!
//! A link holds the perf event and the program, so the clock ticks on whoever goes; what it counts stays in
//! the maps. Who comes next finds them by name, if they have the layout that it knows.

mod error;
mod meta;

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{
            ffi::OsStrExt as _,
            fs::{DirBuilderExt as _, MetadataExt as _},
        },
    },
    path::{Path, PathBuf},
};

use aya::maps::MapData;
use rustix::fs::{FlockOperation, flock};

use super::{
    beat::Beat,
    bpf, cpus,
    event::Event,
    maps::{Counters, Maps},
    object::KernelHalf,
};
pub use error::PinError;
pub(crate) use meta::Meta;

/// The type of a BPF file system (`BPF_FS_MAGIC`, `include/uapi/linux/magic.h`).
const BPF_FS: u64 = 0xcafe_4a11;

/// The maps that are read, by the names that the object gives them.
const MAPS: [&str; 5] = ["BINS", "TOUCHED", "STRAYS", "STRAY_HALF", "TALLY"];

/// What tells what the others are, and is made last: without it, nothing was finished.
const META: &str = "META";
const PROGRAM: &str = "PROGRAM";
const LINK: &str = "LINK";

/// A clock on every CPU, and the counters of its program, under names.
pub(crate) struct Pins {
    dir: PathBuf,
    program: OwnedFd,
    meta: Meta,
    /// The kernel's list of the CPUs that have links.
    online: String,
    /// The directory: whoever holds it is the only one who reads and removes what is counted.
    _lock: File,
}

impl Pins {
    /// Finds what was left here, with its counters; nothing, if nothing was.
    ///
    /// # Errors
    ///
    /// If it is of another layout, or cannot be opened.
    pub(crate) fn find(dir: &Path) -> Result<Option<(Self, Counters)>, PinError> {
        let path = dir.join(META);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(PinError::open(&path, error)),
            Ok(_) => {}
        }
        check(dir)?;
        let lock = lock(dir)?;
        let meta = Meta::read(&path)?;
        let mut maps = Maps::new();
        for name in MAPS {
            let path = dir.join(name);
            let map = MapData::from_pin(&path).map_err(|error| PinError::Map {
                path: path.clone(),
                source: Box::new(error),
            })?;
            maps.insert(name.to_owned(), map);
        }
        let counters = Counters::take(&mut maps)?;
        let mut pins = Self {
            program: open(&dir.join(PROGRAM))?,
            dir: dir.to_owned(),
            meta,
            online: String::new(),
            _lock: lock,
        };
        pins.follow_cpus()?;
        Ok(Some((pins, counters)))
    }

    /// Gives names to a loaded program and its maps, and lets it tick on every CPU.
    ///
    /// # Errors
    ///
    /// If the directory is not one where that can be, or the kernel refuses: then nothing is left there.
    pub(crate) fn make(dir: &Path, kernel: &KernelHalf, meta: Meta) -> Result<Self, PinError> {
        make_dir(dir)?;
        check(dir)?;
        let lock = lock(dir)?;
        // Somebody began, and did not come to the end.
        clear(dir)?;
        let made = Self::make_in(dir, kernel, meta, lock);
        if made.is_err() {
            let _ = remove(dir);
        }
        made
    }

    fn make_in(dir: &Path, kernel: &KernelHalf, meta: Meta, lock: File) -> Result<Self, PinError> {
        for name in MAPS {
            let map = kernel.map(name)?;
            pin(map.fd().as_fd(), &dir.join(name))?;
        }
        pin(kernel.program(), &dir.join(PROGRAM))?;
        let program = kernel.program().try_clone_to_owned();
        let mut pins = Self {
            program: program.map_err(|error| PinError::open(dir, error))?,
            dir: dir.to_owned(),
            meta,
            online: String::new(),
            _lock: lock,
        };
        pins.follow_cpus()?;
        meta.write(&dir.join(META))?;
        Ok(pins)
    }

    /// What was written down about the clock.
    pub(crate) const fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Lets the clock tick on CPUs that have come online since, and forgets it on those that have gone.
    /// Takes a small file if nothing has changed.
    pub(crate) fn follow_cpus(&mut self) -> Result<(), PinError> {
        let list_of = |source| PinError::Clock(super::ClockError::Cpus(source));
        let online = cpus::online_list().map_err(list_of)?;
        if online == self.online {
            return Ok(());
        }
        let cpus =
            cpus::parse_list(&online).ok_or_else(|| list_of(io::ErrorKind::InvalidData.into()))?;
        for (path, cpu) in links(&self.dir)? {
            if !cpus.contains(&cpu) {
                fs::remove_file(&path).map_err(|error| PinError::remove(&path, error))?;
            }
        }
        for cpu in cpus {
            self.add_cpu(cpu)?;
        }
        self.online = online;
        Ok(())
    }

    /// Lets the clock tick on a CPU anew: what it has there stands still.
    pub(crate) fn renew_cpu(&mut self, cpu: u32) -> Result<(), PinError> {
        for (path, _) in links(&self.dir)?.into_iter().filter(|&(_, of)| of == cpu) {
            fs::remove_file(&path).map_err(|error| PinError::remove(&path, error))?;
        }
        self.add_cpu(cpu)
    }

    fn add_cpu(&self, cpu: u32) -> Result<(), PinError> {
        for (period, &period_ns) in self.meta.periods_ns.iter().enumerate() {
            self.attach(cpu, period, period_ns)?;
        }
        Ok(())
    }

    /// Attaches one clock to one CPU, unless it is there.
    fn attach(&self, cpu: u32, period: usize, period_ns: u64) -> Result<(), PinError> {
        let path = self.dir.join(format!("{LINK}-{cpu}-{period}"));
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(());
        }
        let event = match Event::on_cpu(cpu, period_ns) {
            // It has gone offline since.
            Err(super::ClockError::Open { source, .. })
                if source.raw_os_error() == Some(libc::ENODEV) =>
            {
                return Ok(());
            }
            event => event?,
        };
        let link = bpf::link(self.program.as_fd(), event.fd.as_fd()).map_err(PinError::Link)?;
        // On before it has a name: who is killed in between leaves nothing, and not a clock that stands still.
        event.enable()?;
        pin(link.as_fd(), &path)
    }
}

/// Switches the clock off that was left in a directory, and removes its counters. Whether there was one.
///
/// # Errors
///
/// If a daemon goes on counting there, or something cannot be removed.
pub(crate) fn remove(dir: &Path) -> Result<bool, PinError> {
    if !dir.exists() {
        return Ok(false);
    }
    // Nothing there is believed: root may remove what a service has left.
    if rustix::process::geteuid().is_root() {
        check_kind(dir)?;
    } else {
        check(dir)?;
    }
    let _lock = lock(dir)?;
    let had = clear(dir)?;
    match fs::remove_dir(dir) {
        // It is a whole file system, or somebody else's things are there, too: what ticked is gone.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ResourceBusy | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Ok(had)
        }
        removed => removed
            .map(|()| had)
            .map_err(|error| PinError::remove(dir, error)),
    }
}

/// Removes all that is ours from a directory. Links first: nothing ticks any more then.
fn clear(dir: &Path) -> Result<bool, PinError> {
    let mut had = false;
    let others = [META, PROGRAM].into_iter().chain(MAPS);
    let others = others.map(|name| dir.join(name));
    let links = links(dir)?.into_iter().map(|(path, _)| path);
    for path in links.chain(others) {
        match fs::remove_file(&path) {
            Ok(()) => had = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(PinError::remove(&path, error)),
        }
    }
    Ok(had)
}

/// The links in a directory, and their CPUs.
fn links(dir: &Path) -> Result<Vec<(PathBuf, u32)>, PinError> {
    let failed = |error| PinError::open(dir, error);
    let mut links = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let mut words = name.to_str().unwrap_or_default().split('-');
        if words.next() == Some(LINK)
            && let Some(cpu) = words.next().and_then(|cpu| cpu.parse().ok())
        {
            links.push((entry.path(), cpu));
        }
    }
    Ok(links)
}

fn make_dir(dir: &Path) -> Result<(), PinError> {
    let mut builder = fs::DirBuilder::new();
    match builder.mode(0o700).create(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(PinError::Dir {
            dir: dir.to_owned(),
            source,
        }),
    }
}

/// Whether a directory is in a BPF file system, and ours alone: what is pinned there is believed.
fn check(dir: &Path) -> Result<(), PinError> {
    let failed = |source| PinError::Dir {
        dir: dir.to_owned(),
        source,
    };
    check_kind(dir)?;
    let metadata = fs::symlink_metadata(dir).map_err(failed)?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !ours || metadata.mode() & 0o022 != 0 {
        return Err(PinError::NotOurs(dir.to_owned()));
    }
    Ok(())
}

/// Has a directory for as long as the file lives.
fn lock(dir: &Path) -> Result<File, PinError> {
    let failed = |source| PinError::Dir {
        dir: dir.to_owned(),
        source,
    };
    let file = File::open(dir).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(PinError::Taken(dir.to_owned())),
        Err(errno) => Err(failed(errno.into())),
        Ok(()) => Ok(file),
    }
}

fn check_kind(dir: &Path) -> Result<(), PinError> {
    let statistics = rustix::fs::statfs(dir).map_err(|errno| PinError::Dir {
        dir: dir.to_owned(),
        source: errno.into(),
    })?;
    if statistics.f_type as u64 != BPF_FS {
        return Err(PinError::NotBpf(dir.to_owned()));
    }
    Ok(())
}

fn c_path(path: &Path) -> Result<CString, PinError> {
    let bytes = path.as_os_str().as_bytes();
    CString::new(bytes).map_err(|error| PinError::open(path, error.into()))
}

fn open(path: &Path) -> Result<OwnedFd, PinError> {
    bpf::open_pinned(&c_path(path)?).map_err(|error| PinError::open(path, error))
}

fn pin(object: std::os::fd::BorrowedFd<'_>, path: &Path) -> Result<(), PinError> {
    bpf::pin(object, &c_path(path)?).map_err(|source| PinError::Pin {
        path: path.to_owned(),
        source,
    })
}

impl Beat {
    /// What is written down of a pair that is about to be pinned, for a program of a `mode`.
    pub(crate) fn meta(&self, mode: u64, kernel_bytes: u64) -> Meta {
        let period = |index: usize| self.periods_ns().get(index).copied().unwrap_or(0);
        Meta::new([period(0), period(1)], mode, kernel_bytes)
    }
}
