use super::{ALL, everything, row, window};
use crate::serve::history::{Grouping, History, MINUTE};

/// Of a day of a busy machine: enough of it to hold what a minute takes.
const MINUTES: u64 = 30;

#[test]
fn a_busy_machine_takes_so_much_memory() {
    let mut history = History::default();
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    // Two processors, busy: 97 Hz, in twelve windows a minute.
    let names: Vec<_> = (0..20_000_u64)
        .map(|number| {
            row(
                (number % 80) as u32,
                &format!("process{}", number % 80),
                &format!("lib{}.so", number % 200),
                &format!("some::module::of::a::program::function_{number}"),
                number * 256,
                [1, 0],
            )
        })
        .collect();
    for second in (0..MINUTES * MINUTE).step_by(5) {
        let rows = (0..970).map(|_| {
            let mut row = names[(draw().powi(3) * names.len() as f64) as usize].clone();
            row.address += (draw() * 16.0) as u64 * 2;
            row
        });
        history.enter(&window(second, rows.collect()));
    }
    let selection = everything(&history, Grouping::Function);
    let timeline = history.timeline(ALL, 12);
    let bytes = history.bytes();
    let all = format!(
        "{} minutes, {bytes} bytes, {} functions",
        timeline.moments.len(),
        selection.items.len()
    );
    assert_eq!(history.losses().forgotten, 0, "{all}");
    assert_eq!(timeline.moments.len() as u64, MINUTES, "{all}");
    // Names are held once; cells of a minute, packed, are a small part of a day's 64 MiB.
    assert!(
        bytes < (4 << 20) + MINUTES as usize * ((48 << 20) / 1440),
        "{all}"
    );
}
