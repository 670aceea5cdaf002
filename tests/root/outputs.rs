//! Outputs that fail when it comes to writing.

use std::{fs, path::Path, time::Duration};

use profil_tests::{
    Process, Profiler, Target, Workload, claim_machine,
    places::{self, names_in},
    profiler::{PATIENCE, wait_until_attached},
    session::RATE,
};
use rustix::{
    mount::{MountFlags, UnmountFlags, mount, unmount},
    process::Signal,
};

/// A file system with no room, unmounted when dropped.
struct Full<'a>(&'a Path);

impl<'a> Full<'a> {
    /// A file system of one page, which the file `name` takes up.
    fn with_file(at: &'a Path, name: &str) -> Self {
        mount("none", at, "tmpfs", MountFlags::empty(), c"size=4k").expect("root may mount");
        let full = Self(at);
        fs::write(at.join(name), [b'x'; 4096]).expect("one page fits");
        full
    }
}

impl Drop for Full<'_> {
    fn drop(&mut self) {
        // What is left mounted is seen by the next look at the mounts; a panic would hide more.
        let _ = unmount(self.0, UnmountFlags::DETACH);
    }
}

/// A target that has burnt a second of CPU, and a profiler that saw it and ends.
fn after_a_second(target: &mut Target, mut profiler: Process) -> profil_tests::Finished {
    wait_until_attached(&mut profiler);
    target.go_and_hold(Duration::from_millis(500));
    target.split();
    profiler.signal(Signal::INT);
    profiler.finish(PATIENCE)
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let _full = Full::with_file(dir.path(), "gmon.out");
    let file = dir.path().join("gmon.out");
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE).output(&file).start();
    let finished = after_a_second(&mut target, profiler);
    finished
        .assert_code(1)
        .assert_no_panic()
        .assert_says("no space")
        .assert_says("gmon.out");
    assert_eq!(fs::read(&file).expect("the old file"), [b'x'; 4096]);
    assert_eq!(names_in(dir.path()), ["gmon.out"], "no temporary file");
}

#[test]
fn a_full_device() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let profiler = Profiler::on(target.pid(), RATE).output("/dev/full").start();
    let finished = after_a_second(&mut target, profiler);
    finished
        .assert_code(1)
        .assert_no_panic()
        .assert_says("no space")
        .assert_says("/dev/full");
    assert!(
        fs::metadata("/dev/full").is_ok(),
        "the device is still there"
    );
}

#[test]
fn a_full_standard_output() {
    let _machine = claim_machine!();
    let mut target = Target::start(Workload::Pie);
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let profiler = Profiler::on(target.pid(), RATE).start_writing_to(full);
    let finished = after_a_second(&mut target, profiler);
    finished
        .assert_code(1)
        .assert_no_panic()
        .assert_says("no space");
}

#[test]
fn a_closed_standard_output() {
    let _machine = claim_machine!();
    let dir = places::public_dir();
    let file = dir.path().join("gmon.out");
    let mut target = Target::start(Workload::Pie);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let profiler = Profiler::on(target.pid(), RATE)
        .output(&file)
        .start_writing_to(writer);
    let finished = after_a_second(&mut target, profiler);
    finished.assert_code(0).assert_no_panic();
    assert!(
        fs::read(&file).expect("a profile").starts_with(b"gmon"),
        "the file is written"
    );
}
