//! From what a person calls a place to an address in the process.

use super::{layout_error::LayoutError, mappings::Mapping, objects::Objects};
use crate::{options::Start, profile::ObjectId};

/// Everything that a place can be in.
pub(super) struct Places<'a> {
    /// In the order of addresses, each with what it shows.
    pub(super) mappings: &'a [(Mapping, ObjectId)],
    pub(super) objects: &'a Objects,
}

impl Places<'_> {
    /// The address in the process at which something starts.
    ///
    /// # Errors
    ///
    /// If there is no such place, or an object cannot be looked through.
    pub(super) fn address(&self, start: &Start) -> Result<u64, LayoutError> {
        let not_found = || LayoutError::NotFound(start.to_string());
        let (object, name, plus) = match start {
            Start::Address(address) => return Ok(*address),
            Start::Named { object, name, plus } => (object.as_deref(), name.as_deref(), *plus),
        };
        match (object, name) {
            (Some(object), None) => self.in_object(object, plus).ok_or_else(not_found),
            (Some(object), Some(name)) => {
                let symbol = self.symbol(Some(object), name)?;
                symbol.map(|address| address + plus).ok_or_else(not_found)
            }
            (None, Some(name)) => {
                if let Some(address) = self.in_object(name, plus) {
                    return Ok(address);
                }
                let symbol = self.symbol(None, name)?;
                symbol.map(|address| address + plus).ok_or_else(not_found)
            }
            (None, None) => Err(not_found()),
        }
    }

    /// The address in the process of a link-time address in an object.
    fn in_object(&self, name: &str, link_address: u64) -> Option<u64> {
        let objects = self.objects;
        self.mappings
            .iter()
            .filter(|(_, object)| objects.list()[object.index()].name() == name)
            .find_map(|(mapping, object)| objects.address_of(*object, mapping, link_address))
    }

    /// The address in the process of a symbol: in the executable if it is there, else in the
    /// first object that has it.
    fn symbol(&self, object: Option<&str>, name: &str) -> Result<Option<u64>, LayoutError> {
        let objects = self.objects;
        let mut seen = Vec::new();
        for &(_, id) in self.mappings {
            let listed = &objects.list()[id.index()];
            if seen.contains(&id) || object.is_some_and(|object| listed.name() != object) {
                continue;
            }
            seen.push(id);
            let Some(file) = &objects.files()[id.index()] else {
                continue;
            };
            let found = file
                .symbols_named(name)
                .map_err(|error| LayoutError::Symbols {
                    object: listed.name(),
                    reason: error.to_string(),
                })?;
            let in_process = |link_address| {
                self.mappings
                    .iter()
                    .filter(|(_, other)| *other == id)
                    .find_map(|(mapping, _)| objects.address_of(id, mapping, link_address))
            };
            if let Some(address) = found.into_iter().find_map(in_process) {
                return Ok(Some(address));
            }
        }
        Ok(None)
    }
}
