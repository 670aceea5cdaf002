//! Files of other tools: perf's, pprof's own, those of Go programs. Enough of them for a flat profile.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
};

use super::{
    error::{PprofError, damaged},
    parts::Parts,
    schema::{self, Location, Mapping},
    strings::Texts,
    word,
};
use crate::{
    profile::{BuildId, Count, Object, ObjectId, ObjectKind, Unresolved},
    symbolize::{Inlined, Line, Name, Names, Source, open_offline},
    target::ObjectFile,
};

/// What a file of another tool's says of where time went.
#[derive(Clone, Debug)]
pub struct Other {
    /// What was counted, and in which unit.
    pub value: (Arc<str>, Arc<str>),
    /// The unit that a value is shown in, and how many make one of it.
    pub shown: (Arc<str>, f64),
    /// What the samples are in.
    pub objects: Vec<Object>,
    /// Values of the innermost places, all of them as user ticks. An address in a file is its place
    /// in it; what has a name has a number of its own instead.
    pub counts: Vec<Count>,
    /// The names.
    pub names: Names,
    /// How many samples it has.
    pub samples: usize,
    /// What it says of itself.
    pub comments: Vec<Arc<str>>,
    pub(crate) files: Vec<Option<Arc<ObjectFile>>>,
}

/// Numbers of places with a name begin here. No file is that large.
const NAMED: u64 = 1 << 63;

/// More is not believed: sums of a few such numbers cannot overflow.
const MOST: u64 = 1 << 58;

impl Other {
    pub(super) fn of(parts: &Parts<'_>) -> Result<Self, PprofError> {
        let mut reader = Reader::of(parts)?;
        let place = reader.choose_value()?;
        let (value, shown) = reader.units(place)?;
        let mut counts: BTreeMap<(ObjectId, u64), u64> = BTreeMap::new();
        let mut total = 0_u64;
        parts.each_sample(|sample| {
            let ticks = sample
                .value
                .get(place)
                .map_or(0, |&value| value.max(0) as u64);
            total = total.saturating_add(ticks);
            if total > MOST {
                return damaged("values that are too large to be added up");
            }
            let key = match sample.location_id.first() {
                Some(&id) => reader.place(id)?,
                None => (reader.object_of(0)?, 0),
            };
            if ticks > 0 {
                *counts.entry(key).or_default() += ticks;
            }
            Ok(())
        })?;
        let comments = parts.texts.all(&parts.rest.comment)?.into_iter();
        let comments = comments.filter(|comment| !comment.starts_with('#'));
        let comments = comments.map(Arc::clone).collect();
        Ok(Self {
            value,
            shown,
            files: vec![None; reader.objects.len()],
            objects: reader.objects,
            counts: counts.into_iter().map(count).collect(),
            names: reader.names,
            samples: parts.sample_count(),
            comments,
        })
    }

    /// All that was counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(Count::ticks).sum()
    }

    /// Opens the files of the objects, if they still are of the same build; those that have gone are
    /// looked for in `debug_dirs`, by build id. Places in a file become link-time addresses.
    pub fn open_files(&mut self, debug_dirs: &[PathBuf]) {
        let mut counts: BTreeMap<(ObjectId, u64), u64> = BTreeMap::new();
        for index in 0..self.objects.len() {
            self.files[index] = open_offline(&self.objects[index], debug_dirs);
        }
        for old in &self.counts {
            let file = self.files[old.object.index()].as_ref();
            let link = file.filter(|_| old.address < NAMED);
            let link = link.and_then(|file| file.link_address(old.address));
            // What the file does not have stays what it is, and has no name.
            let key = (old.object, link.unwrap_or(old.address));
            *counts.entry(key).or_default() += old.user;
        }
        self.counts = counts.into_iter().map(count).collect();
        for (object, file) in self.objects.iter_mut().zip(&self.files) {
            if let (ObjectKind::File { class, .. }, Some(file)) = (&mut object.kind, file) {
                *class = Some(file.class());
            }
        }
    }
}

