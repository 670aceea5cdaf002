//! What the running kernel can do, and what is done where it cannot.

use std::process::Command;

use profil_tests::{
    Finished, Profiler, Target, Workload, claim_machine, places, require_programs, session,
};

fn doctor() -> Finished {
    Profiler::new().arg("doctor").run()
}

/// Whether `doctor` says that the kernel has something.
#[track_caller]
fn has(doctor: &Finished, feature: &str) -> bool {
    let line = doctor
        .stdout
        .lines()
        .find(|line| line.contains(feature))
        .unwrap_or_else(|| panic!("no word of {feature}:\n{}", doctor.stdout));
    match line.split_whitespace().next() {
        Some("ok") => true,
        Some("instead" | "missing") => false,
        _ => panic!("root may try everything: {line}"),
    }
}

/// The number before `word` in a line of words.
fn number_before(line: &str, word: &str) -> Option<f64> {
    let words: Vec<_> = line.split_whitespace().collect();
    let at = words.iter().position(|found| *found == word)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

#[test]
fn doctor_tries_the_whole_kernel_half() {
    let _machine = claim_machine!();
    let doctor = doctor();
    doctor.assert_code(0).assert_no_panic();
    for feature in [
        "bpf(2)",
        "perf_event_open(2)",
        "BPF_F_MMAPABLE",
        "BPF ring buffers",
    ] {
        assert!(has(&doctor, feature), "{}", doctor.stdout);
    }
    assert!(has(&doctor, "to load and attach") && has(&doctor, "CAP_SYS_PTRACE"));
    let missing = |line: &str| line.starts_with("missing");
    assert!(!doctor.stdout.lines().any(missing), "{}", doctor.stdout);
    let line_of = |start: &str| {
        let mut lines = doctor.stdout.lines();
        lines
            .find(|line| line.starts_with(start))
            .unwrap_or_else(|| panic!("no {start}:\n{}", doctor.stdout))
    };
    let program = line_of("BPF program profil_tick: ");
    let instructions = number_before(program, "instructions,").expect(program);
    let processed = number_before(program, "processed").expect(program);
    // Straight code with one short loop: the verifier has to see most of it, some of it often.
    assert!(
        instructions > 50.0 && processed > instructions && processed < 100_000.0,
        "{program}"
    );
    let trial = line_of("trial: ");
    let counted = number_before(trial, "ticks").expect(trial);
    assert!((80.0..=120.0).contains(&counted), "{trial}");
}

#[test]
fn system_time_is_charged_by_what_the_kernel_has() {
    let _machine = claim_machine!();
    let doctor = doctor();
    let by_registers = doctor.stdout.contains("charged by the saved registers");
    assert_eq!(
        by_registers,
        has(&doctor, "bpf_task_pt_regs"),
        "{}",
        doctor.stdout
    );
    assert!(by_registers || doctor.stdout.contains("charged by the user stack"));
}

/// Before Linux 5.11 maps count against RLIMIT_MEMLOCK, and only root can raise it.
#[test]
fn a_small_limit_of_locked_memory() {
    let _machine = claim_machine!();
    let counts_against_it = !has(&doctor(), "outside of RLIMIT_MEMLOCK");
    let mut target = Target::start(Workload::Pie);
    let pid = target.pid();
    require_programs!("setpriv");
    // By its path: a shell may have a smaller one built in.
    let setpriv = places::on_path("setpriv").expect("it was found a line above");
    let script = format!(
        "ulimit -l 64 && exec {} --bounding-set=-sys_resource --inh-caps=-all --nnp -- \
         \"$0\" \"$@\"",
        setpriv.display()
    );
    let limited = |capable: bool| {
        let mut command = Command::new("sh");
        let script = if capable {
            "ulimit -S -l 64 && exec \"$0\" \"$@\""
        } else {
            &script
        };
        command.args(["-c", script]).arg(places::profil_bpf());
        Profiler::by(command).on_pid(pid, session::RATE)
    };

    let refused = limited(false).args(["-d", "300ms"]).run();
    if counts_against_it {
        refused.assert_code(1).assert_clear_error();
        refused
            .assert_says("rlimit_memlock")
            .assert_says("ulimit -l");
    } else {
        refused.assert_code(0).assert_no_panic();
    }

    // Root has the limit raised without noticing.
    let profiler = limited(true);
    let session = session::take(&mut target, profiler, session::RATE, session::window());
    session.assert_shares();
    session.report.assert_most_ticks_seen();
}
