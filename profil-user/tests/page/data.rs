//! What the page is shown with: half an hour, every number of which is known.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use profil_user::serve::{
    ObjectLabel, ProcessLabel, Row, Spot, Window,
    history::{History, Limits, MINUTE},
};

/// The first minute.
pub(crate) const BEGAN: u64 = 1_700_000_040;

/// How many there are. The last one is also what is "now".
pub(crate) const MINUTES: u64 = 30;

/// Minutes in which one process has a hundred functions, and another ten thousand.
pub(crate) const HUNDRED: u64 = 24;
pub(crate) const TEN_THOUSAND: u64 = 25;

/// Names that would do something, if anybody let them.
pub(crate) const HOSTILE: [&str; 4] = [
    "<script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "\u{202e}gpj.exe\u{200b}",
    "\u{1b}[31mred\"'&amp;",
];

pub(crate) fn row(
    process: &str,
    object: &str,
    function: &str,
    address: u64,
    ticks: [u64; 2],
) -> Row {
    Row {
        process: Arc::new(ProcessLabel {
            tgid: 1,
            name: process.into(),
            cgroup: format!("/system.slice/{process}.service").into(),
            container: None,
        }),
        spot: Arc::new(Spot {
            object: Arc::new(ObjectLabel {
                name: object.into(),
                path: "".into(),
                build_id: None,
            }),
            function: function.into(),
            start: Some(address),
        }),
        address,
        user: ticks[0],
        system: ticks[1],
    }
}

/// The same of a process with this number.
pub(crate) fn of_process(tgid: u32, row: Row) -> Row {
    let process = ProcessLabel {
        tgid,
        ..(*row.process).clone()
    };
    Row {
        process: Arc::new(process),
        ..row
    }
}

fn rows_of(minute: u64) -> Vec<Row> {
    let eval = if minute < 15 { 100 } else { 490 };
    let mut rows = vec![
        row("nginx", "nginx", "parse", 0x1000, [600, 200]),
        row("nginx", "libc.so.6", "memcpy", 0x2000, [200, 0]),
        row("bash", "bash", "eval", 0x1000, [eval, 0]),
        row(HOSTILE[0], HOSTILE[1], HOSTILE[2], 0x1000, [7, 0]),
        row(HOSTILE[0], HOSTILE[1], HOSTILE[3], 0x2000, [3, 0]),
    ];
    let functions = match minute {
        HUNDRED => 100,
        TEN_THOUSAND => 10_000,
        _ => 0,
    };
    rows.extend((0..functions).map(|number| {
        let ticks = [10_001 - number, 0];
        row(
            "many",
            "many",
            &format!("function_{number}"),
            0x100 * number,
            ticks,
        )
    }));
    rows
}

pub(crate) fn history() -> History {
    let mut history = History::new(Limits {
        cells: 25_000,
        ..Limits::default()
    });
    for minute in 0..MINUTES {
        let mut rows = rows_of(minute);
        // A process has few names.
        for (tgid, row) in (1..).zip(&mut rows) {
            let known = ["nginx", "bash", "many"]
                .iter()
                .position(|name| **name == *row.process.name);
            let tgid = known.map_or(100 + tgid, |place| place as u32);
            *row = of_process(tgid, row.clone());
        }
        history.enter(&Window {
            began: UNIX_EPOCH + Duration::from_secs(BEGAN + minute * MINUTE),
            elapsed: Duration::from_secs(MINUTE - 1),
            period_ns: 10_000_000,
            rows,
        });
    }
    history
}
