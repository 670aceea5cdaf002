//! Rows of the daemon → bytes: a file for other tools, without what a file of record has beside it.
//!
//! The fields are those of a file of record (see the module above) with these differences. What a row says is all
//! that is known: there are no comments and no seal, so it is read as another tool's. Ticks of processes of one
//! name, cgroup and container are one sample for each address and mode, and none has a number of a process: a file of all
//! processes of a machine would be one of millions of samples otherwise, and stores that take such files make a
//! series of every label. What has no name is a function, too, of its object's name and the reason: stores show
//! functions and nothing else.
//!
//! Where the parts of an object lie in its file is not known here. Its mapping is all of 2^40 bytes from link-time
//! address 0, at a place of its own; so files of one build can be added up by address. Higher
//! addresses (of a kernel, of generated code) are in a second one, which is the whole address space.

use std::{
    collections::HashMap,
    hash::Hash,
    io::Write as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use flate2::GzBuilder;
use prost::Message as _;

use super::{
    schema::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType},
    strings::Strings,
    word,
    write::{LEVEL, signed},
};
use crate::serve::{ObjectLabel, ProcessLabel, Row, Spot};

/// Bytes of the mapping of an object with usual addresses.
const ROOM: u64 = 1 << 40;

/// Objects with a room of their own: far below where the address space ends.
const MOST_ROOMS: u64 = 1 << 22;

/// Writes rows as a file of pprof, compressed by gzip. A tick is worth `period_ns` nanoseconds of CPU time.
///
/// There are the values `ticks` in `count` and `cpu` in `nanoseconds`, and the labels `comm`, `cgroup`, `container` and
/// `mode` (`user` or `system`). Same rows in the same order, same bytes.
pub fn write_rows<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    period_ns: u64,
    began: SystemTime,
    elapsed: Duration,
) -> Vec<u8> {
    let mut file = PlainFile::default();
    for row in rows {
        let ticks = [row.user, row.system];
        let ns = ticks.map(|ticks| ticks.saturating_mul(period_ns));
        file.add(&row.process, &row.spot, row.address, ticks, ns);
    }
    file.finish(period_ns, began, elapsed)
}

/// A file that is made of rows, one after the other.
#[derive(Debug, Default)]
pub(crate) struct PlainFile {
    strings: Strings,
    file: Profile,
    /// The places of the samples, which are added up.
    samples: HashMap<(u64, u64, Mode), usize>,
    owners: Numbers<Owner>,
    /// The labels of the owners.
    labels: Vec<Vec<Label>>,
    /// Of an object and where its addresses are usual ones, and of where they are not.
    mappings: Numbers<(Arc<ObjectLabel>, bool)>,
    functions: Numbers<Arc<Spot>>,
    locations: Numbers<(u64, u64)>,
    rooms: u64,
}

/// Whose samples are added up: a process without its number.
type Owner = (Arc<str>, Arc<str>, Option<Arc<str>>);

/// In which mode a sample was taken.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Mode {
    User,
    System,
}

impl PlainFile {
    /// Adds ticks, and what they are worth in nanoseconds, each in user and in kernel mode.
    pub(crate) fn add(
        &mut self,
        process: &ProcessLabel,
        spot: &Arc<Spot>,
        address: u64,
        ticks: [u64; 2],
        ns: [u64; 2],
    ) {
        let owner = self.owner(process);
        let location = self.location(spot, address);
        for (place, mode) in [Mode::User, Mode::System].into_iter().enumerate() {
            if ticks[place] == 0 {
                continue;
            }
            let values = [signed(ticks[place]), signed(ns[place])];
            let next = self.file.sample.len();
            let place = *self.samples.entry((owner, location, mode)).or_insert(next);
            if let Some(sample) = self.file.sample.get_mut(place) {
                for (sum, value) in sample.value.iter_mut().zip(values) {
                    *sum = sum.saturating_add(value);
                }
                continue;
            }
            let mode = match mode {
                Mode::User => word::USER,
                Mode::System => word::SYSTEM,
            };
            let mode = label(&mut self.strings, word::MODE, mode);
            let of_owner = self.labels.get(owner as usize - 1);
            let of_owner = of_owner.into_iter().flatten().copied();
            self.file.sample.push(Sample {
                location_id: vec![location],
                value: values.to_vec(),
                label: [mode].into_iter().chain(of_owner).collect(),
            });
        }
    }

