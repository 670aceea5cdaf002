//! The profile by function, by inlined function, or by line.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use super::{Line, Name, Source, Symbolizer, Ticks, WhyUnnamed};
use crate::profile::{Count, ObjectId, TaskId};

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
}

impl Function {
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
/// ([`Symbolizer::for_grouping`]); most ticks first.
pub fn rows<'a>(
    profile: impl Into<Ticks<'a>>,
    symbolizer: &Symbolizer,
    grouping: Grouping,
) -> Vec<Function> {
    let counts = profile.into().counts.iter();
    add_up(
        counts.map(|count| (TaskId::ALL, count)),
        symbolizer,
        grouping,
    )
}

/// As [`rows`], for each task of a profile by itself; the task with most ticks first.
pub fn rows_by_task<'a>(
    profile: impl Into<Ticks<'a>>,
    symbolizer: &Symbolizer,
    grouping: Grouping,
) -> Vec<Function> {
    let counts = profile.into().by_task.iter();
    let mut rows = add_up(
        counts.map(|(task, count)| (*task, count)),
        symbolizer,
        grouping,
    );
    let mut of_tasks: HashMap<TaskId, u64> = HashMap::new();
    for row in &rows {
        *of_tasks.entry(row.task).or_default() += row.ticks();
    }
    // Within a task they keep their order.
    rows.sort_by_key(|row| (Reverse(of_tasks[&row.task]), row.task));
    rows
}

fn add_up<'a>(
    counts: impl Iterator<Item = (TaskId, &'a Count)>,
    symbolizer: &Symbolizer,
    grouping: Grouping,
) -> Vec<Function> {
    let mut places: HashMap<(TaskId, ObjectId, Key), usize> = HashMap::new();
    let mut rows: Vec<Function> = Vec::new();
    for (task, count) in counts {
        let row = Row::of(count, symbolizer, grouping);
        let key = (task, count.object, row.key());
        let place = *places.entry(key).or_insert_with(|| {
            rows.push(row.empty(task, count.object));
            rows.len() - 1
        });
        rows[place].user += count.user;
        rows[place].system += count.system;
    }
    rows.sort_by(|a, b| {
        b.ticks()
            .cmp(&a.ticks())
            .then(a.object.cmp(&b.object))
            .then(a.address.cmp(&b.address))
    });
    rows
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
            (Grouping::Function, _) | (_, Err(_)) => row,
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
