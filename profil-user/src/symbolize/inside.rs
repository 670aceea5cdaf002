//! The inside of functions: where one ends, and on which lines its instructions are.

use super::{
    Line, Name, Symbolizer, Ticks, WhyUnnamed, extents, file_of,
    image::{Image, Places},
    lines::Lines,
    path_of,
    symbols::Symbols,
    texts::Texts,
};
use crate::{profile::ObjectId, target::ObjectFile};

/// One object, looked into for the sake of a function.
pub(crate) struct Inside<'a> {
    file: &'a ObjectFile,
    image: Image,
    symbols: Symbols,
    lines: Lines,
    texts: Texts,
}

impl Symbolizer {
    /// Looks into an object, debug information included, whatever the symbolizer itself looks up.
    pub(crate) fn look_inside<'a>(
        &self,
        ticks: &Ticks<'a>,
        object: ObjectId,
    ) -> Result<Inside<'a>, WhyUnnamed> {
        let file = file_of(ticks, object)?;
        let places = Places {
            roots: ticks.roots(),
            dirs: &self.debug_dirs,
            lines: true,
        };
        let path = path_of(&ticks.objects[object.index()]);
        Ok(Inside {
            file,
            image: Image::read(file, path, &places)?,
            symbols: Symbols::new(),
            lines: Lines::new(&self.debug_dirs, false),
            texts: Texts::default(),
        })
    }
}

impl<'a> Inside<'a> {
    /// The object's own file: what was mapped, or a file of the same build.
    pub(crate) const fn file(&self) -> &'a ObjectFile {
        self.file
    }

    /// Whether an address is in code that the file holds: a debug file says where code is, and does
    /// not have it.
    pub(crate) fn holds_code(&self, address: u64) -> bool {
        !self.image.own_sections().is_elsewhere(address)
    }

    /// The first address past the function that starts at `start`, if a symbol table knows it.
    pub(crate) fn end_of(&self, start: u64) -> Option<u64> {
        extents::end_of_function(self.image.sources(self.file), start)
    }

    /// The names of addresses of the object.
    pub(crate) fn names_at(&mut self, addresses: &[u64]) -> Vec<Name> {
        let sources = self.image.sources(self.file);
        self.symbols.names(sources, addresses, &mut self.texts)
    }

    /// Whether there are lines to be looked up.
    pub(crate) fn has_lines(&self) -> bool {
        self.image.lines(self.file).is_some()
    }

    /// The lines of addresses at which instructions begin.
    pub(crate) fn lines_at(&mut self, addresses: &[u64]) -> Vec<Option<Line>> {
        match self.image.lines(self.file) {
            Some(file) => self.lines.at(file, addresses, &mut self.texts),
            None => vec![None; addresses.len()],
        }
    }
}
