//! Answers as JSON. Numbers of CPU time are nanoseconds; addresses are texts, because JavaScript has no whole
//! numbers of 64 bits. Names are as others chose them: who shows them escapes them.

use serde::Serialize;

use crate::serve::{
    Response,
    history::{Change, Cost, Grouping, Item, Selection, Span, Timeline},
};

pub(super) const JSON: &str = "application/json";

/// An answer.
pub(super) fn answer(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => Response::ok(JSON, bytes),
        Err(error) => Response::refusal(crate::serve::Status::Internal, error),
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Rows<'a> {
    pub(super) from: Option<u64>,
    pub(super) until: Option<u64>,
    pub(super) covered_s: f64,
    pub(super) total: Amount,
    pub(super) matched: Amount,
    /// How many there are, of which some are not here.
    pub(super) count: usize,
    pub(super) rows: Vec<Row<'a>>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Amount {
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) ticks: u64,
}

/// A row, with what it is grouped by.
#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    build_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(flatten)]
    amount: Amount,
    /// Of the selection, of 1.
    share: f64,
    /// Its standard error.
    error: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Diff<'a> {
    pub(super) total: [Amount; 2],
    pub(super) matched: [Amount; 2],
    pub(super) count: usize,
    pub(super) rows: Vec<ChangedRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct ChangedRow<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    before: Amount,
    after: Amount,
    shares: [f64; 2],
    change: f64,
    change_error: f64,
    significant: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Minutes<'a> {
    /// Seconds of each.
    minute: u64,
    minutes: Vec<Minute>,
    processes: Vec<Process<'a>>,
}

#[derive(Debug, Serialize)]
struct Minute {
    began: u64,
    covered_s: f64,
    #[serde(flatten)]
    amount: Amount,
}

#[derive(Debug, Serialize)]
struct Process<'a> {
    name: &'a str,
    ns: &'a [u64],
}

impl From<&Cost> for Amount {
    fn from(cost: &Cost) -> Self {
        Self {
            user_ns: cost.user_ns,
            system_ns: cost.system_ns,
            ticks: cost.ticks(),
        }
    }
}

impl<'a> Rows<'a> {
    pub(super) fn of(span: Span, selection: &Selection, count: usize, rows: Vec<Row<'a>>) -> Self {
        let (from, until) = match span {
            Span::Now => (None, None),
            Span::Minutes(from, until) => (Some(from), Some(until)),
        };
        Self {
            from,
            until,
            covered_s: selection.covered.as_secs_f64(),
            total: Amount::from(&selection.total),
            matched: Amount::from(&selection.matched),
            count,
            rows,
        }
    }
}

impl<'a> Row<'a> {
    pub(super) fn of(item: &'a Item, grouping: Grouping, matched: &Cost) -> Self {
        let is = |wanted: &[Grouping]| wanted.contains(&grouping);
        let has_owner = is(&[Grouping::Process]);
        let has_function = is(&[Grouping::Function, Grouping::Address]);
        let object = &item.spot.object;
        let build_id = object.build_id.filter(|_| is(&[Grouping::Address]));
        Self {
            process: has_owner.then_some(&item.owner.name),
            cgroup: has_owner.then_some(&item.owner.cgroup),
            container: item.owner.container.as_deref().filter(|_| has_owner),
            object: (!has_owner).then_some(&object.name),
            build_id: build_id.map(|id| id.to_string()),
            function: has_function.then_some(&item.spot.function),
            address: item.address.map(|address| format!("{address:#x}")),
            amount: Amount::from(&item.cost),
            share: item.cost.share_of(matched),
            error: item.cost.error_in(matched),
        }
    }
}

impl<'a> ChangedRow<'a> {
    pub(super) fn of(change: &'a Change, grouping: Grouping, matched: &Cost) -> Self {
        Self {
            row: Row::of(&change.item, grouping, matched),
            before: Amount::from(&change.costs[0]),
            after: Amount::from(&change.costs[1]),
            shares: change.shares,
            change: change.change(),
            change_error: change.error,
            significant: change.is_significant(),
        }
    }
}

impl<'a> Minutes<'a> {
    pub(super) fn of(timeline: &'a Timeline, minute: u64) -> Self {
        let minutes = timeline.moments.iter().map(|moment| Minute {
            began: moment.began,
            covered_s: moment.covered.as_secs_f64(),
            amount: Amount::from(&moment.cost),
        });
        let strips = timeline.strips.iter();
        Self {
            minute,
            minutes: minutes.collect(),
            processes: strips
                .map(|strip| Process {
                    name: &strip.name,
                    ns: &strip.ns,
                })
                .collect(),
        }
    }
}
