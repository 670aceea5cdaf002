//! The profile by function, by inlined function, or by line.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use super::{Line, Name, Source, Symbolizer, Ticks, View, WhyUnnamed};
use crate::profile::{Count, ObjectId, Task, TaskId};

/// What has a row of its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Grouping {
    /// A function of the symbol table, with all that was inlined into it.
    #[default]
    Function,
    /// A function of the source: what was inlined into others counts for itself, wherever it was.
    /// Functions of one name in one object are one.
    Inlined,
    /// A line of the source.
    Line,
    /// An address, or a bin.
    Address,
    /// An object.
    Object,
    /// A process, of a profile that keeps its tasks apart.
    Process,
    /// A thread, of a profile that keeps threads apart.
    Thread,
}

impl Grouping {
    /// Whether its rows are those of the source, for which DWARF is needed.
    pub const fn needs_lines(self) -> bool {
        matches!(self, Self::Inlined | Self::Line)
    }

    /// Whether tasks have rows, so that these are not of one task each.
    pub(super) const fn is_of_tasks(self) -> bool {
        matches!(self, Self::Process | Self::Thread)
    }
}

/// Ticks of one function or line, or of one address that has no name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Function {
    /// Whose ticks they are, where that is kept apart.
    pub task: TaskId,
    /// What it lies in.
    pub object: ObjectId,
    /// Link-time address of the function, or the address that has no name. Of what lies in several
    /// places, the first that ticked.
    pub address: u64,
    /// The demangled name, untrusted; or why there is none.
    pub name: Result<String, WhyUnnamed>,
    /// What the symbol table calls it, if that is something else; untrusted.
    pub mangled: Option<String>,
    /// Which part of the function it is.
    pub place: Place,
    /// Ticks in user mode.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
}

/// What a row stands for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Place {
    /// The whole function.
    Whole,
    /// A line, of this function or another.
    Line(Line),
    /// What of the function is on no line that is known.
    NoLine,
    /// The address that is so far into it.
    Offset(u64),
    /// All of the object. The name is the object's.
    Object,
    /// All of a process or thread, wherever it was, or of those that nobody knows. The name is what the
    /// task is called.
    Task(Option<Box<Task>>),
}

impl Function {
    /// Whether it is of one function, or of one address without a name.
    pub(crate) const fn is_of_function(&self) -> bool {
        matches!(self.place, Place::Whole | Place::NoLine | Place::Offset(_))
    }

    /// User and system ticks together.
    pub const fn ticks(&self) -> u64 {
        self.user + self.system
    }
}

/// Adds up the ticks of every function of a profile whose addresses were looked up; most ticks
/// first.
pub fn functions<'a>(profile: impl Into<Ticks<'a>>, symbolizer: &Symbolizer) -> Vec<Function> {
    rows(profile, symbolizer, Grouping::Function)
}

/// Adds up the ticks of a profile whose addresses were looked up, for this grouping
/// ([`Symbolizer::for_grouping`]), all tasks together; most ticks first.
pub fn rows<'a>(
    profile: impl Into<Ticks<'a>>,
    symbolizer: &Symbolizer,
    grouping: Grouping,
) -> Vec<Function> {
    let view = View {
        grouping,
        ..View::default()
    };
    view.summed(profile, symbolizer)
}

/// Puts rows in the order of their tasks: the task with most ticks first.
pub(super) fn by_task(rows: &mut [Function]) {
    let mut of_tasks: HashMap<TaskId, u64> = HashMap::new();
    for row in &*rows {
        *of_tasks.entry(row.task).or_default() += row.ticks();
    }
    // Within a task they keep their order.
    rows.sort_by_key(|row| (Reverse(of_tasks[&row.task]), row.task));
}

