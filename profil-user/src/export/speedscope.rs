//! speedscope's own format, for <https://www.speedscope.app>, which opens it without sending it anywhere.
//!
//! As <https://www.speedscope.app/file-format-schema.json> has it: a `sampled` profile for each task, or one
//! where tasks are not kept apart, with the rows as its samples and CPU time in nanoseconds as their weights.
//! A stack is the object and in it the function, so that functions of one object lie together. There is no
//! time in it: the samples are in the order of the rows.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use serde::Serialize;

use super::{
    escape::printable,
    neutral,
    table::{function_name, object_name},
    whose,
};
use crate::{
    profile::{Object, ObjectId, ObjectKind, Profile},
    symbolize::{Function, Place},
};

/// Writes a profile, by its rows.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(profile: &Profile, functions: &[Function], out: &mut impl Write) -> io::Result<()> {
    let mut frames = Frames::default();
    let tasks: Vec<_> = functions.chunk_by(|a, b| a.task == b.task).collect();
    let mut profiles: Vec<_> = tasks
        .into_iter()
        .map(|of_task| sampled(profile, of_task, &mut frames))
        .collect();
    if profiles.is_empty() {
        // It refuses a file without any.
        profiles.push(sampled(profile, &[], &mut frames));
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: "profil-bpf",
        name: subject(profile),
        active_profile_index: 0,
        profiles,
        shared: Shared {
            frames: frames.into_list(),
        },
    };
    neutral::write(&file, out)
}

fn sampled(profile: &Profile, functions: &[Function], frames: &mut Frames) -> Sampled {
    let name = match functions.first() {
        Some(function) => profile_name(profile, function),
        None => subject(profile),
    };
    let samples = functions.iter().map(|function| {
        let object = profile.object(function.object);
        let mut stack = Vec::new();
        if !matches!(function.place, Place::Task(_)) {
            stack.push(frames.of_object(profile, function.object));
        }
        if function.place != Place::Object {
            stack.push(frames.place(Frame::of_function(function, object)));
        }
        stack
    });
    let samples = samples.collect();
    let period_ns = profile.rate.period_ns();
    let weights: Vec<_> = functions
        .iter()
        .map(|function| function.ticks().saturating_mul(period_ns))
        .collect();
    Sampled {
        kind: "sampled",
        name,
        unit: "nanoseconds",
        start_value: 0,
        end_value: weights.iter().fold(0, |sum, &ns| sum.saturating_add(ns)),
        samples,
        weights,
    }
}

fn profile_name(profile: &Profile, function: &Function) -> String {
    let Some(task) = whose::task_of(profile, function) else {
        return subject(profile);
    };
    let name = printable(&task.name);
    match task.tid {
        Some(tid) => format!("{name} (pid {}, tid {tid})", task.tgid),
        None => format!("{name} (pid {})", task.tgid),
    }
}

fn subject(profile: &Profile) -> String {
    printable(&profile.subject.to_string()).into_owned()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: usize,
    profiles: Vec<Sampled>,
    shared: Shared,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

#[derive(Clone, Eq, Hash, PartialEq, Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

impl Frame {
    fn of_object(object: &Object) -> Self {
        Self {
            name: object_name(object),
            file: path(object),
            line: None,
        }
    }

    fn of_function(function: &Function, object: &Object) -> Self {
        let (file, line) = match &function.place {
            Place::Line(line) => (
                Some(printable(&line.file).into_owned()),
                Some(line.number.into()),
            ),
            Place::Task(_) => (None, None),
            _ => (path(object), None),
        };
        Self {
            name: function_name(function, object),
            file,
            line,
        }
    }
}

fn path(object: &Object) -> Option<String> {
    match &object.kind {
        ObjectKind::File { path, .. } => Some(printable(&path.to_string_lossy()).into_owned()),
        _ => None,
    }
}

/// The frames, each once.
#[derive(Default)]
struct Frames {
    places: HashMap<Frame, usize>,
    /// Those of the objects, which all that lies in them needs.
    of_objects: HashMap<ObjectId, usize>,
}

impl Frames {
    fn place(&mut self, frame: Frame) -> usize {
        let next = self.places.len();
        *self.places.entry(frame).or_insert(next)
    }

    fn of_object(&mut self, profile: &Profile, id: ObjectId) -> usize {
        if let Some(&place) = self.of_objects.get(&id) {
            return place;
        }
        let place = self.place(Frame::of_object(profile.object(id)));
        self.of_objects.insert(id, place);
        place
    }

    /// By their places.
    fn into_list(self) -> Vec<Frame> {
        let mut frames: Vec<_> = self.places.into_iter().collect();
        frames.sort_unstable_by_key(|&(_, place)| place);
        frames.into_iter().map(|(frame, _)| frame).collect()
    }
}
