use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use proptest::prelude::*;

use super::{Book, Room, Spent};
use crate::serve::{
    recorder::BEGINNING,
    row::{ObjectLabel, ProcessLabel, Row, Spot, Window},
};

const TURN: Duration = Duration::from_secs(2);
const HOUR: Duration = Duration::from_secs(3600);

fn row(process: &str, object: &str, function: &str, user: u64, system: u64) -> Row {
    Row {
        process: Arc::new(ProcessLabel {
            tgid: 1,
            name: process.into(),
            cgroup: format!("/{process}").into(),
            container: None,
        }),
        spot: Arc::new(Spot {
            object: Arc::new(ObjectLabel {
                name: object.into(),
                path: format!("/lib/{object}").into(),
                build_id: None,
            }),
            function: function.into(),
            start: Some(0),
        }),
        address: 0,
        user,
        system,
    }
}

fn window(rows: Vec<Row>) -> Window {
    Window {
        began: SystemTime::UNIX_EPOCH,
        elapsed: TURN,
        period_ns: 10,
        rows,
    }
}

/// Every tick is in exactly one series of each kind.
fn assert_exact(book: &Book) {
    let sum = |parts: &mut dyn Iterator<Item = Spent>| {
        parts.fold(Spent::default(), |mut sum, part| {
            sum.add(part);
            sum
        })
    };
    let [functions, processes, cgroups] = book.retired().map(|(_, spent)| spent);
    let by_function = book.functions().map(|(_, spent)| spent);
    let others = book.others().map(|(_, spent)| spent);
    let mut by_function = by_function.chain(others).chain([book.other(), functions]);
    assert_eq!(sum(&mut by_function), book.machine());
    let mut by_process = book.processes().map(|(_, spent)| spent);
    assert_eq!(
        sum(&mut by_process.by_ref().chain([book.other(), processes])),
        book.machine()
    );
    let mut by_cgroup = book.cgroups().map(|(_, spent)| spent);
    assert_eq!(
        sum(&mut by_cgroup.by_ref().chain([book.other_cgroups(), cgroups])),
        book.machine()
    );
}

fn of_function(book: &Book, function: &str) -> Option<Spent> {
    let mut functions = book.functions();
    functions
        .find(|(key, _)| &*key.function == function)
        .map(|(_, spent)| spent)
}

#[test]
fn who_is_heavy_is_shown_from_then_on() {
    let mut book = Book::new(Room::of(200), HOUR);
    for turn in 0..10 {
        let rows = vec![
            row("app", "app", "hot", 90, 10),
            row("app", "libc", "cold", 0, 1),
        ];
        book.enter(&window(rows), TURN * turn);
        assert_exact(&book);
    }
    // Three turns for the process, and while it has no seat its functions cannot have one.
    let hot = of_function(&book, "hot").unwrap();
    assert!(hot.user >= 5 * 900 && hot.user < 10 * 900, "{hot:?}");
    assert_eq!(hot.user / hot.system, 9);
    assert_eq!(
        book.machine(),
        Spent {
            user: 9000,
            system: 1100
        }
    );
}

#[test]
fn a_series_stays_for_as_long_as_it_is_not_cold() {
    let mut book = Book::new(Room::of(200), HOUR);
    for turn in 0..10 {
        book.enter(&window(vec![row("app", "app", "hot", 9, 0)]), TURN * turn);
    }
    let had = of_function(&book, "hot").unwrap();
    let last = TURN * 9;
    let others = || window(vec![row("new", "new", "busy", 90, 0)]);
    book.enter(&others(), last + HOUR);
    assert_eq!(of_function(&book, "hot"), Some(had));
    book.enter(&others(), last + HOUR + TURN);
    assert_eq!(of_function(&book, "hot"), None);
    assert!(book.retired()[0].1.user >= had.user);
    assert_exact(&book);
}

