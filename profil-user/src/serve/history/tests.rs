mod day;
mod disk;

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use proptest::prelude::*;

use super::{Filter, Grouping, History, Limits, MINUTE, OTHER, Selection, Span};
use crate::serve::{ObjectLabel, ProcessLabel, Row, Spot, Window};

const PERIOD: u64 = 10_000_000;
const ALL: Span = Span::Minutes(0, u64::MAX);

fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}

fn row(tgid: u32, name: &str, object: &str, function: &str, address: u64, ticks: [u64; 2]) -> Row {
    Row {
        process: Arc::new(ProcessLabel {
            tgid,
            name: name.into(),
            cgroup: "/system.slice".into(),
            container: None,
        }),
        spot: Arc::new(Spot {
            object: Arc::new(ObjectLabel {
                name: object.into(),
                path: format!("/usr/lib/{object}").into(),
                build_id: None,
            }),
            function: function.into(),
            start: Some(address & !0xff),
        }),
        address,
        user: ticks[0],
        system: ticks[1],
    }
}

fn window(second: u64, rows: Vec<Row>) -> Window {
    Window {
        began: at(second),
        elapsed: Duration::from_secs(5),
        period_ns: PERIOD,
        rows,
    }
}

fn small() -> Limits {
    Limits {
        minutes: 5,
        cells: 60,
        processes: 8,
        ..Limits::default()
    }
}

fn everything(history: &History, grouping: Grouping) -> Selection {
    history.select(ALL, &Filter::default(), grouping)
}

fn ticks_of(selection: &Selection, name: impl Fn(&super::Item) -> bool) -> u64 {
    let items = selection.items.iter().filter(|item| name(item));
    items.map(|item| item.cost.ticks()).sum()
}

#[test]
fn rows_are_found_by_process_object_function_and_address() {
    let mut history = History::default();
    history.enter(&window(
        60,
        vec![
            row(1, "nginx", "nginx", "parse", 0x1000, [6, 2]),
            row(2, "nginx", "libc.so.6", "memcpy", 0x5000, [1, 1]),
            row(3, "bash", "libc.so.6", "memcpy", 0x5010, [10, 0]),
        ],
    ));
    let shown = |grouping| -> Vec<_> {
        let items = everything(&history, grouping).items;
        items
            .iter()
            .map(|item| (item.spot.function.to_string(), item.cost.ticks()))
            .collect()
    };
    assert_eq!(
        shown(Grouping::Function),
        [("memcpy".to_owned(), 12), ("parse".to_owned(), 8)]
    );
    assert_eq!(shown(Grouping::Object).len(), 2);
    assert_eq!(shown(Grouping::Address).len(), 3);
    let filter = Filter {
        process: Some("nginx".to_owned()),
        ..Filter::default()
    };
    let nginx = history.select(ALL, &filter, Grouping::Function);
    assert_eq!(
        (
            nginx.matched.user,
            nginx.matched.system,
            nginx.total.ticks()
        ),
        (7, 3, 20)
    );
    assert_eq!(nginx.total.ns(), 20 * PERIOD);
    let share = nginx.items[0].cost.share_of(&nginx.matched);
    assert!((share - 0.8).abs() < 1e-9, "{share}");
    let now = history.select(Span::Now, &filter, Grouping::Function);
    assert_eq!(now, nginx);
}

#[test]
fn spans_are_kept_apart_and_compared() {
    let mut history = History::default();
    for minute in 1..=10 {
        let hot = if minute > 5 { 900 } else { 500 };
        history.enter(&window(
            minute * MINUTE,
            vec![
                row(1, "a", "a", "hot", 0x100, [hot, 0]),
                row(1, "a", "a", "cold", 0x200, [1000 - hot, 0]),
                row(1, "a", "a", "rare", 0x300, [0, 1]),
            ],
        ));
    }
    let half = |from: u64, until: u64| Span::Minutes(from * MINUTE, until * MINUTE);
    let (changes, sides) = history.compare(
        [half(1, 6), half(6, 11)],
        &Filter::default(),
        Grouping::Function,
    );
    assert_eq!(sides.map(|side| side.total.ticks()), [5005, 5005]);
    let change = |name: &str| {
        changes
            .iter()
            .find(|change| &*change.item.spot.function == name)
            .unwrap()
    };
    assert!((change("hot").change() - 2000.0 / 5005.0).abs() < 1e-9);
    assert!(change("hot").is_significant() && change("cold").is_significant());
    assert!(!change("rare").is_significant());
    let timeline = history.timeline(ALL, 3);
    assert_eq!(timeline.moments.len(), 10);
    assert_eq!(timeline.strips[0].ns, [1001 * PERIOD; 10]);
}

/// A process with ten thousand objects takes no cell from the others.
#[test]
fn a_loud_process_costs_its_own_cells() {
    let mut history = History::new(small());
    let mut rows: Vec<_> = (0..10_000)
        .map(|number| row(1, "loud", &format!("lib{number}"), "f", 0x100, [5, 0]))
        .collect();
    rows.extend((0..3).map(|number| {
        row(
            2,
            "quiet",
            "quiet",
            &format!("q{number}"),
            0x100 * number,
            [1, 0],
        )
    }));
    history.enter(&window(60, rows));
    history.close();
    let functions = everything(&history, Grouping::Function);
    assert!(functions.items.len() <= small().cells);
    for name in ["q0", "q1", "q2"] {
        assert_eq!(
            ticks_of(&functions, |item| &*item.spot.function == name),
            1,
            "{name}"
        );
    }
    let processes = everything(&history, Grouping::Process);
    assert_eq!(
        ticks_of(&processes, |item| &*item.owner.name == "loud"),
        50_000
    );
    assert_eq!(ticks_of(&processes, |item| &*item.owner.name == OTHER), 0);
}

