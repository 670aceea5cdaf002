//! Names as plain values, which outlive whoever looked them up.

use super::{ByAddress, Name, Source, Symbolizer, Ticks, WhyUnnamed};
use crate::profile::ObjectId;

/// What addresses of a profile are called, and where in the source they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    pub(crate) names: ByAddress<Name>,
    pub(crate) sources: ByAddress<Source>,
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

    /// The same, when it has done its work.
    pub fn into_names(self) -> Names {
        Names {
            names: self.names,
            sources: self.sources,
        }
    }

    /// Looks up what of a profile has no name yet among those that were recorded with it, or no line
    /// if lines are asked for.
    ///
    /// What was recorded holds, as it was found where the profile was taken; and where neither knows a
    /// name, the reason from there does.
    pub fn complete<'a>(&mut self, profile: impl Into<Ticks<'a>>, mut recorded: Names) {
        let wants_lines = self.lines.is_some();
        let is_function = |name: &Name| matches!(name, Name::Function { .. });
        let is_to_do = |key: &(ObjectId, u64), name: &Name| {
            !is_function(name) || wants_lines && !recorded.sources.contains(key)
        };
        let to_do = recorded.names.take_if(is_to_do);
        if self.names.is_empty() {
            // A million of them are moved as one.
            self.names = recorded.names;
        } else {
            self.names.extend(recorded.names.into_pairs());
        }
        self.look_up(profile);
        for (key, name) in to_do {
            let is_unnamed = || matches!(self.names.get(&key), None | Some(Name::Unnamed(_)));
            if is_function(&name) || is_unnamed() {
                self.names.insert(key, name);
            }
        }
        self.sources.extend(recorded.sources.into_pairs());
    }
}
