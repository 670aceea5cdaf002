//! The daemon on whatever kernel this is: it counts what a target measured, and where the kernel has links to perf
//! events, the next one goes on.

use std::time::Duration;

use profil_tests::{
    Daemon, Target, Workload, claim_machine, machine::is_emulated, statistics::assert_ratio,
};

use crate::serve::{restarts::Home, seated};

/// Whether a BPF program can be linked to a perf event.
fn has_links() -> bool {
    let kernel = rustix::system::uname();
    let release = kernel.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
    let version = (numbers.next(), numbers.next());
    matches!(version, (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (5, 15))
}

#[test]
fn it_counts_and_the_next_one_goes_on() {
    let _machine = claim_machine!();
    let home = Home::new();
    let links = has_links();
    if !links {
        let finished = home.profiler().run();
        finished
            .assert_code(1)
            .assert_clear_error()
            .assert_says("Linux 5.15");
    }
    let start = || {
        if links {
            Daemon::of(home.profiler())
        } else {
            Daemon::start([])
        }
    };
    let mut daemon = start();
    let (_warm, name) = seated(&daemon, Workload::Pie);
    let before = daemon.settled();
    before.assert_exact();
    let mut target = Target::start(Workload::Pie);
    target.go_and_hold(Duration::from_secs(3));
    if links {
        daemon.kill();
        std::thread::sleep(Duration::from_millis(500));
        daemon = start();
    }
    let split = target.split();
    let after = daemon.settled();
    after.assert_exact();
    let rate = after.sum("profil_stathz", &[]);
    assert_ratio(
        "ticks of the target",
        (after.process(&name) - before.process(&name)) * rate,
        split.total.as_secs_f64() * rate,
        if is_emulated() { 0.2 } else { 0.12 },
    );
    let path = format!("/debug/pprof/profile?seconds=1&pid={}", target.pid());
    let profile = daemon.get(&path).ok();
    assert_eq!(&profile.body[..2], [0x1f, 0x8b], "gzip");
    daemon.end();
    if links {
        home.unpin();
    }
}
