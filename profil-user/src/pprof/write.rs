//! Profile → bytes.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use flate2::{Compression, GzBuilder};
use prost::Message as _;

use super::{
    extension::Extension,
    layout,
    saved::Record,
    schema::{self, Function, Label, Line, Location, Mapping, Sample, ValueType},
    seal,
    strings::Strings,
    word,
};
use crate::{
    export::text,
    profile::{Count, Object, ObjectId, ObjectKind, Profile, TaskId},
    symbolize::{self, Name, Source},
};

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
    let bytes = file_of(profile, record).encode_to_vec();
    match packing {
        Packing::Gzip => {
            // Without a time or a name of a file, which would differ from one time to the next.
            let mut out = GzBuilder::new().write(out, Compression::default());
            out.write_all(&bytes)?;
            out.finish().map(|_| ())
        }
        Packing::Plain => out.write_all(&bytes),
    }
}

pub(super) fn file_of(profile: &Profile, record: &Record) -> schema::Profile {
    let mut writer = Writer::new(profile, record);
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
    writer.finish()
}

struct Writer<'a> {
    profile: &'a Profile,
    record: &'a Record,
    file: schema::Profile,
    strings: Strings,
    slides: Vec<u64>,
    /// The objects of the mappings.
    owners: Vec<usize>,
    /// The mappings of the objects.
    by_object: HashMap<usize, Vec<usize>>,
    locations: HashMap<(ObjectId, u64), u64>,
    functions: HashMap<(ObjectId, Option<u64>, Function), u64>,
    /// Where the functions start.
    starts: Vec<Option<u64>>,
    /// Locations that are at odd addresses themselves.
    odd: Vec<u64>,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, record: &'a Record) -> Self {
        let mut strings = Strings::default();
        let mut value = |kind: &str, unit: &str| ValueType {
            kind: strings.place(kind),
            unit: strings.place(unit),
        };
        let ticks = value(word::TICKS, word::COUNT);
        let cpu = value(word::CPU, word::NANOSECONDS);
        let file = schema::Profile {
            sample_type: vec![ticks, cpu],
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
            file,
            strings,
            owners: Vec::new(),
            by_object: HashMap::new(),
            locations: HashMap::new(),
            functions: HashMap::new(),
            starts: Vec::new(),
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
                self.file.mapping.push(Mapping {
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
        for (mode, ticks) in [(word::USER, count.user), (word::SYSTEM, count.system)] {
            if ticks == 0 {
                continue;
            }
            let ns = ticks.saturating_mul(self.profile.rate.period_ns());
            let mode = self.text_label(word::MODE, mode);
            self.file.sample.push(Sample {
                location_id: vec![location],
                value: vec![signed(ticks), signed(ns)],
                label: [mode].into_iter().chain(common.iter().copied()).collect(),
            });
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

    fn location(&mut self, count: &Count) -> u64 {
        let key = (count.object, count.address);
        if let Some(&id) = self.locations.get(&key) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(key, id);
        let line = self.lines(count);
        let index = count.object.index();
        let address = layout::written(self.profile.object(count.object), count.address);
        if layout::even(self.profile.object(count.object), address) != count.address {
            self.odd.push(id);
        }
        let address = address.wrapping_add(self.slides[index]);
        let mapping_id = self.mapping_of(count.object, address);
        self.file.location.push(Location {
            id,
            mapping_id,
            address,
            line,
        });
        id
    }

    /// The mapping of an object that holds an address, which is moved already.
    fn mapping_of(&self, object: ObjectId, address: u64) -> u64 {
        let of_object = self.by_object.get(&object.index());
        let holds = |&&index: &&usize| layout::holds(&self.file.mapping[index], address);
        let index = of_object.and_then(|indices| indices.iter().find(holds));
        index.map_or(0, |&index| self.file.mapping[index].id)
    }

    /// Names and lines, the innermost first.
    fn lines(&mut self, count: &Count) -> Vec<Line> {
        let record = self.record;
        let Name::Function {
            name,
            mangled,
            start,
        } = record.names.name_of(count.object, count.address)
        else {
            return Vec::new();
        };
        let source = record.names.source_of(count.object, count.address);
        let inlined = source.map_or(&[][..], |source| &source.inlined);
        let mut lines: Vec<_> = inlined
            .iter()
            .rev()
            .map(|inlined| {
                let system_name = inlined.mangled.as_ref().unwrap_or(&inlined.name);
                self.line(
                    count.object,
                    None,
                    (&inlined.name, system_name),
                    inlined.line.as_ref(),
                )
            })
            .collect();
        let system_name = mangled.as_ref().unwrap_or(name);
        let line = source.and_then(|source: &Source| source.line.as_ref());
        lines.push(self.line(count.object, Some(*start), (name, system_name), line));
        lines
    }

    fn line(
        &mut self,
        object: ObjectId,
        start: Option<u64>,
        (name, system_name): (&str, &str),
        line: Option<&symbolize::Line>,
    ) -> Line {
        let function = Function {
            id: 0,
            name: self.strings.place(name),
            system_name: self.strings.place(system_name),
            filename: self.strings.place(line.map_or("", |line| &line.file)),
            start_line: 0,
        };
        let next = self.starts.len() as u64 + 1;
        let id = *self
            .functions
            .entry((object, start, function))
            .or_insert(next);
        if id == next {
            self.starts.push(start);
            self.file.function.push(Function { id, ..function });
        }
        Line {
            function_id: id,
            line: line.map_or(0, |line| line.number.into()),
        }
    }

    /// Says what mappings have, comments, and seals it.
    fn finish(mut self) -> schema::Profile {
        self.flags();
        let profile = self.profile;
        let extension = Extension {
            subject: profile.subject.clone(),
            rate: profile.rate,
            elapsed: profile.elapsed,
            balance: profile.balance,
            objects: profile.objects.clone(),
            slides: self.slides,
            mappings: self.owners,
            starts: self.starts,
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
        self.file.comment = comments.map(|comment| strings.place(&comment)).collect();
        self.file.string_table = self.strings.into_table();
        seal::put(&mut self.file);
        self.file
    }

    fn flags(&mut self) {
        let functions = &self.file.function;
        for location in &self.file.location {
            let Some(mapping) = (location.mapping_id as usize)
                .checked_sub(1)
                .and_then(|index| self.file.mapping.get_mut(index))
            else {
                continue;
            };
            mapping.has_functions |= !location.line.is_empty();
            mapping.has_inline_frames |= location.line.len() > 1;
            for line in &location.line {
                let function = &functions[line.function_id as usize - 1];
                mapping.has_filenames |= function.filename != 0;
                mapping.has_line_numbers |= line.line != 0;
            }
        }
    }
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

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
