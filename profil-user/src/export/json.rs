//! The profile as JSON, for programs. `docs/profile.schema.json` says what is in it.
//!
//! Text is as it was found, but for bytes that are no UTF-8, which are replaced; addresses are texts,
//! because many readers of JSON have no whole numbers of 64 bits.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use profil_common::Outcome;
use serde::Serialize;

use super::{neutral, text};
use crate::{
    profile::{Object, ObjectKind, Profile, Task},
    symbolize::{Function, Place},
};

/// The version of the schema. It changes when a field changes its meaning or goes.
const VERSION: u32 = 1;

/// Writes a profile, by its rows.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(profile: &Profile, functions: &[Function], out: &mut impl Write) -> io::Result<()> {
    let notes = profile.notes.iter();
    let shown: u64 = functions.iter().map(Function::ticks).sum();
    let document = Document {
        version: VERSION,
        subject: profile.subject.to_string(),
        rate_hz: profile.rate.asked(),
        period_ns: profile.rate.period_ns(),
        elapsed_ns: u64::try_from(profile.elapsed.as_nanos()).unwrap_or(u64::MAX),
        balance: BalanceView::of(profile),
        objects: profile.objects.iter().map(ObjectView::of).collect(),
        tasks: profile.tasks.iter().map(TaskView::of).collect(),
        filtered_out: profile.ticks().saturating_sub(shown),
        rows: functions
            .iter()
            .map(|function| RowView::of(function, &profile.tasks))
            .collect(),
        notes: notes.map(|note| text::note_text(profile, note)).collect(),
    };
    neutral::write(&document, out)
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    subject: String,
    rate_hz: u32,
    period_ns: u64,
    elapsed_ns: u64,
    balance: BalanceView,
    objects: Vec<ObjectView>,
    tasks: Vec<TaskView<'a>>,
    filtered_out: u64,
    rows: Vec<RowView<'a>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct BalanceView {
    holds: bool,
    runs: u64,
    seen: u64,
    due: f64,
    due_ns: u64,
    unwanted: u64,
    kernel_bytes: u64,
    outcomes: BTreeMap<&'static str, u64>,
}

impl BalanceView {
    fn of(profile: &Profile) -> Self {
        let balance = &profile.balance;
        // A profile of no time at all has no period.
        let due = Some(balance.due()).filter(|due| due.is_finite());
        Self {
            holds: balance.holds(),
            runs: balance.tally.runs,
            seen: balance.seen(),
            due: due.unwrap_or(0.0),
            due_ns: balance.due_ns,
            unwanted: balance.unwanted,
            kernel_bytes: balance.kernel_bytes,
            outcomes: Outcome::ALL
                .iter()
                .map(|&outcome| (outcome.name(), balance.of(outcome)))
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct ObjectView {
    kind: &'static str,
    name: String,
    path: Option<String>,
    build_id: Option<String>,
    is_main: bool,
}

impl ObjectView {
    fn of(object: &Object) -> Self {
        let path = match &object.kind {
            ObjectKind::File { path, .. } => Some(path.to_string_lossy().into_owned()),
            _ => None,
        };
        Self {
            kind: match &object.kind {
                ObjectKind::File { .. } => "file",
                ObjectKind::Vdso => "vdso",
                ObjectKind::Kernel => "kernel",
                ObjectKind::Anonymous { .. } => "anonymous",
                ObjectKind::Nowhere(_) => "nowhere",
            },
            name: object.name(),
            path,
            build_id: object.build_id.map(|id| id.to_string()),
            is_main: object.is_main,
        }
    }
}

#[derive(Serialize)]
struct TaskView<'a> {
    pid: u32,
    tid: Option<u32>,
    inner_pid: Option<u32>,
    comm: &'a str,
}

impl<'a> TaskView<'a> {
    fn of(task: &'a Task) -> Self {
        Self {
            pid: task.tgid,
            tid: task.tid,
            inner_pid: task.inner,
            comm: &task.name,
        }
    }
}

#[derive(Serialize)]
struct RowView<'a> {
    task: Option<usize>,
    object: Option<usize>,
    address: Option<String>,
    function: Option<&'a str>,
    mangled: Option<&'a str>,
    unnamed: Option<String>,
    file: Option<&'a str>,
    line: Option<u64>,
    user: u64,
    system: u64,
}

impl<'a> RowView<'a> {
    fn of(function: &'a Function, tasks: &[Task]) -> Self {
        let (file, line) = match &function.place {
            Place::Line(line) => (Some(&*line.file), Some(u64::from(line.number))),
            _ => (None, None),
        };
        // Several functions can have a part of one line.
        let of_function = function.is_of_function();
        let has_address = of_function || file.is_some();
        let (task, object) = match &function.place {
            // A process whose threads are apart goes by the first of them.
            Place::Task(Some(of_row)) => {
                let is_it = |task: &Task| {
                    task.tgid == of_row.tgid && (of_row.tid.is_none() || task.tid == of_row.tid)
                };
                (tasks.iter().position(is_it), None)
            }
            Place::Task(None) => (None, None),
            _ => (function.task.index(), Some(function.object.index())),
        };
        Self {
            task,
            object,
            address: has_address.then(|| format!("{:#x}", function.address)),
            function: function.name.as_deref().ok().filter(|_| of_function),
            mangled: function.mangled.as_deref().filter(|_| of_function),
            unnamed: function.name.as_ref().err().map(ToString::to_string),
            file,
            line,
            user: function.user,
            system: function.system,
        }
    }
}
