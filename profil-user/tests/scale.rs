//! What a large profile takes. `cargo xtask bench scale` has one twenty-five times as large, and its times.

mod large;

use std::{fs::File, process::Command};

use large::{ADDRESSES, FORMATS};

/// Of the 5,000 for which it is said how much they may take.
const OBJECTS: usize = 200;

/// A million addresses in 5,000 objects may take 500 MiB: so many bytes each.
const MOST_BYTES: usize = (500 << 20) / 1_000_000;

/// A profile of so many objects.
struct Large(tempfile::TempDir);

impl Large {
    fn new(objects: usize) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        large::write_profile(dir.path(), &dir.path().join("large.pb.gz"), objects);
        Self(dir)
    }

    /// The most memory that writing it took, in bytes.
    fn memory(&self, format: &str) -> usize {
        let dir = self.0.path();
        let errors = File::create(dir.join("errors")).expect("there is room");
        let child = Command::new(env!("CARGO_BIN_EXE_profil-bpf"))
            .arg("report")
            .arg(dir.join("large.pb.gz"))
            .arg("-o")
            .arg(dir.join(format!("out.{format}")))
            .stderr(errors)
            .spawn();
        let (status, usage) = large::wait(&child.expect("it starts"));
        assert!(status.success(), "{format}: {status}");
        usage.ru_maxrss as usize * 1024
    }
}

#[test]
fn every_format_is_written_in_little_memory() {
    let (small, large) = (Large::new(1), Large::new(OBJECTS));
    for format in FORMATS {
        let more = large.memory(format) - small.memory(format);
        let of_each = more / ((OBJECTS - 1) * ADDRESSES);
        assert!(
            of_each <= MOST_BYTES,
            "{format}: {of_each} bytes for each address"
        );
    }
}
