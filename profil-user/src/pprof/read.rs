//! Bytes → profile: ours, or that of another tool.
//!
//! Whoever wrote it may have meant harm: sizes are checked before anything is taken, and no number in
//! a file is used as a place before it was looked at.

use std::{collections::HashSet, io::Read as _, sync::Arc};

use flate2::read::MultiGzDecoder;

use super::{
    error::{PprofError, damaged},
    extension::Extension,
    layout::{self, Piece},
    other::Other,
    parts::Parts,
    saved::{Record, Saved},
    schema::{self, Location, Sample},
    strings::Texts,
    word,
};
use crate::{
    profile::{Count, ObjectId, Profile, TaskId},
    symbolize::{Inlined, Line, Name, Names, Source, WhyUnnamed},
};

/// Files are not read, and not unpacked, further than that.
pub const MOST_BYTES: u64 = 256 << 20;

/// How every compressed file begins (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// More ticks than that are not believed: sums of a few such numbers cannot overflow.
pub(crate) const MOST_TICKS: u64 = 1 << 58;

/// What was read.
#[derive(Clone, Debug)]
pub enum PprofFile {
    /// A profile of ours, whole.
    Saved(Box<Saved>),
    /// One of another tool, or that another tool has changed.
    Other(Box<Other>),
}

/// Whether a file that begins like this is compressed, as profiles are. A plain one begins like nothing.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP)
}

/// Reads a file, compressed or not.
///
/// # Errors
///
/// If it is none, or damaged.
pub fn read(bytes: &[u8]) -> Result<PprofFile, PprofError> {
    let unpacked;
    let bytes = if is_packed(bytes) {
        unpacked = unpack(bytes, MOST_BYTES)?;
        &unpacked
    } else {
        bytes
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(PprofError::TooLarge);
    }
    let parts = Parts::of(bytes)?;
    if parts.rest.sample_type.is_empty() {
        return Err(PprofError::NoValues);
    }
    if parts.is_sealed {
        Ok(PprofFile::Saved(Box::new(Reader::of(&parts)?.saved()?)))
    } else {
        Ok(PprofFile::Other(Box::new(Other::of(&parts)?)))
    }
}

/// Unpacks a file that becomes no larger than `most` bytes.
pub(super) fn unpack(bytes: &[u8], most: u64) -> Result<Vec<u8>, PprofError> {
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(most + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| PprofError::Packed(error.to_string()))?;
    if unpacked.len() as u64 > most {
        return Err(PprofError::TooLarge);
    }
    Ok(unpacked)
}

/// A file of ours.
struct Reader<'a> {
    parts: &'a Parts<'a>,
    file: &'a schema::Profile,
    texts: &'a Texts,
    extension: Extension,
    odd: HashSet<u64>,
}

impl<'a> Reader<'a> {
    fn of(parts: &'a Parts<'a>) -> Result<Self, PprofError> {
        let (file, texts) = (&parts.rest, &parts.texts);
        let comments = texts.all(&file.comment)?.into_iter().map(AsRef::as_ref);
        let extension = Extension::read(comments.filter(|line: &&str| line.starts_with('#')))?;
        if extension.mappings.len() != file.mapping.len()
            || extension.starts.len() != file.function.len()
        {
            return damaged("mappings or functions are missing");
        }
        Ok(Self {
            parts,
            file,
            texts,
            odd: extension.odd.iter().copied().collect(),
            extension,
        })
    }

