//! Which part of a profile is wanted: ticks of some functions and objects, and rows that are large enough.

use std::{str::FromStr, sync::Arc};

use regex_lite::Regex;

use crate::{
    profile::{Object, ObjectKind},
    target::{Glob, GlobError},
};

/// What lets a tick through, and what a row. By default, all.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    /// Only functions whose name this matches; what has no name is in none of them.
    pub focus: Option<NamePattern>,
    /// Functions whose name this matches are left out.
    pub ignore: Option<NamePattern>,
    /// Only what is in such an object.
    pub object: Option<ObjectPattern>,
    /// Only rows with at least this share, in percent.
    pub min_percent: f64,
}

impl Sieve {
    /// Whether everything gets through.
    pub fn is_open(&self) -> bool {
        self.focus.is_none()
            && self.ignore.is_none()
            && self.object.is_none()
            && self.min_percent <= 0.0
    }

    pub(super) fn passes(&self, object: &Object, name: Option<&Arc<str>>) -> bool {
        let has = |pattern: &NamePattern| name.is_some_and(|name| pattern.matches(name));
        self.object.as_ref().is_none_or(|one| one.matches(object))
            && self.focus.as_ref().is_none_or(has)
            && !self.ignore.as_ref().is_some_and(has)
    }

    pub(super) fn is_enough(&self, ticks: u64, total: u64) -> bool {
        100.0 * ticks as f64 >= self.min_percent * total as f64
    }
}

/// A regular expression for names of functions, which matches if it matches any part of one.
#[derive(Clone, Debug)]
pub struct NamePattern(Regex);

impl NamePattern {
    /// Whether it matches; takes time in proportion to the product of both lengths, whatever they are.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl FromStr for NamePattern {
    type Err = regex_lite::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Regex::new(text).map(Self)
    }
}

/// The name or the path of an object, or a pattern for either, as shells have them for files.
#[derive(Clone, Debug)]
pub struct ObjectPattern {
    text: String,
    glob: Glob,
}

impl ObjectPattern {
    /// Whether it matches the short name that reports have, or the path.
    pub fn matches(&self, object: &Object) -> bool {
        let name = object.name();
        // The name itself may look like a pattern: [kernel].
        let is_it = |bytes: &[u8]| bytes == self.text.as_bytes() || self.glob.matches(bytes);
        let path = match &object.kind {
            ObjectKind::File { path, .. } => Some(path.as_os_str().as_encoded_bytes()),
            _ => None,
        };
        is_it(name.as_bytes()) || path.is_some_and(is_it)
    }
}

impl FromStr for ObjectPattern {
    type Err = GlobError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self {
            text: text.to_owned(),
            glob: Glob::parse(text.as_bytes())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{NamePattern, ObjectPattern, Sieve};
    use crate::profile::{Object, ObjectKind};

    fn object(kind: ObjectKind) -> Object {
        Object {
            kind,
            is_main: false,
            build_id: None,
            text: Vec::new(),
        }
    }

    fn file(path: &str) -> Object {
        object(ObjectKind::File {
            path: path.into(),
            class: None,
        })
    }

    #[test]
    fn an_object_goes_by_its_name_its_path_or_a_pattern() {
        let matches = |text: &str, object: &Object| {
            let pattern: ObjectPattern = text.parse().unwrap();
            pattern.matches(object)
        };
        let libc = file("/usr/lib/libc.so.6");
        for text in ["libc.so.6", "libc*", "/usr/lib/libc.so.6", "/usr/*", "*"] {
            assert!(matches(text, &libc), "{text}");
        }
        for text in ["libc", "LIBC*", "lib/libc.so.6", "/opt/*", ""] {
            assert!(!matches(text, &libc), "{text}");
        }
        assert!(matches("[kernel]", &object(ObjectKind::Kernel)));
        assert!(!matches("[kernel]", &object(ObjectKind::Vdso)));
        assert!("[a".parse::<ObjectPattern>().is_err());
    }

    #[test]
    fn names_are_matched_in_any_part() {
        let pattern: NamePattern = "^sp.n|lock$".parse().unwrap();
        assert!(pattern.matches("spin_alpha"));
        assert!(pattern.matches("mutex_lock"));
        assert!(!pattern.matches("a_spin"));
        assert!("(".parse::<NamePattern>().is_err());
    }

    #[test]
    fn what_has_no_name_is_in_no_focus_and_is_not_ignored() {
        let any = || "".parse::<NamePattern>().ok();
        let (object, name) = (file("/bin/a"), "f".into());
        let focus = Sieve {
            focus: any(),
            ..Sieve::default()
        };
        assert!(focus.passes(&object, Some(&name)));
        assert!(!focus.passes(&object, None));
        let ignore = Sieve {
            ignore: any(),
            ..Sieve::default()
        };
        assert!(!ignore.passes(&object, Some(&name)));
        assert!(ignore.passes(&object, None));
    }

    #[test]
    fn a_row_with_just_the_least_share_is_shown() {
        let sieve = Sieve {
            min_percent: 25.0,
            ..Sieve::default()
        };
        assert!(sieve.is_enough(1, 4));
        assert!(!sieve.is_enough(24, 100));
        assert!(Sieve::default().is_enough(0, 0));
    }
}
