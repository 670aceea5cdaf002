//! Where in the source an address lies.

use std::sync::Arc;

/// Lines and inlined functions at an address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    /// Where the function itself is: the line, or that of the outermost call that was inlined.
    pub line: Option<Line>,
    /// The functions that were inlined there, each into the one before it.
    pub inlined: Vec<Inlined>,
}

/// A line of a source file.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Line {
    /// Its path, as the compiler wrote it. Untrusted: escape it before display.
    pub file: Arc<str>,
    /// The number of the line, from 1.
    pub number: u32,
}

/// A function that was inlined into another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Inlined {
    /// Demangled. Untrusted: escape it before display.
    pub name: Arc<str>,
    /// What a symbol table would call it, if that is something else. Untrusted, too.
    pub mangled: Option<Arc<str>>,
    /// The line in it: of the address, or of the call that was inlined.
    pub line: Option<Line>,
}

impl Source {
    /// The line of the address itself.
    pub fn innermost_line(&self) -> Option<&Line> {
        match self.inlined.last() {
            Some(inlined) => inlined.line.as_ref(),
            None => self.line.as_ref(),
        }
    }
}
