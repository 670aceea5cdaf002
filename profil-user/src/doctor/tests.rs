//! What is said of machines that were made up.

use super::{Diagnosis, Finding, Limit, Machine, Trial, Verdict, bpf_object, findings};
use crate::{
    error::StartError,
    kernel::{Feature, Figures, Missing, Presence},
};

/// A machine on which root finds nothing to complain of.
fn good() -> Machine {
    let unlimited = Limit::default();
    Machine {
        release: "6.12.0".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: Some("Made Up 1".to_owned()),
        cpus: Some(2),
        user: 0,
        effective: Some(0x1ff_ffff_ffff),
        last_capability: Some(40),
        paranoid: Some(2),
        max_rate: Some(100_000),
        mlock_kb: Some(516),
        kptr_restrict: Some(0),
        unprivileged_bpf_disabled: Some(2),
        bpf_jit: Some(1),
        memlock: unlimited,
        files: Limit {
            soft: Some(1024),
            hard: Some(1 << 20),
        },
        kernel_addresses: Some(true),
        lockdown: Some("none".to_owned()),
        seccomp: Some(0),
        container: None,
        initial_pid_namespace: Some(true),
        cgroup2: true,
        cgroup1_perf_event: false,
    }
}

fn trial() -> Trial {
    Trial {
        program: "profil_tick",
        figures: Figures {
            instructions: 1,
            processed: None,
        },
        by_saved_registers: true,
        kernel_bytes: 0,
        runs: 100,
        counted: 100,
        due: 100.0,
    }
}

fn works(machine: Machine) -> Diagnosis {
    Diagnosis {
        machine,
        features: Feature::ALL
            .map(|feature| (feature, Presence::Present))
            .to_vec(),
        records: Some(Ok(())),
        trial: Ok(trial()),
    }
}

fn fails(machine: Machine) -> Diagnosis {
    let missing = machine.missing();
    Diagnosis {
        trial: Err(StartError::Privileges(missing)),
        ..works(machine)
    }
}

#[track_caller]
fn found(diagnosis: &Diagnosis, what: &str) -> Finding {
    let mut all = findings(diagnosis).into_iter();
    all.find(|finding| finding.what == what)
        .unwrap_or_else(|| panic!("nothing of {what}"))
}

fn not_good(diagnosis: &Diagnosis) -> Vec<String> {
    let all = findings(diagnosis).into_iter();
    all.filter(|finding| finding.verdict != Verdict::Good)
        .map(|finding| finding.what)
        .collect()
}

#[test]
fn where_all_is_well_nothing_is_to_be_mended() {
    let all = findings(&works(good()));
    assert!(not_good(&works(good())).is_empty());
    assert!(all.iter().all(|finding| finding.mend.is_none()));
    for (index, finding) in all.iter().enumerate() {
        let same = |other: &Finding| other.what == finding.what;
        assert!(!all[..index].iter().any(same), "{} twice", finding.what);
    }
}

#[test]
fn nobody_is_told_once_how_to_get_what_is_missing() {
    let nobody = Machine {
        user: 65534,
        effective: Some(0),
        kernel_addresses: Some(false),
        bpf_jit: None,
        ..good()
    };
    let diagnosis = fails(nobody);
    let needed = found(&diagnosis, "to load and attach");
    assert_eq!(needed.value, "CAP_BPF and CAP_PERFMON missing");
    assert_eq!(needed.verdict, Verdict::Missing);
    let mend = needed.mend.expect("a command");
    assert!(
        mend.ends_with(
            "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep \"$(command -v profil-bpf)\""
        ),
        "{mend}"
    );
    let missing = |finding: &Finding| finding.verdict == Verdict::Missing;
    assert_eq!(
        findings(&diagnosis).iter().filter(|f| missing(f)).count(),
        1
    );
    assert_eq!(found(&diagnosis, "CAP_SYS_PTRACE").mend, None);
    let kernel = found(&diagnosis, "addresses of the kernel");
    assert!(kernel.mend.is_some_and(|mend| mend.contains("cap_syslog")));
    assert_eq!(
        found(&diagnosis, "net.core.bpf_jit_enable").verdict,
        Verdict::Unknown
    );
}

#[test]
fn the_two_capabilities_are_enough() {
    let two = Machine {
        user: 1000,
        effective: Some(1 << 38 | 1 << 39),
        ..good()
    };
    let diagnosis = works(two.clone());
    let needed = found(&diagnosis, "to load and attach");
    assert_eq!(needed.verdict, Verdict::Good);
    assert_eq!(needed.remark.as_deref(), Some("CAP_BPF and CAP_PERFMON"));
    assert_eq!(not_good(&diagnosis), ["CAP_SYS_PTRACE"]);
    // Where a kernel does not know them, they are of no use.
    let old = fails(Machine {
        last_capability: Some(37),
        ..two
    });
    assert_eq!(old.machine.missing(), [Missing::SysAdmin]);
    let mend = found(&old, "to load and attach").mend.expect("a command");
    assert!(mend.contains("cap_sys_admin,cap_sys_ptrace+ep"), "{mend}");
}

