//! What has a row: ticks of the model added up by function, object or process, sifted and sorted.

use std::{cmp::Ordering, collections::HashMap, fmt};

use profil_user::{
    Object, ObjectId, ObjectKind, TaskId,
    export::text::function_name,
    symbolize::{Function, NamePattern, Place},
};

use super::{
    model::{Cell, Labels, Model, Spot, Sums, Ticks},
    plain::plain,
};

/// What has rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum List {
    Functions,
    Objects,
    Processes,
    /// The addresses of one function.
    Addresses,
}

/// What a row stands for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Key {
    Rest,
    Function(Spot),
    Object(ObjectId),
    Process(Option<usize>),
    Address(u64),
}

/// Which part of the ticks is shown.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Scope {
    pub(crate) process: Option<Option<usize>>,
    pub(crate) object: Option<ObjectId>,
    pub(crate) function: Option<Spot>,
}

/// By what rows are sorted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Column {
    Now,
    Ten,
    All,
    Seconds,
    Name,
    Side,
}

/// The columns from left to right.
pub(crate) const COLUMNS: [Column; 6] = [
    Column::Now,
    Column::Ten,
    Column::All,
    Column::Seconds,
    Column::Name,
    Column::Side,
];

/// By what, and whether the other way round: numbers begin with the largest, names with A.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Order {
    pub(crate) column: Column,
    pub(crate) reversed: bool,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) sums: Sums,
    /// Numbers of the cells that are in it.
    pub(crate) cells: Vec<usize>,
    /// What it is called, where that is known without labels.
    pub(crate) text: Option<String>,
}

impl Row {
    /// A row of an address: only what it has since the start is known.
    pub(crate) fn of_address(address: u64, text: String, all: Ticks) -> Self {
        Self {
            key: Key::Address(address),
            sums: Sums {
                all,
                ..Sums::default()
            },
            cells: Vec::new(),
            text: Some(text),
        }
    }

    /// What it is called, fit for a terminal.
    pub(crate) fn name(&self, labels: &Labels) -> String {
        let name = match (&self.text, &self.key) {
            (Some(text), _) => text.clone(),
            (None, Key::Rest) => "(others)".to_owned(),
            (None, Key::Function(spot)) => name_of(spot, labels),
            (None, Key::Object(id)) => object_name(labels.objects.get(id.index())),
            (None, Key::Process(process)) => match process.and_then(|it| labels.tasks.get(it)) {
                Some(task) => task.name.clone(),
                None => "(nobody knows whose)".to_owned(),
            },
            (None, Key::Address(address)) => format!("{address:#x}"),
        };
        plain(&name).into_owned()
    }

    /// What stands beside that: the object of a function, the path of an object, the number of a process.
    pub(crate) fn side(&self, labels: &Labels) -> String {
        let side = match &self.key {
            Key::Function(spot) => object_name(labels.objects.get(spot.object.index())),
            Key::Object(id) => match labels.objects.get(id.index()).map(|object| &object.kind) {
                Some(ObjectKind::File { path, .. }) => path.to_string_lossy().into_owned(),
                _ => String::new(),
            },
            Key::Process(process) => match process.and_then(|it| labels.tasks.get(it)) {
                Some(task) => match task.inner {
                    Some(inner) => format!("{} ({inner} inside)", task.tgid),
                    None => task.tgid.to_string(),
                },
                None => String::new(),
            },
            Key::Address(address) => format!("{address:#x}"),
            Key::Rest => String::new(),
        };
        plain(&side).into_owned()
    }

    fn value(&self, column: Column) -> u64 {
        match column {
            Column::Now => self.sums.now.all(),
            Column::Ten => self.sums.ten.all(),
            _ => self.sums.all.all(),
        }
    }
}

/// What a function or an address without a name is called, as in reports.
pub(crate) fn name_of(spot: &Spot, labels: &Labels) -> String {
    let function = Function {
        task: TaskId::ALL,
        object: spot.object,
        address: spot.address,
        name: spot
            .name
            .as_ref()
            .map(ToString::to_string)
            .map_err(|&why| why),
        mangled: None,
        place: Place::Whole,
        user: 0,
        system: 0,
    };
    match labels.objects.get(spot.object.index()) {
        Some(object) => function_name(&function, object),
        None => format!("{:#x}", spot.address),
    }
}

