//! Names as plain values, which outlive whoever looked them up.

use std::collections::HashMap;

use super::{Name, Source, Symbolizer, Ticks, WhyUnnamed};
use crate::profile::ObjectId;

/// What addresses of a profile are called, and where in the source they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    pub(crate) names: HashMap<(ObjectId, u64), Name>,
    pub(crate) sources: HashMap<(ObjectId, u64), Source>,
}

impl Names {
    /// The name of an address, if it was looked up.
    pub fn name_of(&self, object: ObjectId, address: u64) -> &Name {
        const UNKNOWN: &Name = &Name::Unnamed(WhyUnnamed::NotLookedUp);
        self.names.get(&(object, address)).unwrap_or(UNKNOWN)
    }

    /// Where in the source an address lies, if that was looked up and is known.
    pub fn source_of(&self, object: ObjectId, address: u64) -> Option<&Source> {
        self.sources.get(&(object, address))
    }
}

impl Symbolizer {
    /// All that it has looked up.
    pub fn names(&self) -> Names {
        Names {
            names: self.names.clone(),
            sources: self.sources.clone(),
        }
    }

    /// Looks up what of a profile has no name yet among those that were recorded with it, or no line
    /// if lines are asked for.
    ///
    /// What was recorded holds, as it was found where the profile was taken; and where neither knows a
    /// name, the reason from there does.
    pub fn complete<'a>(&mut self, profile: impl Into<Ticks<'a>>, recorded: &Names) {
        let wants_lines = self.lines.is_some();
        let is_done = |(key, name): &(&(ObjectId, u64), &Name)| {
            let has_lines = !wants_lines || recorded.sources.contains_key(key);
            matches!(name, Name::Function { .. }) && has_lines
        };
        let done = recorded.names.iter().filter(is_done);
        self.names
            .extend(done.map(|(key, name)| (*key, name.clone())));
        self.look_up(profile);
        for (key, name) in &recorded.names {
            let is_unnamed = || matches!(self.names.get(key), None | Some(Name::Unnamed(_)));
            if matches!(name, Name::Function { .. }) || is_unnamed() {
                self.names.insert(*key, name.clone());
            }
        }
        let sources = recorded.sources.iter();
        self.sources
            .extend(sources.map(|(key, source)| (*key, source.clone())));
    }
}
