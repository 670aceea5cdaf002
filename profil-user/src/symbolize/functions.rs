//! The profile by function.

use std::collections::HashMap;

use super::{Name, Symbolizer, Ticks, WhyUnnamed};
use crate::profile::ObjectId;

/// Ticks of one function, or of one address that has no name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Function {
    /// What it lies in.
    pub object: ObjectId,
    /// Link-time address of the function, or the address that has no name.
    pub address: u64,
    /// The demangled name, untrusted; or why there is none.
    pub name: Result<String, WhyUnnamed>,
    /// What the symbol table calls it, if that is something else; untrusted.
    pub mangled: Option<String>,
    /// Ticks in user mode.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
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
    let mut places: HashMap<(ObjectId, u64), usize> = HashMap::new();
    let mut functions: Vec<Function> = Vec::new();
    for count in profile.into().counts {
        let (address, name, mangled) = match symbolizer.name_of(count.object, count.address) {
            Name::Function {
                name,
                mangled,
                start,
            } => (*start, Ok(name), mangled.as_ref()),
            Name::Unnamed(why) => (count.address, Err(*why), None),
        };
        let place = *places.entry((count.object, address)).or_insert_with(|| {
            functions.push(Function {
                object: count.object,
                address,
                name: name.cloned(),
                mangled: mangled.cloned(),
                user: 0,
                system: 0,
            });
            functions.len() - 1
        });
        functions[place].user += count.user;
        functions[place].system += count.system;
    }
    functions.sort_by(|a, b| {
        b.ticks()
            .cmp(&a.ticks())
            .then(a.object.cmp(&b.object))
            .then(a.address.cmp(&b.address))
    });
    functions
}