fn object_name(object: Option<&Object>) -> String {
    object.map_or_else(String::new, Object::name)
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Functions => "functions",
            Self::Objects => "objects",
            Self::Processes => "processes",
            Self::Addresses => "addresses",
        })
    }
}

/// The rows of a list. Those of addresses come from elsewhere.
pub(crate) fn of(model: &Model, list: List, scope: &Scope) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for (number, cell, sums) in model.cells() {
        let key = match cell {
            Cell::Rest if *scope == Scope::default() && sums.all.all() > 0 => Key::Rest,
            Cell::Rest => continue,
            Cell::At { process, spot } => {
                let elsewhere = scope.process.is_some_and(|wanted| wanted != *process)
                    || scope.object.is_some_and(|wanted| wanted != spot.object);
                if elsewhere {
                    continue;
                }
                match list {
                    List::Functions => Key::Function(spot.clone()),
                    List::Objects => Key::Object(spot.object),
                    List::Processes => Key::Process(*process),
                    List::Addresses => continue,
                }
            }
        };
        let place = *places.entry(key).or_insert_with_key(|key| {
            rows.push(Row {
                key: key.clone(),
                sums: Sums::default(),
                cells: Vec::new(),
                text: None,
            });
            rows.len() - 1
        });
        rows[place].sums += sums;
        rows[place].cells.push(number);
    }
    rows
}

/// Leaves what a pattern matches: by its name, and by what stands beside it unless that is the object
/// of a function.
pub(crate) fn sift(rows: &mut Vec<Row>, pattern: &NamePattern, labels: &Labels) {
    rows.retain(|row| {
        let by_side = matches!(row.key, Key::Object(_) | Key::Process(_));
        pattern.matches(&row.name(labels)) || (by_side && pattern.matches(&row.side(labels)))
    });
}

/// Sorts them. What is equal stays in one order from picture to picture.
pub(crate) fn sort(rows: &mut [Row], order: Order, labels: &Labels) {
    match order.column {
        Column::Name if rows.iter().all(|row| matches!(row.key, Key::Address(_))) => {
            rows.sort_by_key(|row| match row.key {
                Key::Address(address) => address,
                _ => 0,
            });
        }
        Column::Name => rows.sort_by_cached_key(|row| (row.name(labels), row.side(labels))),
        Column::Side => rows.sort_by_cached_key(|row| (row.side(labels), row.name(labels))),
        column => {
            let by = |row: &Row| {
                (
                    row.value(column),
                    row.sums.now.all(),
                    row.sums.ten.all(),
                    row.sums.all.all(),
                )
            };
            rows.sort_by(|a, b| by(b).cmp(&by(a)).then_with(|| identity(a, b)));
        }
    }
    if order.reversed {
        rows.reverse();
    }
}

/// An order of what rows stand for that costs no text.
fn identity(a: &Row, b: &Row) -> Ordering {
    let place = |row: &Row| match &row.key {
        Key::Rest => (0, 0, 0),
        Key::Function(spot) => (1, spot.object.index(), spot.address),
        Key::Object(id) => (2, id.index(), 0),
        Key::Process(process) => (3, process.map_or(0, |it| it + 1), 0),
        Key::Address(address) => (4, 0, *address),
    };
    place(a).cmp(&place(b))
}

/// Ticks a second of each of these rows in each of the last seconds, latest first.
pub(crate) fn trends(model: &Model, rows: &[Row]) -> Vec<Vec<f64>> {
    let of_rows = rows.iter().enumerate();
    let places: HashMap<usize, usize> = of_rows
        .flat_map(|(place, row)| row.cells.iter().map(move |&number| (number, place)))
        .collect();
    let mut trends = vec![Vec::new(); rows.len()];
    for second in model.seconds() {
        trends.iter_mut().for_each(|trend| trend.push(0.0));
        for (number, rate) in second {
            if let Some(last) = places.get(&number).and_then(|&it| trends[it].last_mut()) {
                *last += rate;
            }
        }
    }
    trends
}

