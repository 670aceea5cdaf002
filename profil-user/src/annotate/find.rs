//! Functions by name.

use crate::symbolize::{Function, Place};

/// Longer names are compared by their beginning: nobody types them.
const LONGEST: usize = 64;

/// The functions of a flat profile that are called just so, in the source or in the symbol table.
pub fn named<'a>(functions: &'a [Function], name: &str) -> Vec<&'a Function> {
    let is_it = |function: &&Function| {
        function.place == Place::Whole
            && (function.name.as_deref() == Ok(name) || function.mangled.as_deref() == Some(name))
    };
    functions.iter().filter(is_it).collect()
}

/// At most so many functions of a flat profile whose names are most like another: first those that
/// contain it, with most ticks first; then by what it takes to make one of the other.
pub fn nearest<'a>(functions: &'a [Function], name: &str, most: usize) -> Vec<&'a Function> {
    let wanted = name.to_lowercase();
    let named = functions.iter().filter_map(|function| {
        let own = function.name.as_deref().ok()?;
        (function.place == Place::Whole).then_some((function, own))
    });
    let mut all: Vec<_> = named
        .map(|(function, own)| {
            let own = own.to_lowercase();
            let far = if own.contains(&wanted) {
                0
            } else {
                distance(&own, &wanted)
            };
            (far, function)
        })
        .collect();
    // Functions come with most ticks first, and stay so among equals.
    all.sort_by_key(|(far, _)| *far);
    all.into_iter()
        .map(|(_, function)| function)
        .take(most)
        .collect()
}

/// How many letters have to be changed, added or left out (Levenshtein), in the beginnings of two names.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().take(LONGEST).enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, with) in other.iter().enumerate() {
            let changed = diagonal + usize::from(*with != letter);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, named, nearest};
    use crate::{
        profile::{ObjectId, TaskId},
        symbolize::{Function, Place, WhyUnnamed},
    };

    fn function(name: Result<&str, WhyUnnamed>, mangled: Option<&str>, user: u64) -> Function {
        Function {
            task: TaskId::ALL,
            object: ObjectId::new(0),
            address: 0x1000,
            name: name.map(str::to_owned),
            mangled: mangled.map(str::to_owned),
            place: Place::Whole,
            user,
            system: 0,
        }
    }

    #[test]
    fn a_function_goes_by_either_name() {
        let all = [
            function(Ok("add(int, int)"), Some("_Z3addii"), 9),
            function(Ok("add"), None, 5),
            function(Err(WhyUnnamed::NoSymbols), None, 4),
            function(Ok("add"), None, 2),
        ];
        let ticks = |name| -> Vec<_> { named(&all, name).iter().map(|one| one.user).collect() };
        assert_eq!(ticks("add(int, int)"), [9]);
        assert_eq!(ticks("_Z3addii"), [9]);
        assert_eq!(ticks("add"), [5, 2]);
        assert_eq!(ticks("ad"), [0; 0]);
        assert_eq!(ticks(""), [0; 0]);
    }

    #[test]
    fn the_nearest_contain_it_or_are_almost_it() {
        let all = [
            function(Ok("main"), None, 90),
            function(Ok("spin_beta"), None, 50),
            function(Err(WhyUnnamed::NoSymbols), None, 40),
            function(Ok("spin_alpha"), None, 20),
            function(Ok("Spin::run()"), None, 10),
        ];
        let names = |name| -> Vec<_> {
            let near = nearest(&all, name, 2);
            near.iter().map(|one| one.name.clone().unwrap()).collect()
        };
        assert_eq!(names("spin"), ["spin_beta", "spin_alpha"]);
        assert_eq!(names("spin_alhpa"), ["spin_alpha", "spin_beta"]);
        assert_eq!(names("RUN"), ["Spin::run()", "main"]);
        assert!(nearest(&[], "x", 2).is_empty());
    }

    #[test]
    fn a_distance_is_the_fewest_changes() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance(&"a".repeat(100_000), "a"), 63);
    }
}
