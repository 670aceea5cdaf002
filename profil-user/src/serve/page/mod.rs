//! The web page of the daemon, and what it asks for: rows, minutes and files, as JSON or as pprof.
//!
//! | path | answer |
//! | --- | --- |
//! | `/`, `/page.js` and its modules, `/page.css`, `/icon.svg` | the page |
//! | `/api/daemon` | whose page it is |
//! | `/api/timeline` | CPU time by the minute, of all and of the busiest processes |
//! | `/api/rows` | rows of a span of time, by process, object, function or address |
//! | `/api/diff` | the rows of two spans, and what changed |
//! | `/api/instructions` | a function, instruction by instruction |
//! | `/api/profile.pb.gz` | a span of time as a file of pprof |
//!
//! Times are seconds since 1970; without `from` and `until` it is the last minute. Every parameter is looked at before it
//! is used, and an answer has at most 10,000 rows.

mod instructions;
mod json;
mod query;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use self::{
    instructions::Instructions,
    json::{ChangedRow, Diff, Minutes, Row, Rows},
    query::{Parameters, Refused, Sort},
};
use super::{
    ProcessLabel, Request, Response, Status,
    history::{Grouping, History, Item, MINUTE, Span},
};
use crate::pprof::PlainFile;

/// What the page says of the daemon.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Now {
    /// The time.
    pub time: SystemTime,
    /// The name of the machine.
    pub host: String,
    /// How many processors it has.
    pub cpus: usize,
    /// The rate of the clock, in ticks per second of CPU time.
    pub hz: u64,
}

const SPAN: [&str; 2] = ["from", "until"];
const FILTER: [&str; 4] = ["process", "cgroup", "object", "function"];
const ROWS: [&str; 4] = ["by", "match", "sort", "limit"];

/// A module of the page's script, as one of its files.
macro_rules! module {
    ($name:literal) => {
        (
            concat!("/", $name),
            "text/javascript; charset=utf-8",
            include_str!($name),
        )
    };
}

/// The files of the page: path, media type, contents.
const ASSETS: [(&str, &str, &str); 16] = [
    ("/", "text/html; charset=utf-8", include_str!("page.html")),
    module!("page.js"),
    module!("columns.js"),
    module!("cost.js"),
    module!("daemon.js"),
    module!("element.js"),
    module!("map.js"),
    module!("path.js"),
    module!("query.js"),
    module!("rows.js"),
    module!("state.js"),
    module!("table.js"),
    module!("text.js"),
    module!("theme.js"),
    (
        "/page.css",
        "text/css; charset=utf-8",
        include_str!("page.css"),
    ),
    ("/icon.svg", "image/svg+xml", include_str!("icon.svg")),
];

/// What answers requests for data.
type Answer = fn(&History, &Now, &Request) -> Result<Response, Refused>;

/// Answers a request for the page or for what it shows; `None` if it is for something else.
///
/// The page has no script, style or picture but its own: it works under the policy `default-src 'none'; script-src 'self';
/// style-src 'self'; connect-src 'self'; img-src 'self'`.
pub fn answer(history: &History, now: &Now, request: &Request) -> Option<Response> {
    if let Some(answer) = asset(request) {
        return Some(answer);
    }
    let data: Option<Answer> = match &request.path[..] {
        "/api/daemon" => Some(daemon),
        "/api/timeline" => Some(timeline),
        "/api/rows" => Some(rows),
        "/api/diff" => Some(diff),
        "/api/instructions" => Some(instructions),
        "/api/profile.pb.gz" => Some(profile),
        _ => None,
    };
    let data = data?;
    Some(only_read(request).unwrap_or_else(|| {
        let answered = data(history, now, request);
        let answered = answered.unwrap_or_else(|refused| *refused);
        answered.with("Cache-Control", "no-store")
    }))
}

/// Answers a request for a file of the page, which needs nothing that was counted; `None` if it is for something else.
pub fn asset(request: &Request) -> Option<Response> {
    let (_, kind, contents) = ASSETS.iter().find(|(path, ..)| *path == request.path)?;
    Some(only_read(request).unwrap_or_else(|| {
        Response::ok(kind, contents.as_bytes()).with("Cache-Control", "no-cache")
    }))
}

/// Refuses what is not a request to read.
fn only_read(request: &Request) -> Option<Response> {
    if matches!(&request.method[..], "GET" | "HEAD") {
        return None;
    }
    let why = format!("{} is there to be read: use GET", request.path);
    Some(Response::refusal(Status::MethodNotAllowed, why).with("Allow", "GET, HEAD"))
}

fn daemon(history: &History, now: &Now, request: &Request) -> Result<Response, Refused> {
    Parameters::of(&request.query, &[])?;

    #[derive(Serialize)]
    struct Daemon<'a> {
        time: u64,
        host: &'a str,
        cpus: usize,
        hz: u64,
        version: &'static str,
        minutes: usize,
        damaged: u64,
        unwritten: u64,
        forgotten: u64,
    }
    let losses = history.losses();
    let time = now.time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(json::answer(&Daemon {
        time: time.as_secs(),
        host: &now.host,
        cpus: now.cpus,
        hz: now.hz,
        version: env!("CARGO_PKG_VERSION"),
        minutes: history.minutes(),
        damaged: losses.damaged,
        unwritten: losses.unwritten,
        forgotten: losses.forgotten,
    }))
}

