use super::{ALL, everything, row, window};
use crate::serve::history::{Grouping, History, MINUTE};

/// A day of a busy machine: what it takes, when somebody asks for it.
#[test]
#[ignore = "measures, and takes a while without optimization"]
fn a_day() {
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
    let started = std::time::Instant::now();
    for second in (0..1440 * MINUTE).step_by(5) {
        let rows = (0..970).map(|_| {
            let mut row = names[(draw().powi(3) * names.len() as f64) as usize].clone();
            row.address += (draw() * 16.0) as u64 * 2;
            row
        });
        history.enter(&window(second, rows.collect()));
    }
    let entered = started.elapsed();
    let started = std::time::Instant::now();
    let selection = everything(&history, Grouping::Function);
    let selected = started.elapsed();
    let started = std::time::Instant::now();
    let timeline = history.timeline(ALL, 12);
    let drawn = started.elapsed();
    let bytes = history.bytes();
    let all = format!(
        "{} minutes, {bytes} bytes, {} functions; entered in {entered:?}, selected in {selected:?}, minutes in {drawn:?}",
        timeline.moments.len(),
        selection.items.len()
    );
    assert_eq!(history.losses().forgotten, 0, "{all}");
    assert!(bytes < 64 << 20, "{all}");
    assert!(
        entered.as_secs() < 1440 * MINUTE / 100 && selected.as_secs() < 5 && drawn.as_secs() < 1,
        "{all}"
    );
}
