//! A table of symbols for `gprof -S`: the names of this profile, for objects that have none, and
//! for names that gprof does not take from an object (`f.isra.0`, older Rust).
//!
//! gprof gives what lies between two entries to the first of them. So only functions that were
//! hit are in the table: whatever ticked is in one of them. And there is one entry more, past the
//! last bin, because gprof drops what is at the last entry.

use std::io::{self, Write};

use super::{escape::printable, table::function_name};
use crate::{
    profile::{Object, ObjectId, Profile},
    symbolize::Function,
};

/// The longest name that gprof's buffer of a line has room for, with an address and a letter.
const LONGEST: usize = 960;

/// The name of the entry past everything. Nothing is ever charged to it.
const END: &str = "end_of_profile";

/// Writes the functions of one object that have ticks, by address, as `nm` writes them: mangled,
/// because gprof makes names readable by itself. What has no name gets its address for one.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profile: &Profile,
    functions: &[Function],
    object: ObjectId,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut hit: Vec<_> = functions
        .iter()
        .filter(|function| function.object == object)
        .collect();
    hit.sort_by_key(|function| function.address);
    for function in hit {
        let name = word_for(function, profile.object(object));
        writeln!(out, "{:016x} T {name}", function.address)?;
    }
    writeln!(out, "{:016x} T {END}", end(profile, object))
}

/// An address past the last bin, however wide it is written.
fn end(profile: &Profile, object: ObjectId) -> u64 {
    /// At least what a record of gmon.out covers.
    const LEAST: u64 = 4096;

    let last = profile.counts_in(object).last();
    let widths = profile.object(object).text.iter().map(|text| text.width);
    let reach = widths.max().unwrap_or(0).max(LEAST).next_power_of_two();
    let last = last.map_or(0, |count| count.address);
    (last - last % reach).saturating_add(reach)
}

/// A name as one word without blanks, which end a name.
fn word_for(function: &Function, object: &Object) -> String {
    let name = match (&function.mangled, &function.name) {
        (Some(mangled), Ok(_)) if mangled.len() <= LONGEST => printable(mangled).into_owned(),
        _ => function_name(function, object),
    };
    let mut word = name.replace(char::is_whitespace, "_");
    word.truncate(word.floor_char_boundary(LONGEST));
    if word.is_empty() {
        "_".to_owned()
    } else {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, word_for};
    use crate::{
        profile::{Object, ObjectId, ObjectKind},
        symbolize::{Function, Place, WhyUnnamed},
    };

    fn word(name: Result<&str, WhyUnnamed>, mangled: Option<&str>) -> String {
        let function = Function {
            object: ObjectId::new(0),
            address: 0x1234,
            name: name.map(str::to_owned),
            mangled: mangled.map(str::to_owned),
            task: crate::profile::TaskId::ALL,
            place: Place::Whole,
            user: 1,
            system: 0,
        };
        let object = Object {
            kind: ObjectKind::File {
                path: "/x/two words".into(),
                class: None,
            },
            is_main: true,
            build_id: None,
            text: Vec::new(),
        };
        word_for(&function, &object)
    }

    #[test]
    fn a_name_is_one_word() {
        assert_eq!(word(Ok("spin.isra.0"), None), "spin.isra.0");
        assert_eq!(
            word(Ok("a::b(int, char)"), Some("_ZN1a1bEic")),
            "_ZN1a1bEic"
        );
        assert_eq!(word(Ok("a b\nT 0"), None), "a_b\\u{a}T_0");
        assert_eq!(word(Ok(""), None), "_");
        assert_eq!(
            word(Err(WhyUnnamed::NoSymbols), None),
            "two_words+0x1234_(stripped)"
        );
    }

    #[test]
    fn no_name_is_longer_than_gprofs_line() {
        let long = "ü".repeat(2000);
        assert!(word(Ok(&long), None).len() <= LONGEST);
        let readable = word(Ok("short"), Some(&"q".repeat(2000)));
        assert_eq!(readable, "short");
    }
}