/// One that renames itself all the time is known by its first name, and all its ticks are there.
#[test]
fn a_process_has_few_names() {
    let mut history = History::new(small());
    for second in 0..10 {
        let mut rows: Vec<_> = (0..1000)
            .map(|number| {
                row(
                    1,
                    &format!("name{second}-{number}"),
                    "a",
                    "f",
                    0x100,
                    [2, 0],
                )
            })
            .collect();
        rows.push(row(2, "quiet", "quiet", "q", 0x100, [1, 0]));
        history.enter(&window(60 + 5 * second, rows));
    }
    let processes = everything(&history, Grouping::Process);
    assert_eq!(processes.items.len(), 5);
    assert_eq!(
        ticks_of(&processes, |item| &*item.owner.name == "name0-0"),
        20_000 - 6
    );
    assert_eq!(
        ticks_of(&processes, |item| &*item.owner.name == "quiet"),
        10
    );
}

/// Many processes with a name each: the heaviest are kept.
#[test]
fn there_are_few_processes() {
    let mut history = History::new(small());
    let rows = (0..500).map(|tgid| {
        row(
            tgid,
            &format!("p{tgid}"),
            "a",
            "f",
            0x100,
            [1 + u64::from(tgid == 77), 0],
        )
    });
    history.enter(&window(60, rows.collect()));
    let processes = everything(&history, Grouping::Process);
    assert_eq!(processes.items.len(), small().processes);
    assert_eq!(&*processes.items[0].owner.name, OTHER);
    assert_eq!(&*processes.items[1].owner.name, "p77");
    assert_eq!(processes.total.ticks(), 501);
}

#[test]
fn names_are_forgotten_with_the_minutes_that_spoke_of_them() {
    let mut history = History::new(small());
    let mut most = 0;
    for minute in 0..100 {
        let rows =
            (0..50).map(|number| row(1, "a", "a", &format!("f{minute}-{number}"), 0x100, [1, 0]));
        history.enter(&window(minute * MINUTE, rows.collect()));
        if minute == 10 {
            most = history.bytes();
        }
    }
    assert!(
        history.bytes() <= most + most / 10,
        "{} of {most}",
        history.bytes()
    );
    assert_eq!(history.minutes(), 6);
}

#[test]
fn memory_is_bounded_by_forgetting_the_oldest() {
    let limits = Limits {
        bytes: 1 << 20,
        cells: 500,
        ..Limits::default()
    };
    let mut history = History::new(limits);
    for minute in 0..300 {
        let long = "x".repeat(2000);
        let rows = (0..500).map(|number| {
            row(
                number,
                "a",
                "a",
                &format!("{minute}-{number}{long}"),
                0x100,
                [1, 0],
            )
        });
        history.enter(&window(minute * MINUTE, rows.collect()));
        history.close();
        assert!(history.bytes() <= 2 << 20, "{}", history.bytes());
    }
    assert!(history.losses().forgotten > 0);
    assert!(history.minutes() > 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is folded, no tick is lost, in memory or on disk, nor is one counted twice.
    #[test]
    fn ticks_are_conserved(
        windows in prop::collection::vec(
            (0..400_u64, 1..4_u64, prop::collection::vec(
                (0..20_u32, "[a-d]{0,2}", "[a-c]?", "\\PC{0,2}", any::<u64>(), [0..1000_u64, 0..3_u64]), 0..60)),
            1..12,
        ),
        cells in 4..80_usize,
        processes in 2..10_usize,
    ) {
        let limits = Limits { cells, processes, ..Limits::default() };
        let dir = tempfile::tempdir().unwrap();
        let mut history = History::open(dir.path(), limits).unwrap();
        let (mut entered, mut user, mut ns) = (0, 0, 0);
        for (second, period, rows) in windows {
            let rows: Vec<_> = rows.iter().map(|(tgid, name, object, function, address, ticks)| {
                row(*tgid, name, object, function, *address, *ticks)
            }).collect();
            for row in &rows {
                entered += row.ticks();
                user += row.user;
                ns += row.ticks() * period;
            }
            history.enter(&Window { period_ns: period, ..window(second, rows) });
        }
        let of = |history: &History, grouping| {
            let selection = everything(history, grouping);
            let total: u64 = selection.items.iter().map(|item| item.cost.ticks()).sum();
            (total, selection.total.ticks(), selection.total.user, selection.total.ns())
        };
        let wanted = (entered, entered, user, ns);
        for grouping in [Grouping::Process, Grouping::Object, Grouping::Function, Grouping::Address] {
            prop_assert_eq!(of(&history, grouping), wanted);
        }
        drop(history);
        prop_assert_eq!(of(&History::open(dir.path(), limits).unwrap(), Grouping::Address), wanted);
    }
}
