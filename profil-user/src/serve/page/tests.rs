use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use proptest::prelude::*;
use serde_json::Value;

use super::{ASSETS, Now, answer, query::MOST_ROWS};
use crate::{
    pprof::{self, PprofFile},
    serve::{
        ObjectLabel, ProcessLabel, Query, Request, Response, Row, Spot, Status, Window,
        history::{History, MINUTE},
    },
};

const PERIOD: u64 = 10_000_000;

fn now() -> Now {
    Now {
        time: UNIX_EPOCH + Duration::from_secs(600),
        host: "machine".to_owned(),
        cpus: 2,
        hz: 97,
    }
}

fn row(process: &str, object: &str, function: &str, address: u64, ticks: [u64; 2]) -> Row {
    Row {
        process: Arc::new(ProcessLabel {
            tgid: 1,
            name: process.into(),
            cgroup: "/a".into(),
            container: None,
        }),
        spot: Arc::new(Spot {
            object: Arc::new(ObjectLabel {
                name: object.into(),
                path: "".into(),
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

fn history() -> History {
    let mut history = History::default();
    for minute in 1..=10 {
        history.enter(&Window {
            began: UNIX_EPOCH + Duration::from_secs(minute * MINUTE),
            elapsed: Duration::from_secs(60),
            period_ns: PERIOD,
            rows: vec![
                row("nginx", "nginx", "parse", 0x1000, [60, 20]),
                row("bash", "libc.so.6", "<script>", 0x5010, [minute, 0]),
            ],
        });
    }
    history
}

fn ask(path: &str, query: &[(&str, &str)]) -> Response {
    let request = Request {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: Query(
            query
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        ),
        ..Request::default()
    };
    answer(&history(), &now(), &request).expect("an answer")
}

fn text_of(path: &str) -> String {
    String::from_utf8(ask(path, &[]).body.to_vec()).unwrap()
}

#[track_caller]
fn json(path: &str, query: &[(&str, &str)]) -> Value {
    let response = ask(path, query);
    assert_eq!(response.status, Status::Ok, "{response:?}");
    assert_eq!(response.content_type, "application/json");
    serde_json::from_slice(&response.body).unwrap()
}

#[test]
fn rows_of_a_span_have_shares() {
    let rows = json("/api/rows", &[("from", "60"), ("until", "180")]);
    assert_eq!(rows["matched"]["ticks"], 163);
    assert_eq!(rows["rows"][0]["process"], "nginx");
    assert_eq!(rows["rows"][0]["user_ns"], 120 * PERIOD);
    let share = rows["rows"][0]["share"].as_f64().unwrap();
    assert!((share - 160.0 / 163.0).abs() < 1e-9);
    let last = json("/api/rows", &[("by", "function"), ("match", "SCRIPT")]);
    assert_eq!(
        (&last["count"], &last["rows"][0]["ticks"]),
        (&1.into(), &10.into())
    );
    assert_eq!(last["rows"][0]["function"], "<script>");
    let by_name = json("/api/rows", &[("sort", "name"), ("limit", "1")]);
    assert_eq!(
        (&by_name["count"], &by_name["rows"][0]["process"]),
        (&2.into(), &"bash".into())
    );
}

#[test]
fn two_spans_have_changes() {
    let query = [
        ("a_from", "60"),
        ("a_until", "120"),
        ("b_from", "600"),
        ("b_until", "660"),
        ("by", "function"),
    ];
    let diff = json("/api/diff", &query);
    assert_eq!(diff["matched"][0]["ticks"], 81);
    assert_eq!(diff["rows"][0]["significant"], true);
    let change = |row: usize| diff["rows"][row]["change"].as_f64().unwrap();
    assert!((change(0) + change(1)).abs() < 1e-9 && change(0) != 0.0);
}

#[test]
fn minutes_have_strips() {
    let timeline = json("/api/timeline", &[("top", "1")]);
    assert_eq!(timeline["minutes"].as_array().unwrap().len(), 10);
    assert_eq!(timeline["minutes"][9]["began"], 600);
    assert_eq!(timeline["processes"][0]["ns"][0], 80 * PERIOD);
    assert_eq!(timeline["processes"].as_array().unwrap().len(), 1);
}

#[test]
fn a_selection_is_a_pprof_file() {
    let response = ask(
        "/api/profile.pb.gz",
        &[("from", "60"), ("until", "660"), ("process", "nginx")],
    );
    let Ok(PprofFile::Other(file)) = pprof::read(&response.body) else {
        panic!("no file: {response:?}");
    };
    assert_eq!(file.total(), 800);
    let header = &response.headers[0];
    assert_eq!(header.1, "attachment; filename=\"profil-60.pb.gz\"");
}

#[test]
fn without_a_file_there_are_addresses_and_a_reason() {
    let answer = json(
        "/api/instructions",
        &[("object", "nginx"), ("function", "parse")],
    );
    assert_eq!(answer["reason"], "its object has no file");
    assert_eq!(answer["rows"][0]["address"], "0x1000");
    assert_eq!(answer["rows"][0]["ticks"], 80);
}

/// Our own file, whose code is known.
#[test]
fn with_a_file_there_are_instructions() {
    let path = std::env::current_exe().unwrap();
    let file = crate::target::ObjectFile::open_named(&path).unwrap();
    let start = file.symbols_named("main").unwrap()[0];
    let Some(build_id) = file.build_id() else {
        profil_tests::skip!("needs a linker that writes build ids");
    };
    let mut rows: Vec<_> = (0..3)
        .map(|far| row("me", "me", "main", start + far, [10, 1]))
        .collect();
    for row in &mut rows {
        let object = ObjectLabel {
            name: "me".into(),
            path: path.to_string_lossy().into(),
            build_id: Some(build_id),
        };
        row.spot = Arc::new(Spot {
            object: Arc::new(object),
            function: "main".into(),
            start: Some(start),
        });
    }
    let mut history = History::default();
    history.enter(&Window {
        began: UNIX_EPOCH,
        elapsed: Duration::from_secs(1),
        period_ns: PERIOD,
        rows,
    });
    let request = Request {
        method: "GET".to_owned(),
        path: "/api/instructions".to_owned(),
        query: Query(vec![
            ("object".to_owned(), "me".to_owned()),
            ("function".to_owned(), "main".to_owned()),
        ]),
        ..Request::default()
    };
    let response = answer(&history, &now(), &request).unwrap();
    let found: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(found["reason"], Value::Null, "{found}");
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["text"] != ""), "{found}");
    let ticks: u64 = rows.iter().map(|row| row["ticks"].as_u64().unwrap()).sum();
    assert_eq!(ticks, 33, "{found}");
    let first = rows
        .iter()
        .find(|row| row["address"] == format!("{start:#x}"));
    assert_eq!(first.unwrap()["ticks"], 11, "{found}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    for (path, query, why) in [
        ("/api/rows", &[("from", "5")][..], "belong together"),
        (
            "/api/rows",
            &[("from", "5"), ("until", "5")],
            "must be before",
        ),
        (
            "/api/rows",
            &[("from", "-1"), ("until", "5")],
            "from is a whole number",
        ),
        (
            "/api/rows",
            &[("from", "+1"), ("until", "5")],
            "from is a whole number",
        ),
        (
            "/api/rows",
            &[("form", "1")],
            "there is no parameter \"form\"",
        ),
        ("/api/rows", &[("\u{1b}\n", "1")], "\\u{1b}"),
        ("/api/rows", &[("by", "pid")], "by is process"),
        ("/api/rows", &[("by", "object"), ("by", "object")], "twice"),
        ("/api/rows", &[("sort", "x")], "sort is cpu"),
        ("/api/rows", &[("limit", "0")], "limit is 1 to 10000"),
        ("/api/rows", &[("limit", "10001")], "limit is 1 to 10000"),
        ("/api/diff", &[("a_from", "1")], "belong together"),
        ("/api/timeline", &[("top", "51")], "top is 1 to 50"),
        (
            "/api/instructions",
            &[("object", "a")],
            "function is missing",
        ),
        ("/api/profile.pb.gz", &[("limit", "1")], "no parameter"),
        ("/api/daemon", &[("x", "1")], "no parameter"),
    ] {
        let response = ask(path, query);
        let text = String::from_utf8(response.body.to_vec()).unwrap();
        assert_eq!(
            response.status,
            Status::BadRequest,
            "{path} {query:?}: {text}"
        );
        assert!(text.contains(why), "{path} {query:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn what_is_elsewhere_is_left_alone() {
    let request = |method: &str, path: &str| {
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            ..Request::default()
        };
        answer(&history(), &now(), &request).map(|response| response.status)
    };
    assert_eq!(request("GET", "/metrics"), None);
    assert_eq!(request("POST", "/metrics"), None);
    assert_eq!(request("POST", "/"), Some(Status::MethodNotAllowed));
    let assets = ASSETS.iter().map(|(path, ..)| *path);
    for path in assets.chain(["/api/daemon"]) {
        assert_eq!(request("HEAD", path), Some(Status::Ok), "{path}");
    }
}

/// Nothing that the policy forbids, or that would be fetched from elsewhere; and names never become markup.
#[test]
fn the_page_needs_nothing_else() {
    for (path, _, contents) in ASSETS {
        if path == "/icon.svg" {
            // The name of its language looks like an address.
            continue;
        }
        for banned in [
            "http://",
            "https://",
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "eval(",
            "@import",
            "onclick",
            "style=\"",
        ] {
            assert!(!contents.contains(banned), "{path}: {banned}");
        }
    }
    let html = text_of("/");
    assert!(!html.contains("<style") && html.matches("<script").count() == 1);
    assert!(html.contains("<script type=\"module\" src=\"/page.js\"></script>"));
}

/// Every module that is imported is there and has what is wanted of it, and none is served that nobody imports.
#[test]
fn modules_are_served() {
    let exports = |js: &str, name: &str| {
        let declared = ["const", "let", "function", "async function"];
        js.lines().any(|line| {
            declared.iter().any(|kind| {
                let rest = line.strip_prefix(&format!("export {kind} {name}")[..]);
                rest.is_some_and(|rest| rest.starts_with([' ', '(']))
            })
        })
    };
    let mut wanted = BTreeSet::from(["/page.js".to_owned()]);
    let mut looked_at = BTreeSet::new();
    while let Some(path) = wanted.pop_first() {
        let js = text_of(&path);
        for line in js.lines().filter(|line| line.starts_with("import ")) {
            // import { one, two } from "./module.js";
            let (names, from) = line
                .strip_prefix("import { ")
                .and_then(|line| line.strip_suffix(".js\";"))
                .and_then(|line| line.split_once(" } from \"./"))
                .unwrap_or_else(|| panic!("{path}: {line}"));
            let module = format!("/{from}.js");
            let is_served = ASSETS.iter().any(|(path, ..)| *path == module);
            assert!(is_served, "{path}: {module}");
            let imported = text_of(&module);
            for name in names.split(", ") {
                assert!(exports(&imported, name), "{path}: {name} of {module}");
                let used = js.matches(name).count();
                assert!(used > 1, "{path}: {name} is not used");
            }
            if !looked_at.contains(&module) {
                wanted.insert(module);
            }
        }
        assert_eq!(
            js.matches("import").count(),
            js.lines()
                .filter(|line| line.starts_with("import "))
                .count(),
            "{path}: imports stand at the start of a line"
        );
        looked_at.insert(path);
    }
    let served = ASSETS.iter().map(|(path, ..)| (*path).to_owned());
    let served: BTreeSet<_> = served.filter(|path| path.ends_with(".js")).collect();
    assert_eq!(looked_at, served);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is asked, the answer is bounded, and is what was asked for or a refusal in one line.
    #[test]
    fn whatever_is_asked(
        path in prop::sample::select(vec!["/api/rows", "/api/diff", "/api/timeline", "/api/instructions", "/api/profile.pb.gz"]),
        query in prop::collection::vec((
            prop_oneof![
                prop::sample::select(vec!["from", "until", "a_from", "a_until", "b_from", "b_until", "process", "cgroup", "object", "function", "by", "sort", "limit", "match", "top"]).prop_map(str::to_owned),
                "\\PC{0,4}",
            ],
            prop_oneof!["[0-9]{1,25}", "process|object|function|address|cpu|name", "\\PC{0,8}", Just("nginx".to_owned())],
        ), 0..6),
    ) {
        let query: Vec<_> = query.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let response = ask(path, &query);
        match response.status {
            Status::Ok if response.content_type == "application/json" => {
                let value: Value = serde_json::from_slice(&response.body).unwrap();
                let rows = value["rows"].as_array().map_or(0, Vec::len);
                prop_assert!(rows <= MOST_ROWS);
            }
            Status::Ok => prop_assert!(pprof::read(&response.body).is_ok()),
            Status::BadRequest => prop_assert_eq!(response.body.iter().filter(|&&byte| byte == b'\n').count(), 1),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
