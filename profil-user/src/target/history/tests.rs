//! What is known of processes, and for how long.

use super::{History, MOST_SPANS};
use crate::{
    profile::ObjectId,
    target::mappings::{Backing, Mapping},
};

const A: ObjectId = ObjectId::new(1);
const B: ObjectId = ObjectId::new(2);

fn mapping(start: u64, end: u64) -> Mapping {
    Mapping {
        start,
        end,
        backing: Backing::Vdso,
    }
}

fn object(history: &History, tgid: u32, pc: u64, time: u64) -> Option<ObjectId> {
    history.place(tgid, pc, time).map(|span| span.object)
}

#[test]
fn an_address_is_what_lay_there_at_the_time() {
    let mut history = History::default();
    history.mapped(7, 0, mapping(0x1000, 0x3000), A);
    // The second half is reused.
    history.mapped(7, 50, mapping(0x2000, 0x3000), B);
    assert_eq!(object(&history, 7, 0x2000, 49), Some(A));
    assert_eq!(object(&history, 7, 0x2000, 50), Some(B));
    assert_eq!(object(&history, 7, 0x1fff, 60), Some(A));
    assert_eq!(object(&history, 7, 0x3000, 60), None);
    assert_eq!(object(&history, 8, 0x2000, 60), None);
}

#[test]
fn exec_leaves_nothing() {
    let mut history = History::default();
    history.mapped(7, 0, mapping(0x1000, 0x3000), A);
    history.exec(7, 100);
    history.mapped(7, 110, mapping(0x1000, 0x2000), B);
    assert_eq!(object(&history, 7, 0x1000, 99), Some(A));
    assert_eq!(object(&history, 7, 0x1000, 105), None);
    assert_eq!(object(&history, 7, 0x1000, 110), Some(B));
    assert_eq!(object(&history, 7, 0x2000, 110), None);
    let life = history.life(7, 120).unwrap();
    let call = |pc| history.place_of_call(7, pc, 105).map(|span| span.object);
    assert_eq!((call(0x1000), call(0x3000)), (Some(A), None));
    assert_eq!(life.executable(99), Some(A));
    assert_eq!(life.executable(120), Some(B));
}

#[test]
fn a_child_begins_as_its_parent_and_goes_its_own_way() {
    let mut history = History::default();
    history.mapped(7, 0, mapping(0x1000, 0x2000), A);
    history.named(7, 0, "sh");
    history.started(8, 7, 10);
    history.mapped(8, 20, mapping(0x5000, 0x6000), B);
    assert_eq!(object(&history, 8, 0x1000, 11), Some(A));
    assert_eq!(object(&history, 8, 0x5000, 21), Some(B));
    assert_eq!(object(&history, 7, 0x5000, 21), None);
    let name = |tgid, time| {
        history
            .life(tgid, time)
            .unwrap()
            .name(time)
            .unwrap()
            .to_string()
    };
    assert_eq!(name(8, 11), "sh");
}

#[test]
fn a_number_is_given_again() {
    let mut history = History::default();
    history.started(8, 1, 10);
    history.mapped(8, 11, mapping(0x1000, 0x2000), A);
    history.named(8, 12, "first");
    history.ended(8, 20);
    history.started(8, 1, 30);
    history.mapped(8, 31, mapping(0x1000, 0x2000), B);
    history.named(8, 32, "second");
    assert_eq!(object(&history, 8, 0x1000, 15), Some(A));
    assert_eq!(object(&history, 8, 0x1000, 35), Some(B));
    let name = |time| {
        history
            .life(8, time)
            .unwrap()
            .name(time)
            .unwrap()
            .to_string()
    };
    assert_eq!(
        (name(15), name(40)),
        ("first".to_owned(), "second".to_owned())
    );
    history.forget(25);
    assert_eq!(object(&history, 8, 0x1000, 35), Some(B));
    assert_eq!(history.life(8, 35).unwrap().start_ns(), 30);
}

#[test]
fn records_may_come_late() {
    let mut history = History::default();
    history.exec(7, 100);
    // Written by another CPU, read after.
    history.mapped(7, 50, mapping(0x1000, 0x2000), A);
    assert_eq!(object(&history, 7, 0x1000, 60), Some(A));
    assert_eq!(object(&history, 7, 0x1000, 101), None);
}

#[test]
fn whoever_changes_without_end_is_remembered_within_bounds() {
    let mut history = History::default();
    let number = |time: u64| 0x1000 * (time + 1);
    history.mapped(7, 0, mapping(0x100, 0x200), A);
    for time in 1..10_000 {
        history.named(7, time, "restless");
        history.mapped(7, time, mapping(number(time), number(time + 1)), B);
        if time % 1000 == 0 {
            history.exec(7, time);
            history.mapped(7, time, mapping(0x100, 0x200), A);
            history.forget(time - 500);
        }
    }
    let life = history.life(7, 10_000).unwrap();
    assert!(life.names.len() <= 2000, "{}", life.names.len());
    assert!(life.images.len() <= 3, "{}", life.images.len());
    assert_eq!(life.executable(10_000), Some(A));
    assert_eq!(object(&history, 7, number(9_999), 9_999), Some(B));
    assert_eq!(&**life.name(9_999).unwrap(), "restless");

    for time in 10_000..20_000 {
        history.mapped(7, time, mapping(number(time), number(time + 1)), B);
    }
    let life = history.life(7, 20_000).unwrap();
    assert!(life.image(20_000).spans.len() <= MOST_SPANS);
    assert_eq!(life.executable(20_000), Some(A));
    assert_eq!(object(&history, 7, number(19_999), 20_000), Some(B));
}

#[test]
fn what_lies_under_something_later_goes_first() {
    let mut history = History::default();
    history.mapped(7, 0, mapping(0x100, 0x200), A);
    // These two stay: nothing lies over all of them.
    history.mapped(7, 1, mapping(0x1000, 0x9000), A);
    history.mapped(7, 2, mapping(0x2000, 0xa000), A);
    for time in 3..2 * MOST_SPANS as u64 {
        let object = if time % 2 == 0 { A } else { B };
        history.mapped(7, time, mapping(0x3000, 0x4000), object);
    }
    for pc in [0x100, 0x1000, 0x2000, 0x9000] {
        assert_eq!(object(&history, 7, pc, u64::MAX), Some(A), "{pc:#x}");
    }
    assert_eq!(object(&history, 7, 0x3000, u64::MAX), Some(B));
}

#[cfg(feature = "serve")]
#[test]
fn whose_end_was_never_told_is_forgotten() {
    let mut history = History::default();
    for tgid in [7, 8, 9] {
        history.started(tgid, 1, 10);
        history.mapped(tgid, 10, mapping(0x1000, 0x2000), A);
    }
    // Another one has its number by now, and one has started since.
    history.started(8, 1, 50);
    history.started(10, 1, 101);
    let is_there = |tgid| tgid == 8 || tgid == 9;
    history.sweep(100, is_there);
    // Ticks of theirs may not be counted yet.
    assert_eq!(object(&history, 7, 0x1000, 99), Some(A));
    history.forget(101);
    assert_eq!(object(&history, 7, 0x1000, 99), None);
    assert_eq!(object(&history, 8, 0x1000, 49), None);
    assert_eq!(object(&history, 9, 0x1000, 99), Some(A));
    let starts = |tgid| history.life(tgid, 200).map(super::Life::start_ns);
    assert_eq!(
        [7, 8, 9, 10].map(starts),
        [None, Some(50), Some(10), Some(101)]
    );
}
