//! Processes that cannot be profiled.

use std::{
    fs,
    process::{Child, Command, Stdio},
    time::Duration,
};

use profil_tests::{Target, Workload, process::wait_until, skip};

use crate::run;

/// A pid that is given to nobody: beyond what the kernel hands out.
fn free_pid() -> u32 {
    let limit = fs::read_to_string("/proc/sys/kernel/pid_max").expect("a limit");
    limit.trim().parse().expect("a number")
}

/// The state letter of a process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// A process that is dead and not waited for.
struct Zombie(Child);

impl Zombie {
    fn new() -> Self {
        let child = Command::new("true")
            .stdout(Stdio::null())
            .spawn()
            .expect("true(1) runs");
        let zombie = Self(child);
        let dead = wait_until(Duration::from_secs(5), || state(zombie.0.id()) == Some('Z'));
        assert!(dead, "true(1) does not end");
        zombie
    }
}

impl Drop for Zombie {
    fn drop(&mut self) {
        // It is dead already.
        let _ = self.0.wait();
    }
}

#[test]
fn no_such_pid() {
    let pid = free_pid().to_string();
    run(["--pid", &pid])
        .assert_code(1)
        .assert_clear_error()
        .assert_says(&pid);
}

#[test]
fn the_largest_pid() {
    let pid = i32::MAX.to_string();
    run(["--pid", &pid])
        .assert_code(1)
        .assert_clear_error()
        .assert_says(&pid);
}

#[test]
fn a_kernel_thread() {
    match fs::read_to_string("/proc/2/comm") {
        Ok(name) if name.trim() == "kthreadd" => {}
        _ => skip!("no kernel thread is visible here"),
    }
    run(["--pid", "2"])
        .assert_code(1)
        .assert_clear_error()
        .assert_says("kernel thread");
}

#[test]
fn a_zombie() {
    let zombie = Zombie::new();
    let pid = zombie.0.id().to_string();
    run(["--pid", &pid])
        .assert_code(1)
        .assert_clear_error()
        .assert_says(&pid);
}

#[test]
fn a_process_that_is_gone() {
    let mut child = Command::new("true").spawn().expect("true(1) runs");
    let pid = child.id().to_string();
    child.wait().expect("it ends");
    run(["--pid", &pid])
        .assert_code(1)
        .assert_clear_error()
        .assert_says(&pid);
}

#[test]
fn a_thread_is_not_a_process() {
    let target = Target::start_with(Workload::Pie, &["--threads", "8"]);
    let pid = target.pid().to_string();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    let thread = threads
        .map(|entry| {
            entry
                .expect("a thread")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .find(|tid| *tid != pid)
        .expect("a second thread");
    let finished = run(["--pid", &thread]);
    finished
        .assert_code(1)
        .assert_clear_error()
        .assert_says(&thread)
        .assert_says(&pid);
}
