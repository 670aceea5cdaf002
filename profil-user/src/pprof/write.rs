//! Profile → bytes.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use flate2::{Compression, GzBuilder};
use prost::Message as _;

use super::{
    extension::Extension,
    functions::Functions,
    layout,
    parts::number,
    read::MOST_BYTES,
    saved::Record,
    schema::{self, Label, Line, Location, Mapping, Sample, ValueType},
    seal,
    strings::{Strings, bytes_of},
    wire::{Field, Fields, MOST_BYTES_OF_PART, MOST_PARTS},
    word,
};
use crate::{
    export::text,
    profile::{Count, Object, ObjectId, ObjectKind, Profile, TaskId},
    symbolize::Name,
};

/// Half the time of the usual level, for a tenth more bytes.
pub(super) const LEVEL: Compression = Compression::new(3);

/// How a file is packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Packing {
    /// By gzip, as the schema wants it.
    Gzip,
    /// Not at all.
    Plain,
}

/// Writes a profile.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(
    profile: &Profile,
    record: &Record,
    packing: Packing,
    mut out: impl Write,
) -> io::Result<()> {
    let parts = Writer::of(profile, record).finish();
    is_readable(&parts)?;
    match packing {
        Packing::Gzip => {
            // Without a time or a name of a file, which would differ from one time to the next.
            let mut out = GzBuilder::new().write(out, LEVEL);
            parts.iter().try_for_each(|part| out.write_all(part))?;
            out.finish().map(|_| ())
        }
        Packing::Plain => parts.iter().try_for_each(|part| out.write_all(part)),
    }
}

/// Nothing is written that would be refused when it is read.
pub(super) fn is_readable(parts: &[Vec<u8>]) -> io::Result<()> {
    let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
    let fields = || parts.iter().flat_map(|part| Fields::of(part));
    let count = fields().count();
    // Numbers of a million comments are one field, for example.
    let is_too_large = |field: Field<'_>| {
        let bytes = field.inner.map_or(0, <[u8]>::len);
        field.number != number::TEXT && bytes > MOST_BYTES_OF_PART
    };
    let has_too_large = fields().flatten().any(is_too_large);
    if bytes <= MOST_BYTES && count <= MOST_PARTS && !has_too_large {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!(
            "the profile has {count} samples, addresses and names in {} MiB, of which a file of record \
             holds {MOST_PARTS} in {} MiB at most; profile fewer processes, or without --per-thread",
            bytes >> 20,
            MOST_BYTES >> 20
        ),
    ))
}

/// The fields of a file, in the order of their numbers. What there is much of becomes bytes at once.
struct Writer<'a> {
    profile: &'a Profile,
    record: &'a Record,
    /// The types of the values.
    head: schema::Profile,
    /// What comes after the table of texts.
    tail: schema::Profile,
    samples: Vec<u8>,
    mappings: Vec<Mapping>,
    locations: Vec<u8>,
    functions: Functions<'a>,
    strings: Strings,
    slides: Vec<u64>,
    /// The objects of the mappings.
    owners: Vec<usize>,
    /// The mappings of the objects.
    by_object: HashMap<usize, Vec<usize>>,
    /// Of each count, the number of its location, once it has one.
    ids: Vec<u64>,
    /// How many locations have numbers.
    numbered: u64,
    /// The labels of both modes, once they were needed.
    modes: [Option<Label>; 2],
    /// Locations that are at odd addresses themselves.
    odd: Vec<u64>,
}

impl<'a> Writer<'a> {
    fn of(profile: &'a Profile, record: &'a Record) -> Self {
        let mut writer = Self::new(profile, record);
        writer.mappings();
        if profile.tasks.is_empty() {
            for count in &profile.counts {
                writer.samples(TaskId::ALL, count);
            }
        } else {
            for (task, count) in &profile.by_task {
                writer.samples(*task, count);
            }
        }
        writer
    }