    fn saved(self) -> Result<Saved, PprofError> {
        let mut names = Names::default();
        let mut by_task: Vec<(TaskId, Count)> = Vec::with_capacity(self.parts.sample_count());
        // A small file can have millions of samples at one location that is as large as a part can be.
        let mut seen: Vec<Option<Spot>> = vec![None; self.parts.location_count()];
        let mut total = 0_u64;
        self.parts.each_sample(|sample| {
            let &[id] = &sample.location_id[..] else {
                return damaged("a sample with callers");
            };
            let ticks = sample.value.first().map_or(0, |&ticks| ticks.max(0) as u64);
            // Where nothing ticked there is nothing to count; we write no such samples.
            if ticks == 0 {
                return Ok(());
            }
            let labels = self.labels(sample)?;
            let place = place_of(id);
            let known = place.and_then(|place| seen.get(place).copied().flatten());
            let spot = match known {
                Some(spot) => spot,
                None => self.spot(id, &mut names)?,
            };
            if let Some(seen) = place.and_then(|place| seen.get_mut(place)) {
                *seen = Some(spot);
            }
            let Spot {
                object,
                address,
                is_named,
            } = spot;
            if !is_named {
                let name = Name::Unnamed(labels.unnamed);
                names.names.insert((object, address), name);
            }
            total = total.saturating_add(ticks);
            if total > MOST_TICKS {
                return damaged("more ticks than there can be");
            }
            let (user, system) = if labels.is_system {
                (0, ticks)
            } else {
                (ticks, 0)
            };
            let count = Count {
                object,
                address,
                user,
                system,
            };
            by_task.push((labels.task, count));
            Ok(())
        })?;
        let record = Record {
            names,
            began_ns: self.file.time_nanos,
            pieces: self.pieces(),
        };
        Ok(Saved::with(self.profile(by_task), record))
    }

    fn profile(self, mut by_task: Vec<(TaskId, Count)>) -> Profile {
        let place = |count: &Count| (count.object, count.address);
        add_up(
            &mut by_task,
            |(task, count)| (*task, place(count)),
            |one| &mut one.1,
        );
        let mut counts: Vec<_> = by_task.iter().map(|(_, count)| *count).collect();
        add_up(&mut counts, place, |count| count);
        let Extension {
            subject,
            rate,
            elapsed,
            balance,
            objects,
            tasks,
            buffers,
            notes,
            ..
        } = self.extension;
        Profile {
            subject,
            rate,
            elapsed,
            objects,
            counts,
            by_task: if tasks.is_empty() {
                Vec::new()
            } else {
                by_task
            },
            tasks,
            balance,
            buffers,
            notes,
        }
    }

    /// Where a location is; its name, if it has one, is noted.
    fn spot(&self, id: u64, names: &mut Names) -> Result<Spot, PprofError> {
        let location = self.location(id)?;
        let (object, address) = self.place(&location)?;
        let named = self.name(&location)?;
        let is_named = named.is_some();
        if let Some((name, source)) = named {
            if let Some(source) = source {
                names.sources.insert((object, address), source);
            }
            names.names.insert((object, address), name);
        }
        Ok(Spot {
            object,
            address,
            is_named,
        })
    }

    /// Numbers are places, as the writer gives them.
    fn location(&self, id: u64) -> Result<Location, PprofError> {
        match place_of(id)
            .map(|place| self.parts.location(place))
            .transpose()?
        {
            Some(Some(location)) if location.id == id => Ok(location),
            _ => damaged(format!("there is no location number {id}")),
        }
    }

    /// The object and link-time address of a location.
    fn place(&self, location: &Location) -> Result<(ObjectId, u64), PprofError> {
        let mapping = nth(&self.file.mapping, location.mapping_id);
        match (mapping, nth(&self.extension.mappings, location.mapping_id)) {
            (Some(mapping), _) if !layout::holds(mapping, location.address) => {
                damaged("an address outside of its mapping")
            }
            (_, Some(&object)) => {
                let slide = self.extension.slides[object];
                let written = location.address.wrapping_sub(slide);
                let address = if self.odd.contains(&location.id) {
                    written
                } else {
                    layout::even(&self.extension.objects[object], written)
                };
                Ok((ObjectId::new(object), address))
            }
            _ => damaged(format!(
                "there is no mapping number {}",
                location.mapping_id
            )),
        }
    }

