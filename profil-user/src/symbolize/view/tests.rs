//! Rows of tasks that are kept apart.

use super::{NotApart, View};
use crate::{
    profile::{Count, Object, ObjectId, ObjectKind, Task, TaskId},
    symbolize::{Grouping, Place, Sieve, Symbolizer, Ticks},
};

fn task(tgid: u32, tid: u32, name: &str) -> Task {
    Task {
        tgid,
        tid: Some(tid),
        name: name.to_owned(),
        inner: None,
    }
}

fn count(address: u64, user: u64) -> Count {
    Count {
        object: ObjectId::new(0),
        address,
        user,
        system: 0,
    }
}

/// Two threads of process 7, one of process 9, and ticks of nobody.
#[track_caller]
fn assert_rows(grouping: Grouping, min_percent: f64, expected: &[(&str, u64)]) {
    let objects = [Object {
        kind: ObjectKind::Vdso,
        is_main: false,
        build_id: None,
        text: Vec::new(),
    }];
    let tasks = [
        task(7, 8, "worker"),
        task(7, 7, "main"),
        task(9, 9, "other"),
    ];
    let of = |task, address, user| (TaskId::new(task), count(address, user));
    let by_task = [
        of(0, 1, 1),
        of(1, 1, 3),
        of(2, 1, 2),
        of(2, 2, 4),
        of(3, 2, 10),
    ];
    let counts = [count(1, 6), count(2, 14)];
    let view = View {
        grouping,
        sieve: Sieve {
            min_percent,
            ..Sieve::default()
        },
    };
    let ticks = Ticks::for_tests(&objects, &counts, (&tasks, &by_task));
    let rows = view.rows(ticks, &Symbolizer::with_debug_dirs(Vec::new()));
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.name.as_deref().unwrap_or("-"), row.ticks()))
        .collect();
    assert_eq!(found, expected);
    let is_of_all = |place: &Place| matches!(place, Place::Task(_));
    assert!(rows.iter().all(|row| is_of_all(&row.place) == (row.task == TaskId::ALL && grouping.is_of_tasks())));
}

#[test]
fn threads_of_a_process_are_one_row() {
    assert_rows(
        Grouping::Process,
        0.0,
        &[
            ("pid 9 (other)", 10),
            ("pid 7 (main)", 9),
            ("(nobody knows whose)", 1),
        ],
    );
}

#[test]
fn threads_have_rows_of_their_own() {
    assert_rows(
        Grouping::Thread,
        0.0,
        &[
            ("pid 9, tid 9 (other)", 10),
            ("pid 7, tid 7 (main)", 6),
            ("pid 7, tid 8 (worker)", 3),
            ("(nobody knows whose)", 1),
        ],
    );
}

#[test]
fn the_least_share_is_of_all_or_of_the_task() {
    assert_rows(
        Grouping::Process,
        45.0,
        &[("pid 9 (other)", 10), ("pid 7 (main)", 9)],
    );
    // Of thread 7: 2 and 4 of 6 ticks.
    assert_rows(
        Grouping::Address,
        40.0,
        &[("-", 10), ("-", 4), ("-", 3), ("-", 1)],
    );
}

#[test]
fn what_was_not_kept_apart_cannot_be_shown_apart() {
    let fits = |grouping, tasks: &[Task]| {
        let view = View {
            grouping,
            ..View::default()
        };
        view.fits(tasks)
    };
    let process = Task {
        tid: None,
        ..task(7, 7, "main")
    };
    assert_eq!(fits(Grouping::Process, &[]), Err(NotApart::Processes));
    assert_eq!(
        fits(Grouping::Process, std::slice::from_ref(&process)),
        Ok(())
    );
    assert_eq!(fits(Grouping::Thread, &[process]), Err(NotApart::Threads));
    assert_eq!(fits(Grouping::Thread, &[task(7, 7, "main")]), Ok(()));
    assert_eq!(fits(Grouping::Object, &[]), Ok(()));
}