    /// The file.
    pub(crate) fn finish(
        mut self,
        period_ns: u64,
        began: SystemTime,
        elapsed: Duration,
    ) -> Vec<u8> {
        let mut value = |kind, unit| ValueType {
            kind: self.strings.place(kind),
            unit: self.strings.place(unit),
        };
        let ticks = value(word::TICKS, word::COUNT);
        let cpu = value(word::CPU, word::NANOSECONDS);
        let since = began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let file = Profile {
            sample_type: vec![ticks, cpu],
            default_sample_type: cpu.kind,
            period_type: Some(cpu),
            period: signed(period_ns),
            time_nanos: nanos(since),
            duration_nanos: nanos(elapsed),
            ..self.file
        };
        // Parts that follow one another are one file, so the texts can come last.
        let mut bytes = file.encode_to_vec();
        bytes.extend(self.strings.into_bytes());
        let mut packed = GzBuilder::new().write(Vec::new(), LEVEL);
        // A vector takes whatever is written to it.
        let _ = packed.write_all(&bytes);
        packed.finish().unwrap_or_default()
    }

    fn owner(&mut self, process: &ProcessLabel) -> u64 {
        let owner = (
            Arc::clone(&process.name),
            Arc::clone(&process.cgroup),
            process.container.clone(),
        );
        let (number, is_new) = self.owners.number(owner);
        if is_new {
            let texts = [
                (word::COMM, &process.name[..]),
                (word::CGROUP, &process.cgroup),
                (word::CONTAINER, process.container.as_deref().unwrap_or("")),
            ];
            let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
            let labels = texts.map(|(key, text)| label(&mut self.strings, key, text));
            self.labels.push(labels.collect());
        }
        number
    }

    fn location(&mut self, spot: &Arc<Spot>, address: u64) -> u64 {
        let function = self.function(spot);
        let (id, is_new) = self.locations.number((function, address));
        if is_new {
            let mapping = self.mapping(&spot.object, address);
            self.file.location.push(Location {
                id,
                mapping_id: mapping.id,
                address: mapping.memory_start.wrapping_add(address),
                line: vec![Line {
                    function_id: function,
                    line: 0,
                }],
            });
        }
        id
    }

    fn function(&mut self, spot: &Arc<Spot>) -> u64 {
        let (id, is_new) = self.functions.number(Arc::clone(spot));
        if is_new {
            let name = match spot.start {
                Some(_) => self.strings.place(&spot.function),
                None => {
                    let name = format!("{} {}", spot.object.name, spot.function);
                    self.strings.place(&name)
                }
            };
            self.file.function.push(Function {
                id,
                name,
                system_name: name,
                ..Function::default()
            });
        }
        id
    }

    /// The mapping of an object that holds an address of it.
    fn mapping(&mut self, object: &Arc<ObjectLabel>, address: u64) -> Mapping {
        let is_usual = address < ROOM && self.rooms < MOST_ROOMS;
        let (id, is_new) = self.mappings.number((Arc::clone(object), is_usual));
        if is_new {
            let file = match (&object.name[..], &object.path[..]) {
                ("[kernel]", _) => word::KERNEL,
                (name, "") => name,
                (_, path) => path,
            };
            let build_id = object.build_id.map(|id| id.to_string());
            let (memory_start, memory_limit) = match is_usual {
                true => (self.rooms * ROOM, (self.rooms + 1) * ROOM),
                false => (0, u64::MAX),
            };
            self.rooms += u64::from(is_usual);
            self.file.mapping.push(Mapping {
                id,
                memory_start,
                memory_limit,
                filename: self.strings.place(file),
                build_id: self.strings.place(&build_id.unwrap_or_default()),
                has_functions: true,
                ..Mapping::default()
            });
        }
        let mapping = self.file.mapping.get(id as usize - 1);
        mapping.copied().unwrap_or_default()
    }
}

/// A label that is a text.
fn label(strings: &mut Strings, key: &str, text: &str) -> Label {
    Label {
        key: strings.place(key),
        str: strings.place(text),
        num: 0,
    }
}

/// Numbers for things, from 1 on.
#[derive(Debug)]
struct Numbers<T>(HashMap<T, u64>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbers<T> {
    /// The number of a thing, and whether it has it only now.
    fn number(&mut self, thing: T) -> (u64, bool) {
        let next = self.0.len() as u64 + 1;
        let number = *self.0.entry(thing).or_insert(next);
        (number, number == next)
    }
}

#[cfg(test)]
mod tests;
