//! `profil-bpf clock`: the clocks of the machine, without privileges.

use profil_tests::machine;

use crate::run;

#[test]
fn the_first_line_is_that_of_bsd() {
    let finished = run(["clock"]);
    finished.assert_code(0).assert_no_panic();
    let first = finished.stdout.lines().next().expect("a line");
    let tick = machine::kernel_tick();
    let hz = (1.0 / tick.as_secs_f64()).round();
    assert_eq!(
        first,
        format!(
            "kern.clockrate: {{ hz = {hz}, tick = {}, profhz = 997, stathz = 97 }}",
            tick.as_micros()
        )
    );
    for source in [
        "CLOCK_MONOTONIC_COARSE",
        "AT_CLKTCK",
        "our default",
        "perf_event_max_sample_rate",
        "clock_getres",
    ] {
        assert!(finished.stdout.contains(source), "{}", finished.stdout);
    }
}

#[test]
fn a_program_reads_the_same_numbers() {
    let finished = run(["clock", "--json"]);
    finished.assert_code(0).assert_no_panic();
    let value: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(value["profhz"]["value"], 997);
    assert_eq!(value["finest_period"]["value"], 10_000);
    assert_eq!(value["finest_period"]["unit"], "ns");
    let tick = u64::try_from(machine::kernel_tick().as_micros()).expect("not long");
    assert_eq!(value["tick"]["value"], tick);
    let figures = value.as_object().expect("an object");
    for (name, figure) in figures {
        assert!(figure["source"].is_string(), "{name}: {figure}");
    }
}