const fn count(((object, address), user): ((ObjectId, u64), u64)) -> Count {
    Count {
        object,
        address,
        user,
        system: 0,
    }
}

struct Reader<'a> {
    parts: &'a Parts<'a>,
    file: &'a schema::Profile,
    texts: &'a Texts,
    /// Their places.
    locations: HashMap<u64, usize>,
    mappings: HashMap<u64, &'a Mapping>,
    functions: HashMap<u64, &'a schema::Function>,
    objects: Vec<Object>,
    by_mapping: HashMap<u64, ObjectId>,
    by_file: HashMap<(i64, i64), ObjectId>,
    /// Functions of one name are one: a number for each.
    by_name: HashMap<(ObjectId, Arc<str>), u64>,
    places: HashMap<u64, (ObjectId, u64)>,
    names: Names,
}

impl<'a> Reader<'a> {
    fn of(parts: &'a Parts<'a>) -> Result<Self, PprofError> {
        let file = &parts.rest;
        let mut locations = Vec::with_capacity(parts.location_count());
        for place in 0..parts.location_count() {
            locations.extend(parts.location(place)?.map(|location| (location.id, place)));
        }
        let mappings = file.mapping.iter().map(|one| (one.id, one));
        let functions = file.function.iter().map(|one| (one.id, one));
        Ok(Self {
            parts,
            file,
            texts: &parts.texts,
            locations: by_id(locations.into_iter(), "location")?,
            mappings: by_id(mappings, "mapping")?,
            functions: by_id(functions, "function")?,
            objects: Vec::new(),
            by_mapping: HashMap::new(),
            by_file: HashMap::new(),
            by_name: HashMap::new(),
            places: HashMap::new(),
            names: Names::default(),
        })
    }

    fn text(&self, place: i64) -> Result<Arc<str>, PprofError> {
        self.texts.get(place).map(Arc::clone)
    }

    /// Counts rather than time, where a file has both; else what it says is the default, or the last.
    fn choose_value(&self) -> Result<usize, PprofError> {
        let types = &self.file.sample_type;
        for (index, one) in types.iter().enumerate() {
            let (kind, unit) = (self.text(one.kind)?, self.text(one.unit)?);
            if &*unit == word::COUNT && matches!(&*kind, "samples" | word::TICKS | word::CPU) {
                return Ok(index);
            }
        }
        let default = self.file.default_sample_type;
        let by_name = types
            .iter()
            .position(|one| default != 0 && one.kind == default);
        Ok(by_name.unwrap_or(types.len() - 1))
    }

    /// What a value is, and how it is shown: counts in seconds, if the period tells how long each
    /// is.
    #[expect(clippy::type_complexity, reason = "two pairs")]
    fn units(&self, place: usize) -> Result<((Arc<str>, Arc<str>), (Arc<str>, f64)), PprofError> {
        const SECONDS: &str = "seconds";

        let value = self.file.sample_type[place];
        let value = (self.text(value.kind)?, self.text(value.unit)?);
        let period_unit = match self.file.period_type {
            Some(period) => self.text(period.unit)?,
            None => "".into(),
        };
        let period = self.file.period as f64;
        let shown = match &*value.1 {
            word::NANOSECONDS => (SECONDS.into(), 1e9),
            "microseconds" => (SECONDS.into(), 1e6),
            "milliseconds" => (SECONDS.into(), 1e3),
            word::COUNT if &*period_unit == word::NANOSECONDS && period > 0.0 => {
                (SECONDS.into(), 1e9 / period)
            }
            _ => (Arc::clone(&value.1), 1.0),
        };
        Ok((value, shown))
    }

