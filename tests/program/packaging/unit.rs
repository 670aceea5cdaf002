use std::{fs, process::Command};

use profil_tests::{
    places,
    queries::{packaged, text_of},
    require_programs,
};

const UNIT: &str = "systemd/profil-bpf.service";
const MOUNT: &str = r"systemd/sys-fs-bpf-profil\x2dbpf.mount";

/// The most that `systemd-analyze security` may find, in tenths; systemd 252 says 28. Half of it is what a
/// profiler is for: capabilities, the network, other users' processes.
const EXPOSURE: u32 = 30;

/// The values of a setting, in all of its lines.
fn values(unit: &str, setting: &str) -> Vec<String> {
    let text = text_of(unit);
    let assigned = text.lines().filter_map(|line| line.split_once('='));
    assigned
        .filter(|(name, _)| *name == setting)
        .flat_map(|(_, value)| value.split(' ').map(str::to_owned))
        .collect()
}

#[test]
fn systemd_understands_it() {
    require_programs!("systemd-analyze");
    let dir = places::public_dir();
    // Where it looks for what the unit runs and refers to.
    let root = dir.path();
    let units = root.join("usr/lib/systemd/system");
    fs::create_dir_all(&units).expect("a directory");
    for unit in [UNIT, MOUNT] {
        let name = unit.rsplit('/').next().expect("a name");
        let text = text_of(unit).replace("/usr/bin/profil-bpf", "/bin/true");
        fs::write(units.join(name), text).expect("a unit");
    }
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=one"])
        .arg(units.join("profil-bpf.service"))
        .env("SYSTEMD_UNIT_PATH", format!("{}:", units.display()))
        .output()
        .expect("systemd-analyze runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<_> = said
        .lines()
        .filter(|line| line.contains("profil"))
        .collect();
    assert!(output.status.success() && ours.is_empty(), "{said}");
}

#[test]
fn it_is_not_exposed() {
    require_programs!("systemd-analyze");
    let output = Command::new("systemd-analyze")
        .args(["security", "--no-pager", "--offline=yes"])
        .arg(format!("--threshold={EXPOSURE}"))
        .arg(packaged(UNIT))
        .output()
        .expect("systemd-analyze runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Overall exposure level"), "{output:?}");
    assert!(output.status.success(), "{said}");
}

#[test]
fn it_has_the_capabilities_that_are_documented() {
    let given = values(UNIT, "AmbientCapabilities");
    assert_eq!(
        given,
        [
            "CAP_BPF",
            "CAP_PERFMON",
            "CAP_SYS_PTRACE",
            "CAP_DAC_READ_SEARCH",
            "CAP_SYSLOG"
        ]
    );
    assert_eq!(values(UNIT, "CapabilityBoundingSet"), given);
    let unit = text_of(UNIT);
    let manual = text_of("../docs/OPERATING.md");
    for capability in &given {
        assert!(unit.contains(&format!("# {capability}: ")), "{capability}");
        assert!(
            manual.contains(&format!("| `{capability}` |")),
            "{capability}"
        );
    }
}

/// The mount's name is its place, spelt as systemd does.
#[test]
fn pins_are_where_the_unit_expects_them() {
    let place = "/sys/fs/bpf/profil-bpf";
    assert_eq!(values(MOUNT, "Where"), [place]);
    assert!(values(UNIT, "ReadWritePaths").contains(&place.to_owned()));
    let name = MOUNT.rsplit('/').next().expect("a name");
    assert_eq!(values(UNIT, "Requires"), [name]);
    assert!(values(UNIT, "After").contains(&name.to_owned()));
    require_programs!("systemd-escape");
    let output = Command::new("systemd-escape")
        .args(["--path", "--suffix=mount", place])
        .output()
        .expect("systemd-escape runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), name);
}
