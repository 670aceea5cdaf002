//! The functions of a file that is written.

use std::{collections::HashMap, sync::Arc};

use super::{
    saved::Record,
    schema::{self, Function, Line},
    strings::Strings,
    write::append,
};
use crate::{
    profile::{Count, ObjectId},
    symbolize::{self, Name, Source},
};

/// Functions, each once, in the order in which they were spoken of. They have numbers from 1.
#[derive(Default)]
pub(super) struct Functions<'a> {
    /// As they are in the file.
    bytes: Vec<u8>,
    known: HashMap<Key, u64>,
    /// That of which was spoken last, where it was not known in which line: addresses of one function
    /// follow one another.
    last: Option<(ObjectId, u64, Called<'a>, Line)>,
    /// Where they start.
    starts: Vec<Option<u64>>,
    /// Whether it is known in which file they are.
    in_files: Vec<bool>,
}

/// A name, and what the symbol table calls it if that is something else.
type Called<'a> = (&'a Arc<str>, Option<&'a Arc<str>>);

/// What makes a function one of its own: its object, where it starts, both names and the file.
type Key = (ObjectId, Option<u64>, [i64; 3]);

impl<'a> Functions<'a> {
    /// Names and lines, the innermost first.
    pub(super) fn lines(
        &mut self,
        count: &Count,
        record: &'a Record,
        strings: &mut Strings,
    ) -> Vec<Line> {
        let Name::Function {
            name,
            mangled,
            start,
        } = record.names.name_of(count.object, count.address)
        else {
            return Vec::new();
        };
        let source = record.names.source_of(count.object, count.address);
        if source.is_none()
            && let Some((object, at, called, line)) = self.last
            && (object, at) == (count.object, *start)
            && is_same(called, (name, mangled.as_ref()))
        {
            return vec![line];
        }
        let inlined = source.map_or(&[][..], |source| &source.inlined);
        let mut lines: Vec<_> = inlined
            .iter()
            .rev()
            .map(|inlined| {
                let system_name = inlined.mangled.as_ref().unwrap_or(&inlined.name);
                let names = (&*inlined.name, &**system_name);
                self.line(count.object, None, (names, inlined.line.as_ref()), strings)
            })
            .collect();
        let system_name = mangled.as_ref().unwrap_or(name);
        let line = source.and_then(|source: &Source| source.line.as_ref());
        let names = (&**name, &**system_name);
        let line = self.line(count.object, Some(*start), (names, line), strings);
        self.last =
            source
                .is_none()
                .then_some((count.object, *start, (name, mangled.as_ref()), line));
        lines.push(line);
        lines
    }

    fn line(
        &mut self,
        object: ObjectId,
        start: Option<u64>,
        ((name, system_name), line): ((&str, &str), Option<&symbolize::Line>),
        strings: &mut Strings,
    ) -> Line {
        let texts = [name, system_name, line.map_or("", |line| &line.file)];
        let texts = texts.map(|text| strings.place(text));
        let next = self.starts.len() as u64 + 1;
        let id = *self.known.entry((object, start, texts)).or_insert(next);
        if id == next {
            let [name, system_name, filename] = texts;
            let function = Function {
                id,
                name,
                system_name,
                filename,
                start_line: 0,
            };
            self.starts.push(start);
            self.in_files.push(filename != 0);
            let one = schema::Profile {
                function: vec![function],
                ..schema::Profile::default()
            };
            append(&mut self.bytes, &one);
        }
        Line {
            function_id: id,
            line: line.map_or(0, |line| line.number.into()),
        }
    }

    /// Whether the function with this number is in a file that is known.
    pub(super) fn is_in_file(&self, number: u64) -> bool {
        self.in_files[number as usize - 1]
    }

    /// They as they are in the file, and where they start.
    pub(super) fn into_parts(self) -> (Vec<u8>, Vec<Option<u64>>) {
        (self.bytes, self.starts)
    }
}

/// Whether both are certainly the same.
fn is_same((name, mangled): Called<'_>, (other, other_mangled): Called<'_>) -> bool {
    let are_same = match (mangled, other_mangled) {
        (None, None) => true,
        (Some(mangled), Some(other)) => Arc::ptr_eq(mangled, other),
        _ => false,
    };
    are_same && Arc::ptr_eq(name, other)
}