#[test]
fn a_kernel_that_wants_more_is_told_from_one_that_does_not() {
    const WHAT: &str = "kernel.perf_event_paranoid";
    let paranoid = Machine {
        effective: Some(1 << 19 | 1 << 38 | 1 << 39),
        paranoid: Some(3),
        ..good()
    };
    assert_eq!(found(&works(paranoid.clone()), WHAT).verdict, Verdict::Good);
    let failed = found(&fails(paranoid), WHAT);
    assert_eq!(failed.verdict, Verdict::Missing);
    assert_eq!(
        failed.mend.as_deref(),
        Some("sudo sysctl kernel.perf_event_paranoid=2")
    );
}

#[test]
fn every_limit_can_be_too_low() {
    let low = Machine {
        effective: Some(1 << 38 | 1 << 39 | 1 << 19),
        max_rate: Some(500),
        mlock_kb: Some(100),
        bpf_jit: Some(0),
        memlock: Limit {
            soft: Some(65_536),
            hard: Some(65_536),
        },
        files: Limit {
            soft: Some(256),
            hard: Some(1024),
        },
        cgroup2: false,
        ..good()
    };
    let mut diagnosis = works(low);
    for (feature, presence) in &mut diagnosis.features {
        if *feature == Feature::FreeMaps {
            *presence = Presence::Absent;
        }
    }
    let expected = [
        "kernel.perf_event_max_sample_rate",
        "kernel.perf_event_mlock_kb",
        "RLIMIT_MEMLOCK",
        "RLIMIT_NOFILE",
        "net.core.bpf_jit_enable",
        "control groups",
        Feature::FreeMaps.name(),
    ];
    assert_eq!(not_good(&diagnosis), expected);
    for what in &expected[..6] {
        let finding = found(&diagnosis, what);
        assert_eq!(finding.verdict, Verdict::Otherwise, "{what}");
        assert!(finding.mend.is_some() && finding.remark.is_some(), "{what}");
    }
    assert_eq!(found(&diagnosis, "RLIMIT_NOFILE").value, "256, up to 1024");
}

#[test]
fn a_container_is_suspected_only_where_something_fails() {
    let inside = Machine {
        container: Some("docker".to_owned()),
        seccomp: Some(2),
        initial_pid_namespace: Some(false),
        ..good()
    };
    assert_eq!(not_good(&works(inside.clone())), ["process numbers"]);
    let failed = fails(inside);
    assert_eq!(
        not_good(&failed),
        ["container", "seccomp", "process numbers"]
    );
    let mend = found(&failed, "seccomp").mend.expect("a way");
    assert!(mend.contains("--cap-add PERFMON"), "{mend}");
}

#[test]
fn what_a_kernel_lacks_is_worked_around_or_named() {
    let mut diagnosis = works(good());
    diagnosis.features = vec![
        (Feature::MappableArrays, Presence::Absent),
        (Feature::SavedRegisters, Presence::Absent),
        (Feature::Bpf, Presence::Unknown),
    ];
    diagnosis.records = Some(Err("no ring".to_owned()));
    let arrays = found(&diagnosis, Feature::MappableArrays.name());
    assert_eq!(
        (arrays.verdict, &*arrays.value),
        (Verdict::Missing, "no (Linux 5.5)")
    );
    assert!(arrays.mend.is_some());
    let registers = found(&diagnosis, Feature::SavedRegisters.name());
    assert_eq!(registers.verdict, Verdict::Otherwise);
    assert!(
        registers
            .remark
            .is_some_and(|remark| remark.ends_with("by the user stack"))
    );
    assert_eq!(found(&diagnosis, "bpf(2)").verdict, Verdict::Unknown);
    let records = found(&diagnosis, "records of what processes map, start and end");
    assert_eq!(
        (records.verdict, &*records.value),
        (Verdict::Otherwise, "no (no ring)")
    );
}

#[test]
fn the_object_is_that_of_the_manifest() {
    let (name, digest) = bpf_object();
    assert!(name.starts_with("profil-") && name.ends_with(".bpf.o"));
    assert_eq!(digest.len(), 64, "{digest}");
    assert!(digest.bytes().all(|digit| digit.is_ascii_hexdigit()));
}