pub(super) fn add_up<'a>(
    counts: impl Iterator<Item = (TaskId, &'a Count)>,
    ticks: &Ticks<'_>,
    symbolizer: &Symbolizer,
    view: &View,
) -> Vec<Function> {
    let mut places: HashMap<(TaskId, ObjectId, Key), usize> = HashMap::new();
    let mut rows: Vec<Function> = Vec::new();
    // A function has many addresses, and is matched once.
    let mut passed: HashMap<(ObjectId, Option<&Arc<str>>), bool> = HashMap::new();
    // They follow one another, and need not be looked for again.
    let mut last: Option<(TaskId, ObjectId, Row<'_>, usize)> = None;
    let (grouping, is_open) = (view.grouping, view.sieve.is_open());
    for (task, count) in counts {
        let row = Row::of(count, symbolizer, grouping);
        if let Some((of_task, object, row_before, place)) = &last
            && (*of_task, *object) == (task, count.object)
            && row.is_same_function(row_before)
        {
            rows[*place].user += count.user;
            rows[*place].system += count.system;
            continue;
        }
        let object = &ticks.objects[count.object.index()];
        let name = row.name.ok();
        if !is_open {
            let passes = passed
                .entry((count.object, name))
                .or_insert_with(|| view.sieve.passes(object, name));
            if !*passes {
                continue;
            }
        }
        let key = match grouping {
            Grouping::Process | Grouping::Thread => {
                let task = whose(task, ticks.tasks, grouping);
                (task, ObjectId::new(0), Key::All)
            }
            Grouping::Object => (task, count.object, Key::All),
            _ => (task, count.object, row.key()),
        };
        let of_task = key.0;
        let place = *places.entry(key).or_insert_with(|| {
            rows.push(match grouping {
                Grouping::Process | Grouping::Thread => {
                    let task = task_of(of_task, ticks.tasks, grouping);
                    let name = match &task {
                        Some(task) => task.to_string(),
                        None => "(nobody knows whose)".to_owned(),
                    };
                    // The row is not of a task's part of a report.
                    let place = Place::Task(task.map(Box::new));
                    whole(TaskId::ALL, count.object, (name, place))
                }
                Grouping::Object => whole(task, count.object, (object.name(), Place::Object)),
                _ => row.empty(task, count.object),
            });
            rows.len() - 1
        });
        rows[place].user += count.user;
        rows[place].system += count.system;
        last = Some((task, count.object, row, place));
    }
    rows.sort_by(|a, b| {
        b.ticks()
            .cmp(&a.ticks())
            .then(a.object.cmp(&b.object))
            .then(a.address.cmp(&b.address))
    });
    rows
}

/// The task whose row a task's ticks are in: of threads, where processes have rows, the first of the
/// process.
fn whose(task: TaskId, tasks: &[Task], grouping: Grouping) -> TaskId {
    let Some(index) = task.index() else {
        return task;
    };
    let tgid = tasks[index].tgid;
    let first = || tasks.iter().position(|task| task.tgid == tgid);
    match grouping {
        Grouping::Process => TaskId::new(first().unwrap_or(index) + 1),
        _ => task,
    }
}

/// The task that a row stands for, if it is known.
fn task_of(task: TaskId, tasks: &[Task], grouping: Grouping) -> Option<Task> {
    let task = &tasks[task.index()?];
    if grouping == Grouping::Thread || task.tid.is_none() {
        return Some(task.clone());
    }
    // A process is called what its first thread is.
    let leads = |one: &&Task| one.tgid == task.tgid && one.tid == Some(one.tgid);
    let leader = tasks.iter().find(leads).unwrap_or(task);
    Some(Task {
        tid: None,
        inner: leader.inner.filter(|_| leader.tid == Some(task.tgid)),
        ..leader.clone()
    })
}

/// A row for all of something, without ticks yet.
fn whole(task: TaskId, object: ObjectId, (name, place): (String, Place)) -> Function {
    Function {
        task,
        object,
        address: 0,
        name: Ok(name),
        mangled: None,
        place,
        user: 0,
        system: 0,
    }
}

/// The row that an address belongs to.
struct Row<'a> {
    address: u64,
    name: Result<&'a Arc<str>, WhyUnnamed>,
    mangled: Option<&'a Arc<str>>,
    place: Place,
    grouping: Grouping,
}

/// What ticks of one row have in common, within an object.
#[derive(Debug, Eq, Hash, PartialEq)]
enum Key {
    /// Where a function starts and its name, or the address that has none; and whether it is all of
    /// it. Two symbols that start together may be of different sizes.
    Start(u64, Option<Arc<str>>, Place),
    /// What a symbol table calls it.
    Symbol(Arc<str>),
    Line(Line),
    /// All of the object, or of the task.
    All,
}

impl<'a> Row<'a> {
    fn of(count: &Count, symbolizer: &'a Symbolizer, grouping: Grouping) -> Self {
        let (address, name, mangled) = match symbolizer.name_of(count.object, count.address) {
            Name::Function {
                name,
                mangled,
                start,
            } => (*start, Ok(name), mangled.as_ref()),
            Name::Unnamed(why) => (count.address, Err(*why), None),
        };
        let row = Self {
            address,
            name,
            mangled,
            place: Place::Whole,
            grouping,
        };
        let source = symbolizer.source_of(count.object, count.address);
        match (grouping, name) {
            (_, Err(_)) => row,
            (
                Grouping::Function | Grouping::Object | Grouping::Process | Grouping::Thread,
                Ok(_),
            ) => row,
            (Grouping::Address, Ok(_)) => Self {
                address: count.address,
                place: Place::Offset(count.address.wrapping_sub(address)),
                ..row
            },
            (Grouping::Inlined, Ok(_)) => match source.and_then(|source| source.inlined.last()) {
                Some(inlined) => Self {
                    address: count.address,
                    name: Ok(&inlined.name),
                    mangled: inlined.mangled.as_ref(),
                    ..row
                },
                None => row,
            },
            (Grouping::Line, Ok(_)) => match source.and_then(Source::innermost_line) {
                Some(line) => Self {
                    address: count.address,
                    place: Place::Line(line.clone()),
                    ..row
                },
                None => Self {
                    place: Place::NoLine,
                    ..row
                },
            },
        }
    }

    /// Whether both are of one function in an object, as a whole.
    fn is_same_function(&self, other: &Self) -> bool {
        let is_whole = self.grouping == Grouping::Function && self.address == other.address;
        let is_one = |one, other| Arc::ptr_eq(one, other);
        is_whole && matches!((self.name, other.name), (Ok(one), Ok(other)) if is_one(one, other))
    }

    fn key(&self) -> Key {
        match (&self.place, self.name) {
            (Place::Line(line), _) => Key::Line(line.clone()),
            (_, Ok(name)) if self.grouping == Grouping::Inlined => {
                Key::Symbol(Arc::clone(self.mangled.unwrap_or(name)))
            }
            (place, name) => Key::Start(self.address, name.ok().cloned(), place.clone()),
        }
    }

    fn empty(&self, task: TaskId, object: ObjectId) -> Function {
        Function {
            task,
            object,
            address: self.address,
            name: self.name.map(ToString::to_string),
            mangled: self.mangled.map(ToString::to_string),
            place: self.place.clone(),
            user: 0,
            system: 0,
        }
    }
}
