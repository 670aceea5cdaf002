//! Names as their authors wrote them.

use std::fmt::{self, Write};

use cpp_demangle::DemangleOptions;

/// The longest mangled name that is looked into. A longer one is shown as it is: nobody reads it,
/// and it may have been made to take long.
pub(super) const LONGEST: usize = 16 * 1024;

/// Returns the source name of a Rust or C++ symbol, and any other name unchanged.
///
/// Only names that say by their beginning that they are mangled are taken so: `_R` (Rust v0, RFC
/// 2603) and `_Z` (Itanium C++ ABI, section 5.1, and Rust's older scheme on top of it). Most short
/// words are also valid manglings of *types*: `f` is `float`, and C has functions called `f`.
pub(super) fn demangle(name: &str) -> String {
    if name.len() > LONGEST {
        return name.to_owned();
    }
    if name.starts_with("_R") || name.starts_with("_Z") {
        if let Ok(rust) = rustc_demangle::try_demangle(name) {
            // Without the hash that tells apart equal names of different crates.
            return format!("{rust:#}");
        }
        if let Some(text) = demangle_cpp(name) {
            return text;
        }
    }
    name.to_owned()
}

fn demangle_cpp(name: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let mut text = Bounded(String::new());
    symbol
        .structured_demangle(&mut text, &DemangleOptions::default())
        .ok()?;
    Some(text.0)
}

/// A string that stops growing: a short mangled name can refer to its own parts so often that
/// its text fills the memory. (The demangler for Rust has a limit of its own.)
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const LONGEST_TEXT: usize = 1 << 20;

        if self.0.len() + text.len() > LONGEST_TEXT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, demangle};

    #[test]
    fn a_mangled_name_is_made_readable() {
        for (mangled, name) in [
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Z3addii", "add(int, int)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
        ] {
            assert_eq!(demangle(mangled), name);
        }
    }

    #[test]
    fn a_name_that_is_not_mangled_is_left_alone() {
        // Each of them is the mangling of a C++ type, or looks like the beginning of one.
        for name in [
            "f", "i", "main", "v", "Pc", "_Z", "_R", "_Z!", "_Rx", "Z3addii", "",
        ] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn a_clone_keeps_its_suffix() {
        assert_eq!(demangle("spin.constprop.0"), "spin.constprop.0");
        assert!(demangle("_Z3addii.part.0").starts_with("add(int, int)"));
    }

    #[test]
    fn a_name_that_doubles_itself_is_left_alone() {
        // Each pair refers twice to the pair before: 2^100 letters in a few hundred bytes.
        let mut name = "_Z1f1A1BIS_S_E".to_owned();
        for index in 0..100 {
            let id = char::from_digit(index % 36, 36)
                .unwrap()
                .to_ascii_uppercase();
            let place = if index < 36 {
                format!("S{id}_")
            } else {
                format!("S{}{id}_", index / 36)
            };
            name += &format!("1BI{place}{place}E");
        }
        assert!(demangle(&name).len() <= 1 << 20);
    }

    #[test]
    fn an_endless_name_is_not_looked_into() {
        let name = format!("_Z{}", "P".repeat(LONGEST));
        assert_eq!(demangle(&name), name);
    }
}
