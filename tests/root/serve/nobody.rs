//! As a service runs it: nobody, with five capabilities, of which who reads requests has none.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
    time::Duration,
};

use profil_tests::{
    Daemon, Profiler, Workload, claim_machine, process::wait_until, require_programs,
};
use rustix::process::Signal;

use super::{restarts::Home, seated};
use crate::privileges::{Copies, as_nobody};

const NOBODY: u32 = 65534;
const CAPABILITIES: [&str; 5] = ["bpf", "perfmon", "sys_ptrace", "dac_read_search", "syslog"];

fn give_to_nobody(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).expect("we are root");
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("we are root");
}

fn profiler(copies: &Copies, home: &Home, config: &Path) -> Profiler {
    let command = as_nobody(&CAPABILITIES, &copies.path("profil-bpf"));
    Profiler::by(command)
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(config)
        .arg(format!("--pin={}", home.pins().display()))
        .arg("--state")
        .arg(home.state())
}

#[test]
fn a_service_without_root_names_everything_and_restarts() {
    let machine = claim_machine!();
    let _paranoid = machine.set("kernel.perf_event_paranoid", 2);
    require_programs!("setpriv");
    let (copies, home) = (Copies::new(), Home::new());
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    for dir in [home.pins(), home.state()] {
        fs::create_dir(&dir).expect("a directory");
        give_to_nobody(&dir);
    }
    // Root may look whether there is anything, and leaves nothing that nobody could not use.
    assert!(home.unpin().contains("there is nothing"));
    // Root's, and nobody else's: as a token would be.
    let config = home.path().join("profil-bpf.toml");
    const PUSH: &str = "drain = \"400ms\"\npush.url = \"http://127.0.0.1:9/\"\n";
    fs::write(&config, PUSH).expect("there is room");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("it is ours");

    let mut daemon = Daemon::of(profiler(&copies, &home, &config));
    let mut without = Vec::new();
    for thread in fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("it runs") {
        let thread = thread.expect("it runs").path();
        let name = fs::read_to_string(thread.join("comm")).expect("it runs");
        let status = fs::read_to_string(thread.join("status")).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("CapEff:"));
        let has = line
            .expect("capabilities")
            .trim_start_matches("CapEff:")
            .trim();
        let expected = match name.trim_end() {
            // Who reads what strangers send.
            "profil-http" | "push" => {
                without.push(name.clone());
                "0000000000000000"
            }
            _ => "000000c400080004",
        };
        assert_eq!(has, expected, "{name}");
    }
    without.sort();
    assert_eq!(without, ["profil-http\n", "push\n"]);
    let (_target, name) = seated(&daemon, Workload::Pie);
    let metrics = daemon.settled();
    metrics.assert_exact();
    assert!(
        metrics.function(&name, "spin_alpha") > 0.3,
        "root's program has names"
    );
    let everybody = daemon
        .get("/api/rows?by=function&object=%5Bkernel%5D&limit=100")
        .ok()
        .text();
    assert!(
        !everybody.contains("[kernel symbols hidden]"),
        "{everybody}"
    );

    let more = format!("{PUSH}limits.profiles = 7\n");
    fs::write(&config, more).expect("there is room");
    daemon.signal(Signal::HUP);
    let heard = wait_until(Duration::from_secs(5), || {
        daemon.said().contains("limits.profiles")
    });
    assert!(heard, "{}", daemon.said());
    for file in ["state", "lock"] {
        let mode = fs::metadata(home.state().join(file))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let before = metrics.process(&name);
    daemon.kill();
    let daemon = Daemon::of(profiler(&copies, &home, &config));
    assert!(daemon.settled().process(&name) >= before);
    daemon.end();
    home.unpin();
}

/// Kernels of Debian and its relatives want more for perf events then, also of looks that begin later.
#[test]
fn a_kernel_that_wants_more_is_given_it() {
    let machine = claim_machine!();
    let _paranoid = machine.set("kernel.perf_event_paranoid", 3);
    let daemon = Daemon::start([]);
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let has = line
        .and_then(|has| u64::from_str_radix(has.trim(), 16).ok())
        .expect("capabilities");
    const SYS_ADMIN: u32 = 21;
    const SYS_MODULE: u32 = 16;
    assert_eq!((has >> SYS_ADMIN & 1, has >> SYS_MODULE & 1), (1, 0));
    let busy = super::Burner::start(Workload::Busy, &[]);
    daemon
        .get(&format!(
            "/debug/pprof/profile?seconds=1&pid={}",
            busy.pid()
        ))
        .ok();
    daemon.end();
}