fn timeline(history: &History, _: &Now, request: &Request) -> Result<Response, Refused> {
    let parameters = Parameters::of(&request.query, &[&SPAN[..], &["top"]].concat())?;
    let span = match parameters.span("from", "until")? {
        Span::Now => Span::Minutes(0, u64::MAX),
        span @ Span::Minutes(..) => span,
    };
    let timeline = history.timeline(span, parameters.strips()?);
    Ok(json::answer(&Minutes::of(&timeline, MINUTE)))
}

fn rows(history: &History, _: &Now, request: &Request) -> Result<Response, Refused> {
    let parameters = Parameters::of(&request.query, &[&SPAN[..], &FILTER, &ROWS].concat())?;
    let span = parameters.span("from", "until")?;
    let grouping = parameters.grouping()?;
    let (sort, limit, part) = (parameters.sort()?, parameters.limit()?, parameters.part());
    let selection = history.select(span, &parameters.filter(), grouping);
    let items = selection.items.iter();
    let mut items: Vec<_> = items.filter(|item| has(item, grouping, &part)).collect();
    match sort {
        Sort::Cpu => {}
        Sort::User => items.sort_by_key(|item| Reverse(item.cost.user_ns)),
        Sort::System => items.sort_by_key(|item| Reverse(item.cost.system_ns)),
        Sort::Name => items.sort_by_key(|item| name_of(item, grouping)),
    }
    let shown = items.iter().take(limit);
    let shown = shown
        .map(|item| Row::of(item, grouping, &selection.matched))
        .collect();
    Ok(json::answer(&Rows::of(
        span,
        &selection,
        items.len(),
        shown,
    )))
}

fn diff(history: &History, _: &Now, request: &Request) -> Result<Response, Refused> {
    let spans = ["a_from", "a_until", "b_from", "b_until"];
    let parameters = Parameters::of(&request.query, &[&spans[..], &FILTER, &ROWS].concat())?;
    let both = [
        parameters.span("a_from", "a_until")?,
        parameters.span("b_from", "b_until")?,
    ];
    let grouping = parameters.grouping()?;
    let (sort, limit, part) = (parameters.sort()?, parameters.limit()?, parameters.part());
    let (changes, sides) = history.compare(both, &parameters.filter(), grouping);
    let changes = changes.iter();
    let mut changes: Vec<_> = changes
        .filter(|change| has(&change.item, grouping, &part))
        .collect();
    match sort {
        Sort::Cpu => {}
        Sort::User => changes.sort_by_key(|change| Reverse(change.costs[1].user_ns)),
        Sort::System => changes.sort_by_key(|change| Reverse(change.costs[1].system_ns)),
        Sort::Name => changes.sort_by_key(|change| name_of(&change.item, grouping)),
    }
    let shown = changes.iter().take(limit);
    let shown = shown.map(|change| ChangedRow::of(change, grouping, &sides[1].matched));
    Ok(json::answer(&Diff {
        total: [0, 1].map(|side: usize| (&sides[side].total).into()),
        matched: [0, 1].map(|side: usize| (&sides[side].matched).into()),
        count: changes.len(),
        rows: shown.collect(),
    }))
}

fn instructions(history: &History, _: &Now, request: &Request) -> Result<Response, Refused> {
    let parameters = Parameters::of(&request.query, &[&SPAN[..], &FILTER, &["limit"]].concat())?;
    parameters.required("object")?;
    parameters.required("function")?;
    let span = parameters.span("from", "until")?;
    let limit = parameters.limit()?;
    let selection = history.select(span, &parameters.filter(), Grouping::Address);
    Ok(json::answer(&Instructions::of(&selection, limit)))
}

fn profile(history: &History, _: &Now, request: &Request) -> Result<Response, Refused> {
    let parameters = Parameters::of(&request.query, &[&SPAN[..], &FILTER].concat())?;
    let span = parameters.span("from", "until")?;
    let mut file = PlainFile::default();
    let mut period_ns = 0;
    let elapsed = history.cells(
        span,
        &parameters.filter(),
        |owner, spot, address, ticks, period| {
            let process = ProcessLabel {
                tgid: 0,
                name: owner.name.clone(),
                cgroup: owner.cgroup.clone(),
                container: owner.container.clone(),
            };
            let address = address.or(spot.start).unwrap_or(0);
            let ns = ticks.map(|ticks| ticks.saturating_mul(period));
            file.add(&process, spot, address, ticks, ns);
            period_ns = period;
        },
    );
    let (began, name) = match span {
        Span::Minutes(from, _) => (from, format!("profil-{from}.pb.gz")),
        Span::Now => (0, "profil-now.pb.gz".to_owned()),
    };
    // Times of which a clock knows nothing are those of files without a time.
    let began = UNIX_EPOCH
        .checked_add(Duration::from_secs(began))
        .unwrap_or(UNIX_EPOCH);
    let bytes = file.finish(period_ns, began, elapsed);
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(Response::ok("application/octet-stream", bytes).with("Content-Disposition", disposition))
}

/// Whether one of the names of a row has a text in it.
fn has(item: &Item, grouping: Grouping, part: &str) -> bool {
    let names = match grouping {
        Grouping::Process => [&item.owner.name, &item.owner.cgroup],
        Grouping::Object => [&item.spot.object.name, &item.spot.object.path],
        Grouping::Function | Grouping::Address => [&item.spot.function, &item.spot.object.name],
    };
    part.is_empty() || names.iter().any(|name| name.to_lowercase().contains(part))
}

fn name_of(item: &Item, grouping: Grouping) -> (Arc<str>, Option<u64>) {
    let name = match grouping {
        Grouping::Process => &item.owner.name,
        Grouping::Object => &item.spot.object.name,
        Grouping::Function | Grouping::Address => &item.spot.function,
    };
    (Arc::clone(name), item.address)
}