/// It costs its own `other`: neither memory, nor anybody else's series.
#[test]
fn whoever_has_a_thousand_names_gets_no_series() {
    let mut book = Book::new(Room::of(200), HOUR);
    let mut number = 0;
    for turn in 0..500 {
        let mut rows: Vec<_> = (0..97)
            .map(|_| {
                number += 1;
                row(&format!("evil{number}"), "evil", "spin", 1, 0)
            })
            .collect();
        rows.extend((0..97).map(|part| row("mapper", &format!("lib{turn}.{part}"), "spin", 1, 0)));
        rows.push(row("good", "good", "work", 20, 0));
        book.enter(&window(rows), TURN * turn);
        assert!(book.series() <= 200, "{}", book.series());
    }
    assert_exact(&book);
    let names: Vec<_> = book.processes().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["good", "mapper"]);
    assert!(of_function(&book, "work").unwrap().user > 490 * 200);
    let others: Vec<_> = book
        .others()
        .map(|(name, spent)| (name.to_string(), spent.user))
        .collect();
    assert!(
        others[1].0 == "mapper" && others[1].1 > 490 * 970,
        "{others:?}"
    );
    assert!(book.labels.0.len() <= super::label::MOST + 97 * 4);
}

#[test]
fn the_limit_is_hard() {
    for limit in [10, 11, 12, 20, 100, 1000, 5000] {
        let mut book = Book::new(Room::of(limit), HOUR);
        for turn in 0..8 {
            let rows = (0..900).map(|number| {
                let process = format!("p{}", number % 300);
                row(&process, &process, &format!("f{number}"), 1000, 1)
            });
            book.enter(&window(rows.collect()), TURN * turn);
        }
        assert!(book.series() <= limit, "{limit}: {}", book.series());
        assert_exact(&book);
    }
}

#[test]
fn a_state_is_gone_on_with() {
    let mut book = Book::new(Room::of(200), HOUR);
    for turn in 0..10 {
        let rows = vec![row("app", "app", "hot", 9, 1), row("b", "b", "x", 1, 0)];
        book.enter(&window(rows), TURN * turn);
    }
    let state = book.to_state(TURN * 9);
    let mut next = Book::new(Room::of(200), HOUR);
    assert!(next.go_on_with(state.clone(), Duration::ZERO));
    assert_eq!(next.to_state(Duration::ZERO), state);
    assert_exact(&next);
    // With less room, some are shown no more, and nothing is lost.
    let mut small = Book::new(Room::of(20), HOUR);
    assert!(small.go_on_with(state, Duration::ZERO));
    assert_exact(&small);
    assert_eq!(small.machine(), book.machine());
    assert!(small.series() <= 20);
    assert!(!small.go_on_with(super::BookState::default(), Duration::ZERO));
}

#[test]
fn who_was_cold_for_a_daemon_is_as_cold_for_the_next() {
    let mut book = Book::new(Room::of(200), HOUR);
    for turn in 0..9 {
        book.enter(&window(vec![row("app", "app", "hot", 9, 1)]), TURN * turn);
    }
    let state = book.to_state(TURN * 9 + HOUR / 2);
    let mut next = Book::new(Room::of(200), HOUR);
    assert!(next.go_on_with(state, BEGINNING));
    next.enter(&window(Vec::new()), BEGINNING + HOUR / 4);
    assert_eq!(next.processes().count(), 1);
    next.enter(&window(Vec::new()), BEGINNING + HOUR / 2);
    assert_eq!((next.processes().count(), next.functions().count()), (0, 0));
    assert_eq!(next.machine(), book.machine());
    assert_exact(&next);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No series goes back, whatever ticks, and the sums are exact after every turn.
    #[test]
    fn nothing_goes_back(
        turns in prop::collection::vec(
            prop::collection::vec((0_u8..6, 0_u8..4, 0_u8..4, 0_u64..50, 0_u64..50), 0..20),
            1..40,
        ),
        cold_turns in 1_u32..10,
        limit in 10_usize..60,
    ) {
        let mut book = Book::new(Room::of(limit), TURN * cold_turns);
        let mut before = std::collections::BTreeMap::new();
        for (turn, rows) in turns.into_iter().enumerate() {
            let rows = rows.into_iter().map(|(process, object, function, user, system)| {
                row(&format!("p{process}"), &format!("o{object}"), &format!("f{function}"), user, system)
            });
            book.enter(&window(rows.collect()), TURN * turn as u32);
            assert_exact(&book);
            let now: std::collections::BTreeMap<_, _> = book
                .functions()
                .map(|(key, spent)| (key.clone(), spent))
                .collect();
            for (key, spent) in &now {
                if let Some(old) = before.get(key) {
                    let old: &Spent = old;
                    prop_assert!(spent.user >= old.user && spent.system >= old.system);
                }
            }
            before = now;
        }
    }
}