    fn new(profile: &'a Profile, record: &'a Record) -> Self {
        let mut strings = Strings::default();
        let mut value = |kind: &str, unit: &str| ValueType {
            kind: strings.place(kind),
            unit: strings.place(unit),
        };
        let ticks = value(word::TICKS, word::COUNT);
        let cpu = value(word::CPU, word::NANOSECONDS);
        let head = schema::Profile {
            sample_type: vec![ticks, cpu],
            ..schema::Profile::default()
        };
        let tail = schema::Profile {
            default_sample_type: cpu.kind,
            period_type: Some(cpu),
            period: signed(profile.rate.period_ns()),
            time_nanos: record.began_ns,
            duration_nanos: i64::try_from(profile.elapsed.as_nanos()).unwrap_or(i64::MAX),
            ..schema::Profile::default()
        };
        Self {
            slides: layout::slides(profile, &record.names, &record.pieces),
            profile,
            record,
            head,
            tail,
            samples: Vec::new(),
            mappings: Vec::new(),
            locations: Vec::new(),
            functions: Functions::default(),
            strings,
            owners: Vec::new(),
            by_object: HashMap::new(),
            ids: vec![0; profile.counts.len()],
            numbered: 0,
            modes: [None; 2],
            odd: Vec::new(),
        }
    }

    /// The executable's come first, as the schema has it.
    fn mappings(&mut self) {
        let objects = self.profile.objects.iter().enumerate();
        let (main, others): (Vec<_>, Vec<_>) = objects.partition(|(_, object)| object.is_main);
        for (index, object) in main.into_iter().chain(others) {
            let filename = self.strings.place(&filename(object));
            let build_id = object.build_id.map(|id| id.to_string());
            let build_id = self.strings.place(&build_id.unwrap_or_default());
            let slide = self.slides[index];
            for piece in self.record.pieces.get(index).into_iter().flatten() {
                let mappings = self.by_object.entry(index).or_default();
                mappings.push(self.owners.len());
                self.owners.push(index);
                self.mappings.push(Mapping {
                    id: self.owners.len() as u64,
                    memory_start: piece.start.wrapping_add(slide),
                    memory_limit: piece.end.wrapping_add(slide),
                    file_offset: piece.offset,
                    filename,
                    build_id,
                    ..Mapping::default()
                });
            }
        }
    }

    /// The samples of an address: one for each mode.
    fn samples(&mut self, task: TaskId, count: &Count) {
        let location = self.location(count);
        let common = self.labels(task, count);
        let mut one = schema::Profile::default();
        let modes = [(word::USER, count.user), (word::SYSTEM, count.system)];
        for (index, (mode, ticks)) in modes.into_iter().enumerate() {
            if ticks == 0 {
                continue;
            }
            let ns = ticks.saturating_mul(self.profile.rate.period_ns());
            let known = self.modes[index];
            let mode = known.unwrap_or_else(|| self.text_label(word::MODE, mode));
            self.modes[index] = Some(mode);
            one.sample.clear();
            one.sample.push(Sample {
                location_id: vec![location],
                value: vec![signed(ticks), signed(ns)],
                label: [mode].into_iter().chain(common.iter().copied()).collect(),
            });
            append(&mut self.samples, &one);
        }
    }

    fn labels(&mut self, task: TaskId, count: &Count) -> Vec<Label> {
        let mut labels = Vec::new();
        if let Some(index) = task.index() {
            let task = &self.profile.tasks[index];
            labels.push(self.number_label(word::PID, task.tgid.into()));
            if let Some(tid) = task.tid {
                labels.push(self.number_label(word::TID, tid.into()));
            }
            labels.push(self.text_label(word::COMM, &task.name));
            labels.push(self.number_label(word::TASK, index as i64 + 1));
        }
        if let Name::Unnamed(why) = self.record.names.name_of(count.object, count.address) {
            labels.push(self.text_label(word::UNNAMED, &why.to_string()));
        }
        labels
    }

    fn text_label(&mut self, key: &str, text: &str) -> Label {
        Label {
            key: self.strings.place(key),
            str: self.strings.place(text),
            num: 0,
        }
    }

    fn number_label(&mut self, key: &str, num: i64) -> Label {
        Label {
            key: self.strings.place(key),
            str: 0,
            num,
        }
    }