    /// The object of a mapping; 0 is none.
    fn object_of(&mut self, mapping: u64) -> Result<ObjectId, PprofError> {
        if let Some(&id) = self.by_mapping.get(&mapping) {
            return Ok(id);
        }
        let found = self.mappings.get(&mapping).copied();
        if found.is_none() && mapping != 0 {
            return damaged(format!("there is no mapping number {mapping}"));
        }
        let (filename, build_id) = found.map_or((0, 0), |found| (found.filename, found.build_id));
        let next = ObjectId::new(self.objects.len());
        let id = *self.by_file.entry((filename, build_id)).or_insert(next);
        self.by_mapping.insert(mapping, id);
        if id == next {
            let name = self.text(filename)?;
            let build_id: Option<BuildId> = self.text(build_id)?.parse().ok();
            self.objects.push(Object {
                kind: kind_of(&name),
                is_main: false,
                build_id,
                text: Vec::new(),
            });
        }
        Ok(id)
    }

    /// Where a location is.
    fn place(&mut self, id: u64) -> Result<(ObjectId, u64), PprofError> {
        if let Some(&place) = self.places.get(&id) {
            return Ok(place);
        }
        let place = self.locations.get(&id);
        let Some(location) = place.map_or(Ok(None), |&place| self.parts.location(place))? else {
            return damaged(format!("there is no location number {id}"));
        };
        let object = self.object_of(location.mapping_id)?;
        let place = if location.line.is_empty() {
            let mapping = self.mappings.get(&location.mapping_id);
            let start = mapping.map_or(0, |mapping| {
                mapping.memory_start.wrapping_sub(mapping.file_offset)
            });
            let is_file = matches!(self.objects[object.index()].kind, ObjectKind::File { .. });
            let start = if is_file { start } else { 0 };
            (object, location.address.wrapping_sub(start) & !NAMED)
        } else {
            let place = (object, NAMED | id);
            self.name(place, &location)?;
            place
        };
        self.places.insert(id, place);
        Ok(place)
    }

    /// Notes the name of the innermost function, and where in the source it is.
    fn name(&mut self, place: (ObjectId, u64), location: &Location) -> Result<(), PprofError> {
        let mut lines = Vec::new();
        for line in &location.line {
            let Some(function) = self.functions.get(&line.function_id) else {
                return damaged(format!("there is no function number {}", line.function_id));
            };
            let name = Arc::clone(self.texts.name(function.name)?);
            let mangled = Arc::clone(self.texts.name(function.system_name)?);
            let number = u32::try_from(line.line).ok().filter(|&number| number > 0);
            let filename = Arc::clone(self.texts.name(function.filename)?);
            lines.push(Inlined {
                mangled: (mangled != name && !mangled.is_empty()).then_some(mangled),
                name,
                line: number.filter(|_| !filename.is_empty()).map(|number| Line {
                    file: filename,
                    number,
                }),
            });
        }
        let Some(innermost) = lines.into_iter().next() else {
            return Ok(());
        };
        let next = NAMED | self.by_name.len() as u64;
        let key = (place.0, Arc::clone(&innermost.name));
        let start = *self.by_name.entry(key).or_insert(next);
        let source = Source {
            line: innermost.line,
            inlined: Vec::new(),
        };
        let name = Name::Function {
            name: innermost.name,
            mangled: innermost.mangled,
            start,
        };
        self.names.names.insert(place, name);
        self.names.sources.insert(place, source);
        Ok(())
    }
}

fn kind_of(name: &str) -> ObjectKind {
    match name {
        "" => ObjectKind::Nowhere(Unresolved::Unmapped),
        word::VDSO => ObjectKind::Vdso,
        word::ANONYMOUS => ObjectKind::Anonymous { tgid: 0 },
        kernel if kernel.starts_with("[kernel.kallsyms]") => ObjectKind::Kernel,
        _ => ObjectKind::File {
            path: name.into(),
            class: None,
        },
    }
}

fn by_id<T>(
    list: impl ExactSizeIterator<Item = (u64, T)>,
    what: &str,
) -> Result<HashMap<u64, T>, PprofError> {
    let mut found = HashMap::with_capacity(list.len());
    for (id, one) in list {
        if id == 0 || found.insert(id, one).is_some() {
            return damaged(format!("two of {what} number {id}, or 0"));
        }
    }
    Ok(found)
}
