//! Minutes on disk: files of records, one file an hour, to which records are appended.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    cell::{Cells, Tables},
    record::{MOST_BODY, Record, records_of},
};
use crate::target::open_regular;

/// Seconds whose minutes are in one file.
const SPAN_OF_FILE: u64 = 3600;

/// A history cannot be kept on disk.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}; name another directory, or none to keep the history in memory alone", path.display())]
pub struct JournalError {
    what: &'static str,
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// The files.
#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
    most_bytes: u64,
    /// Damaged places that were found when it was opened.
    pub(super) damaged: u64,
}

impl Journal {
    /// The files of a directory, which is made if it is not there, and the last minutes in them.
    pub(super) fn open(
        dir: &Path,
        most_bytes: u64,
        most_minutes: usize,
    ) -> Result<(Self, Vec<Record>), JournalError> {
        let failed = |what| {
            move |error| JournalError {
                what,
                path: dir.to_path_buf(),
                error,
            }
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(dir).map_err(failed("make the directory"))?;
        let mut journal = Self {
            dir: dir.to_path_buf(),
            most_bytes,
            damaged: 0,
        };
        journal.shrink().map_err(failed("read the directory"))?;
        let files = journal.files().map_err(failed("read the directory"))?;
        let mut records = Vec::new();
        for (_, path, _) in files.into_iter().rev() {
            if records.len() >= most_minutes {
                break;
            }
            let mut of_file = journal.read(&path);
            of_file.append(&mut records);
            records = of_file;
        }
        let first = records.len().saturating_sub(most_minutes);
        Ok((journal, records.split_off(first)))
    }

    /// Appends a minute.
    pub(super) fn write(
        &self,
        began: u64,
        covered: Duration,
        cells: &Cells,
        tables: &Tables,
    ) -> io::Result<()> {
        let bytes = Record::of(began, covered, cells, tables).into_bytes()?;
        let path = self.dir.join(name_of(began));
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits() as i32);
        let mut file = options.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Err(error) = file.write_all(&bytes) {
            // A part of a record is damage, and would only be skipped.
            file.set_len(metadata.len())?;
            return Err(error);
        }
        self.shrink()
    }

    /// The files that are ours, the oldest first, with their sizes.
    fn files(&self) -> io::Result<Vec<(u64, PathBuf, u64)>> {
        let entries = fs::read_dir(&self.dir)?.flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let hour = hour_of(entry.file_name().to_str()?)?;
                let metadata = entry.metadata().ok()?;
                metadata
                    .is_file()
                    .then_some((hour, entry.path(), metadata.len()))
            })
            .collect();
        files.sort_unstable();
        Ok(files)
    }

    /// Removes the oldest files while there are too many bytes, but not the last one.
    fn shrink(&self) -> io::Result<()> {
        let files = self.files()?;
        let mut bytes: u64 = files.iter().map(|(.., bytes)| bytes).sum();
        let last = files.len().saturating_sub(1);
        for (_, path, size) in files.into_iter().take(last) {
            if bytes <= self.most_bytes {
                break;
            }
            fs::remove_file(path)?;
            bytes -= size;
        }
        Ok(())
    }

    /// The records of a file; what is none is skipped and counted.
    fn read(&mut self, path: &Path) -> Vec<Record> {
        let mut bytes = Vec::new();
        let most = self.most_bytes.max(MOST_BODY as u64);
        let mut read = |file: File| file.take(most).read_to_end(&mut bytes);
        if !open_regular(path).is_ok_and(|file| read(file).is_ok()) {
            self.damaged += 1;
            return Vec::new();
        }
        let (records, damaged) = records_of(&bytes);
        self.damaged += damaged;
        records
    }
}

fn name_of(began: u64) -> String {
    format!("history-{:08}.minutes", began / SPAN_OF_FILE)
}

fn hour_of(name: &str) -> Option<u64> {
    let hour = name.strip_prefix("history-")?.strip_suffix(".minutes")?;
    let is_number = hour.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| hour.parse().ok()).flatten()
}