    /// The number of the location of a count, which is written if it is a new one.
    fn location(&mut self, count: &Count) -> u64 {
        let key = |one: &Count| (one.object, one.address);
        let counts = &self.profile.counts;
        let place = counts.binary_search_by_key(&key(count), key);
        if let Some(&id) = place.ok().and_then(|place| self.ids.get(place))
            && id != 0
        {
            return id;
        }
        self.numbered += 1;
        let id = self.numbered;
        if let Ok(place) = place {
            self.ids[place] = id;
        }
        let line = self.functions.lines(count, self.record, &mut self.strings);
        let object = self.profile.object(count.object);
        let address = layout::written(object, count.address);
        if layout::even(object, address) != count.address {
            self.odd.push(id);
        }
        let address = address.wrapping_add(self.slides[count.object.index()]);
        let mapping_id = match self.mapping_of(count.object, address) {
            Some(index) => {
                self.flag(index, &line);
                self.mappings[index].id
            }
            None => 0,
        };
        let location = Location {
            id,
            mapping_id,
            address,
            line,
        };
        let one = schema::Profile {
            location: vec![location],
            ..schema::Profile::default()
        };
        append(&mut self.locations, &one);
        id
    }

    /// The mapping of an object that holds an address, which is moved already.
    fn mapping_of(&self, object: ObjectId, address: u64) -> Option<usize> {
        let mut of_object = self.by_object.get(&object.index())?.iter().copied();
        of_object.find(|&index| layout::holds(&self.mappings[index], address))
    }

    /// Says what a mapping has, now that these lines are in it.
    fn flag(&mut self, mapping: usize, lines: &[Line]) {
        let mapping = &mut self.mappings[mapping];
        mapping.has_functions |= !lines.is_empty();
        mapping.has_inline_frames |= lines.len() > 1;
        for line in lines {
            mapping.has_filenames |= self.functions.is_in_file(line.function_id);
            mapping.has_line_numbers |= line.line != 0;
        }
    }

    /// Comments and seals it, and returns the parts of the file.
    fn finish(mut self) -> [Vec<u8>; 8] {
        let profile = self.profile;
        let (functions, starts) = self.functions.into_parts();
        let extension = Extension {
            subject: profile.subject.clone(),
            rate: profile.rate,
            elapsed: profile.elapsed,
            balance: profile.balance,
            objects: profile.objects.clone(),
            slides: self.slides,
            mappings: self.owners,
            starts,
            odd: self.odd,
            tasks: profile.tasks.clone(),
            buffers: profile.buffers.clone(),
            notes: profile.notes.clone(),
        };
        let notes = profile.notes.iter();
        let notes = notes.map(|note| format!("note: {}", text::note_text(profile, note)));
        let balance = text::balance(&profile.balance);
        let strings = &mut self.strings;
        let comments = extension.lines().into_iter().chain(notes).chain([balance]);
        self.tail.comment = comments.map(|comment| strings.place(&comment)).collect();
        let seal_place = strings.count() as i64;
        let mappings = schema::Profile {
            mapping: self.mappings,
            ..schema::Profile::default()
        };
        let mut parts = [
            self.head.encode_to_vec(),
            self.samples,
            mappings.encode_to_vec(),
            self.locations,
            functions,
            self.strings.into_bytes(),
            Vec::new(),
            self.tail.encode_to_vec(),
        ];
        let mut crc = crc32fast::Hasher::new();
        parts.iter().for_each(|part| crc.update(part));
        let [.., seal, tail] = &mut parts;
        *seal = bytes_of(&seal::of(crc.finalize()));
        self.tail.comment.push(seal_place);
        *tail = self.tail.encode_to_vec();
        parts
    }
}

/// Puts the fields of a part of a file behind the others: parts that follow one another are one file
/// (<https://protobuf.dev/programming-guides/encoding/#last-one-wins>).
pub(super) fn append(bytes: &mut Vec<u8>, part: &schema::Profile) {
    bytes.extend(part.encode_to_vec());
}

fn filename(object: &Object) -> String {
    match &object.kind {
        ObjectKind::File { path, .. } => path.to_string_lossy().into_owned(),
        ObjectKind::Vdso => word::VDSO.to_owned(),
        ObjectKind::Kernel => word::KERNEL.to_owned(),
        ObjectKind::Anonymous { .. } => word::ANONYMOUS.to_owned(),
        ObjectKind::Nowhere(_) => object.name(),
    }
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
