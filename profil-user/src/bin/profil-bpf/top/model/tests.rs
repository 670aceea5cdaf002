//! Sums and windows, of ticks that are made up.

use std::{sync::Arc, time::Duration};

use profil_user::{Balance, Object, ObjectId, ObjectKind, Task};

use super::{Cell, Labels, Model, SECONDS, Spot, Ticks, Update};

/// A clock of 1000 Hz.
pub(crate) const PERIOD_NS: f64 = 1e6;

/// A function of a process, both by number; the object is the first.
pub(crate) fn cell(process: usize, name: &str) -> Cell {
    Cell::At {
        process: Some(process),
        spot: spot(name),
    }
}

pub(crate) fn spot(name: &str) -> Spot {
    Spot {
        object: ObjectId::new(0),
        address: 0x1000,
        name: Ok(name.into()),
    }
}

pub(crate) const fn ticks(user: u64, system: u64) -> Ticks {
    Ticks { user, system }
}

/// One object and two processes.
pub(crate) fn labels() -> Labels {
    let object = |path: &str| Object {
        kind: ObjectKind::File {
            path: path.into(),
            class: None,
        },
        is_main: false,
        build_id: None,
        text: Vec::new(),
    };
    let task = |tgid, name: &str| Task {
        tgid,
        tid: None,
        name: name.to_owned(),
        inner: None,
    };
    Labels {
        objects: vec![object("/usr/bin/hot"), object("/usr/lib/libcold.so.1")],
        tasks: vec![task(4242, "hot"), task(77, "cold")],
    }
}

/// What is known after so many milliseconds.
pub(crate) fn update(milliseconds: u64, gains: Vec<(Cell, Ticks)>) -> Update {
    Update {
        elapsed: Duration::from_millis(milliseconds),
        paused: false,
        balance: Balance {
            period_ns: PERIOD_NS,
            ..Balance::default()
        },
        own: 0.004,
        labels: Arc::new(labels()),
        anew: false,
        gains,
    }
}

fn sums_of(model: &Model, wanted: &Cell) -> (u64, u64, u64) {
    let found = model.cells().find(|(_, cell, _)| *cell == wanted);
    let (.., sums) = found.expect("a cell");
    (sums.now.all(), sums.ten.all(), sums.all.all())
}

#[test]
fn ticks_are_in_the_windows_of_their_seconds() {
    let mut model = Model::default();
    let a = cell(0, "a");
    for second in 1..=15 {
        model.ingest(update(1000 * second, vec![(a.clone(), ticks(second, 0))]));
    }
    // 15, 6 + … + 15, and 1 + … + 15.
    assert_eq!(sums_of(&model, &a), (15, 105, 120));
    assert_eq!((model.windows.now, model.windows.ten), (1.0, 10.0));
    model.ingest(update(16_000, Vec::new()));
    assert_eq!(sums_of(&model, &a), (0, 99, 120));
    let busy = model.cpus(model.total().ten, model.windows.ten);
    assert!((busy - 0.0099).abs() < 1e-12, "{busy}");
}

#[test]
fn short_snapshots_make_a_second_and_long_ones_are_no_shorter() {
    let mut model = Model::default();
    let a = cell(0, "a");
    for tenth in 1..=19 {
        model.ingest(update(100 * tenth, vec![(a.clone(), ticks(10, 5))]));
    }
    // Twice nine tenths are two seconds, and the last one is not over.
    assert_eq!(sums_of(&model, &a), (135, 270, 285));
    assert!((model.windows.now - 0.9).abs() < 1e-9);
    model.ingest(update(4900, vec![(a.clone(), ticks(10, 0))]));
    assert_eq!(sums_of(&model, &a), (25, 295, 295));
    assert!((model.windows.now - 3.1).abs() < 1e-9);
}

#[test]
fn a_second_that_is_longer_than_both_windows_is_in_both() {
    let mut model = Model::default();
    let a = cell(0, "a");
    model.ingest(update(1000, vec![(a.clone(), ticks(7, 0))]));
    // Names took half a minute to look up.
    model.ingest(update(31_000, vec![(a.clone(), ticks(300, 0))]));
    assert_eq!(sums_of(&model, &a), (300, 300, 307));
    assert_eq!((model.windows.now, model.windows.ten), (30.0, 30.0));
}

#[test]
fn a_pause_is_no_time() {
    let mut model = Model::default();
    let a = cell(0, "a");
    model.ingest(update(1000, vec![(a.clone(), ticks(7, 0))]));
    for _ in 0..100 {
        model.ingest(update(1000, Vec::new()));
    }
    assert_eq!(sums_of(&model, &a), (7, 7, 7));
}

#[test]
fn the_past_is_bounded() {
    let mut model = Model::default();
    for second in 1..=200 {
        model.ingest(update(1000 * second, vec![(cell(0, "a"), ticks(1, 0))]));
    }
    assert_eq!(model.seconds().count(), SECONDS);
}

#[test]
fn what_has_no_room_is_added_up_and_nothing_is_lost() {
    let mut model = Model::with_room(10);
    let hot = cell(0, "hot");
    let mut due = (0, 0, 0);
    for second in 1..=40_u64 {
        let mut gains = vec![(hot.clone(), ticks(1000, 0))];
        for number in 0..7 {
            gains.push((cell(1, &format!("f{second}_{number}")), ticks(1, 2)));
        }
        model.ingest(update(1000 * second, gains));
        due = (1021, 1021 * second.min(10), 1021 * second);
        let total = model.total();
        let found = (total.now.all(), total.ten.all(), total.all.all());
        assert_eq!(found, due, "after {second} s");
        assert!(model.cells().count() <= 11);
    }
    assert_eq!(sums_of(&model, &hot), (1000, 10_000, 40_000));
    let of_seconds: f64 = model
        .seconds()
        .take(10)
        .flatten()
        .map(|(_, rate)| rate)
        .sum();
    assert!((of_seconds - due.1 as f64).abs() < 1e-6, "{of_seconds}");
}

#[test]
fn what_is_void_is_forgotten() {
    let mut model = Model::default();
    model.ingest(update(1000, vec![(cell(0, "a"), ticks(7, 0))]));
    model.ingest(Update {
        anew: true,
        ..update(2000, vec![(cell(0, "b"), ticks(3, 0))])
    });
    assert_eq!(model.total().all.all(), 3);
    assert!((model.windows.all - 2.0).abs() < 1e-9);
}