/// Ticks a second of everything in each of the last seconds, latest first.
pub(crate) fn trend(model: &Model) -> Vec<f64> {
    let seconds = model.seconds();
    seconds
        .map(|second| second.map(|(_, rate)| rate).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::model::{
            Model,
            tests::{cell, labels, spot, ticks, update},
        },
        Column, Key, List, Order, Row, Scope, of, sift, sort, trend, trends,
    };

    fn model() -> Model {
        let mut model = Model::default();
        let gains = vec![
            (cell(0, "alpha"), ticks(600, 0)),
            (cell(0, "beta"), ticks(100, 50)),
            (cell(1, "alpha"), ticks(0, 7)),
        ];
        model.ingest(update(1000, gains));
        model.ingest(update(2000, vec![(cell(0, "beta"), ticks(20, 0))]));
        model
    }

    fn names(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.name(&labels())).collect()
    }

    const fn by(column: Column) -> Order {
        Order {
            column,
            reversed: false,
        }
    }

    #[test]
    fn functions_are_added_up_over_processes_and_processes_over_functions() {
        let mut rows = of(&model(), List::Functions, &Scope::default());
        sort(&mut rows, by(Column::All), &labels());
        assert_eq!(names(&rows), ["alpha", "beta"]);
        assert_eq!(rows[0].sums.all, ticks(600, 7));
        assert_eq!(rows[1].sums.now, ticks(20, 0));
        let mut rows = of(&model(), List::Processes, &Scope::default());
        sort(&mut rows, by(Column::All), &labels());
        assert_eq!(names(&rows), ["hot", "cold"]);
        assert_eq!(rows[1].side(&labels()), "77");
        let rows = of(&model(), List::Objects, &Scope::default());
        assert_eq!(rows[0].side(&labels()), "/usr/bin/hot");
        assert_eq!(rows[0].sums.all, ticks(720, 57));
    }

    #[test]
    fn of_a_process_there_are_its_own_functions() {
        let scope = Scope {
            process: Some(Some(1)),
            ..Scope::default()
        };
        let rows = of(&model(), List::Functions, &scope);
        assert_eq!(names(&rows), ["alpha"]);
        assert_eq!(rows[0].sums.all, ticks(0, 7));
        assert_eq!(rows[0].key, Key::Function(spot("alpha")));
    }

    #[test]
    fn every_column_sorts_and_the_other_way_round() {
        let mut rows = of(&model(), List::Functions, &Scope::default());
        for (column, expected) in [
            (Column::Now, ["beta", "alpha"]),
            (Column::Ten, ["alpha", "beta"]),
            (Column::All, ["alpha", "beta"]),
            (Column::Seconds, ["alpha", "beta"]),
            (Column::Name, ["alpha", "beta"]),
            (Column::Side, ["alpha", "beta"]),
        ] {
            sort(&mut rows, by(column), &labels());
            assert_eq!(names(&rows), expected, "{column:?}");
            let mut order = by(column);
            order.reversed = true;
            sort(&mut rows, order, &labels());
            let reversed: Vec<_> = expected.into_iter().rev().collect();
            assert_eq!(names(&rows), reversed, "{column:?}");
        }
    }

    #[test]
    fn a_pattern_goes_by_names_and_by_numbers_of_processes() {
        let labels = labels();
        let sifted = |list, pattern: &str| {
            let mut rows = of(&model(), list, &Scope::default());
            sift(&mut rows, &pattern.parse().expect("a pattern"), &labels);
            names(&rows)
        };
        assert_eq!(sifted(List::Functions, "^al"), ["alpha"]);
        assert!(sifted(List::Functions, "hot").is_empty());
        assert_eq!(sifted(List::Processes, "^77$"), ["cold"]);
        assert_eq!(sifted(List::Objects, "^/usr/bin"), ["hot"]);
    }

    #[test]
    fn a_trend_has_a_value_a_second() {
        let model = model();
        let mut rows = of(&model, List::Functions, &Scope::default());
        sort(&mut rows, by(Column::Name), &labels());
        assert_eq!(trends(&model, &rows), [[0.0, 607.0], [20.0, 150.0]]);
        assert_eq!(trend(&model), [20.0, 757.0]);
    }
}