    /// The name of an address, if it has one, and where in the source it is.
    fn name(&self, location: &Location) -> Result<Option<(Name, Option<Source>)>, PprofError> {
        let Some((last, inlined)) = location.line.split_last() else {
            return Ok(None);
        };
        let (name, mangled, line) = self.line(last)?;
        let start = nth(&self.extension.starts, last.function_id);
        let Some(&Some(start)) = start else {
            return damaged("a function without a start");
        };
        let inlined = inlined.iter().rev().map(|line| {
            let (name, mangled, line) = self.line(line)?;
            Ok(Inlined {
                name,
                mangled,
                line,
            })
        });
        let inlined = inlined.collect::<Result<Vec<_>, PprofError>>()?;
        let has_source = line.is_some() || !inlined.is_empty();
        let source = has_source.then_some(Source { line, inlined });
        let name = Name::Function {
            name,
            mangled,
            start,
        };
        Ok(Some((name, source)))
    }

    fn line(&self, line: &schema::Line) -> Result<NamedLine, PprofError> {
        let function = match nth(&self.file.function, line.function_id) {
            Some(function) if function.id == line.function_id => function,
            _ => return damaged(format!("there is no function number {}", line.function_id)),
        };
        let name = Arc::clone(self.texts.name(function.name)?);
        let mangled = Arc::clone(self.texts.name(function.system_name)?);
        let number = u32::try_from(line.line).ok().filter(|&number| number > 0);
        let place = match number {
            Some(number) if function.filename != 0 => Some(Line {
                file: Arc::clone(self.texts.name(function.filename)?),
                number,
            }),
            _ => None,
        };
        let mangled = (mangled != name).then_some(mangled);
        Ok((name, mangled, place))
    }

    fn labels(&self, sample: &Sample) -> Result<Labels, PprofError> {
        let mut labels = Labels {
            task: TaskId::ALL,
            is_system: false,
            unnamed: WhyUnnamed::NotLookedUp,
        };
        for label in &sample.label {
            let key = self.texts.get(label.key)?;
            let text = self.texts.get(label.str)?;
            match &**key {
                word::MODE => labels.is_system = &**text == word::SYSTEM,
                word::UNNAMED => {
                    labels.unnamed =
                        WhyUnnamed::displayed_as(text).unwrap_or(WhyUnnamed::NotLookedUp);
                }
                word::TASK => match usize::try_from(label.num) {
                    Ok(number) if number <= self.extension.tasks.len() => {
                        labels.task = TaskId::new(number);
                    }
                    _ => return damaged(format!("there is no task number {}", label.num)),
                },
                _ => {}
            }
        }
        Ok(labels)
    }

    /// The parts of each object.
    fn pieces(&self) -> Vec<Vec<Piece>> {
        let mut pieces = vec![Vec::new(); self.extension.objects.len()];
        for (mapping, &object) in self.file.mapping.iter().zip(&self.extension.mappings) {
            let slide = self.extension.slides[object];
            pieces[object].push(Piece {
                start: mapping.memory_start.wrapping_sub(slide),
                end: mapping.memory_limit.wrapping_sub(slide),
                offset: mapping.file_offset,
            });
        }
        pieces
    }
}

/// A name, what the symbol table calls it, and a line.
type NamedLine = (Arc<str>, Option<Arc<str>>, Option<Line>);

/// Where a location is, and whether it has a name.
#[derive(Clone, Copy)]
struct Spot {
    object: ObjectId,
    address: u64,
    is_named: bool,
}

/// What the labels of a sample say.
struct Labels {
    task: TaskId,
    is_system: bool,
    unnamed: WhyUnnamed,
}

/// Sorts, and makes one of those that have the same key. Sorted is how they come, so this is cheap.
fn add_up<T, K: Ord>(
    list: &mut Vec<T>,
    key: impl Fn(&T) -> K,
    count: impl Fn(&mut T) -> &mut Count,
) {
    list.sort_by_key(&key);
    list.dedup_by(|next, kept| {
        let is_same = key(next) == key(kept);
        if is_same {
            let (next, kept) = (*count(next), count(kept));
            kept.user += next.user;
            kept.system += next.system;
        }
        is_same
    });
    list.shrink_to_fit();
}

/// The one with this number, from 1.
fn nth<T>(list: &[T], number: u64) -> Option<&T> {
    list.get(place_of(number)?)
}

/// The place of a number, from 1, in a list.
fn place_of(number: u64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
