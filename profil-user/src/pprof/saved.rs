//! What is in a file of ours: a profile, and what it takes to write it again.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use super::layout::{self, Piece};
use crate::{
    profile::{Count, ObjectId, Profile},
    session::Taken,
    symbolize::{Grouping, Name, Names, Symbolizer, open_offline},
    target::ObjectFile,
};

/// What a file holds beside the profile.
#[derive(Clone, Debug)]
pub struct Record {
    /// What addresses are called.
    pub names: Names,
    /// When the profile was begun, in nanoseconds since 1970.
    pub(crate) began_ns: i64,
    /// The parts of each object.
    pub(crate) pieces: Vec<Vec<Piece>>,
}

impl Record {
    /// What is known of a profile that was just taken, and of its addresses.
    pub fn of(taken: &Taken, symbolizer: &Symbolizer) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let began = now
            .unwrap_or_default()
            .saturating_sub(taken.profile.elapsed);
        let file = |index: usize| taken.files.get(index)?.as_deref();
        Self::with_files(
            &taken.profile,
            file,
            symbolizer.names(),
            began.as_nanos() as i64,
        )
    }

    pub(super) fn with_files<'a>(
        profile: &Profile,
        file: impl Fn(usize) -> Option<&'a ObjectFile>,
        names: Names,
        began_ns: i64,
    ) -> Self {
        let pieces = (0..profile.objects.len())
            .map(|index| layout::pieces(profile, ObjectId::new(index), file(index)))
            .collect();
        Self {
            names,
            began_ns,
            pieces,
        }
    }
}

/// A profile that was saved.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The profile.
    pub profile: Profile,
    /// What belongs to it.
    pub record: Record,
    /// Files that can give names to addresses, in the order of the objects.
    pub(crate) files: Vec<Option<Arc<ObjectFile>>>,
}

impl Saved {
    /// A profile without names, and without files until they are opened.
    pub fn new(profile: Profile) -> Self {
        let record = Record::with_files(&profile, |_| None, Names::default(), 0);
        Self::with(profile, record)
    }

    pub(crate) fn with(profile: Profile, record: Record) -> Self {
        Self {
            files: vec![None; profile.objects.len()],
            profile,
            record,
        }
    }

    /// Keeps what a symbolizer has looked up, and where in the files that are open the objects are.
    pub fn keep_names(&mut self, symbolizer: &Symbolizer) {
        let file = |index: usize| self.files.get(index)?.as_deref();
        let (names, began_ns) = (symbolizer.names(), self.record.began_ns);
        self.record = Record::with_files(&self.profile, file, names, began_ns);
    }

    /// Opens the files of the objects, if they still are of the same build; those that have gone are
    /// looked for in `debug_dirs`, by build id. An object of which every address has a name already needs
    /// none, unless lines are `wanted`.
    pub fn open_files(&mut self, debug_dirs: &[PathBuf], wanted: Grouping) {
        let names = &self.record.names;
        let is_known = |count: &Count| {
            let name = names.name_of(count.object, count.address);
            matches!(name, Name::Function { .. })
        };
        let objects = self.profile.objects.iter().enumerate();
        self.files = objects
            .map(|(index, object)| {
                let mut counts = self.profile.counts_in(ObjectId::new(index)).iter();
                let is_needed = wanted.needs_lines() || !counts.all(is_known);
                is_needed.then(|| open_offline(object, debug_dirs))?
            })
            .collect();
    }
}
