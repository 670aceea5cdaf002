//! The profile by function.

use std::collections::HashMap;

use super::{Name, Symbolizer, WhyUnnamed};
use crate::{profile::ObjectId, session::Taken};

/// Ticks of one function, or of one address that has no name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Function {
    /// What it lies in.
    pub object: ObjectId,
    /// Link-time address of the function, or the address that has no name.
    pub address: u64,
    /// The demangled name, untrusted; or why there is none.
    pub name: Result<String, WhyUnnamed>,
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
pub fn functions(taken: &Taken, symbolizer: &Symbolizer) -> Vec<Function> {
    let mut places: HashMap<(ObjectId, u64), usize> = HashMap::new();
    let mut functions: Vec<Function> = Vec::new();
    for count in &taken.profile.counts {
        let (address, name) = match symbolizer.name_of(count.object, count.address) {
            Name::Function { name, start } => (*start, Ok(name)),
            Name::Unnamed(why) => (count.address, Err(*why)),
        };
        let place = *places.entry((count.object, address)).or_insert_with(|| {
            functions.push(Function {
                object: count.object,
                address,
                name: name.cloned(),
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
