//! From increments to rows with names. Names are looked up once, as far as memory for them goes.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    metrics::memory_bytes,
    row::{ObjectLabel, ProcessLabel, Row, Spot, Window},
};
use crate::{
    profile::{Count, Object, ObjectId, ObjectKind},
    symbolize::{Name, Symbolizer, Ticks},
    target::{ObjectFile, container_in},
    watch::Increment,
};

/// Addresses whose names are kept. With more, all are looked up anew.
const MOST_NAMES: usize = 1 << 18;

/// Memory that symbol tables may take, and all that is made of them, in bytes: those of one large program can be as much.
/// With more, all are read anew when they are needed.
const MOST_BYTES: u64 = 64 << 20;

/// How long what processes say of the code that they generate is believed: they go on generating.
const GENERATED_ANEW: Duration = Duration::from_secs(60);

/// What a process is called that has no name, or of which none is known any more.
const NAMELESS: &str = "[no name]";

/// Gives the ticks of increments names.
pub(crate) struct Naming {
    generation: u64,
    objects: Vec<Object>,
    files: Vec<Option<Arc<ObjectFile>>>,
    labels: Vec<Arc<ObjectLabel>>,
    symbolizer: Symbolizer,
    /// Of generated code, which changes.
    generated: Symbolizer,
    generated_since: Instant,
    /// How much our memory has grown while names were looked up, since they were last forgotten.
    grown: u64,
    spots: HashMap<(ObjectId, Option<u64>, Arc<str>), Arc<Spot>>,
}

impl Naming {
    pub(crate) fn new() -> Self {
        Self {
            generation: 0,
            objects: Vec::new(),
            files: Vec::new(),
            labels: Vec::new(),
            symbolizer: Symbolizer::new(),
            generated: Symbolizer::new(),
            generated_since: Instant::now(),
            grown: 0,
            spots: HashMap::new(),
        }
    }

    /// Addresses that have names, or reasons why not.
    pub(crate) fn known(&self) -> usize {
        self.symbolizer.known() + self.generated.known()
    }

    /// The rows of an increment, of a clock of which a tick is worth `period_ns`.
    pub(crate) fn name(&mut self, increment: &Increment, period_ns: u64) -> Window {
        self.learn(increment);
        let private = || memory_bytes().map_or(0, |(_, private)| private);
        let before = private();
        self.look_up(increment);
        self.grown += private().saturating_sub(before);
        let doers: Vec<_> = increment
            .doers
            .iter()
            .map(|doer| {
                let is_known = !doer.name.is_empty();
                Arc::new(ProcessLabel {
                    tgid: doer.tgid,
                    name: if is_known {
                        Arc::clone(&doer.name)
                    } else {
                        NAMELESS.into()
                    },
                    cgroup: Arc::clone(&doer.cgroup),
                    container: container_in(&doer.cgroup).map(Into::into),
                })
            })
            .collect();
        let rows = increment.counts.iter().filter_map(|(doer, count)| {
            Some(Row {
                process: Arc::clone(doers.get(*doer)?),
                spot: self.spot(count),
                address: count.address,
                user: count.user,
                system: count.system,
            })
        });
        Window {
            rows: rows.collect(),
            began: increment.began,
            elapsed: increment.elapsed,
            period_ns,
        }
    }

    fn learn(&mut self, increment: &Increment) {
        if increment.generation != self.generation {
            self.generation = increment.generation;
            self.objects.clear();
            self.files.clear();
            self.labels.clear();
            self.forget();
        }
        if self.known() > MOST_NAMES || self.grown > MOST_BYTES {
            self.forget();
        }
        if self.generated_since.elapsed() > GENERATED_ANEW {
            self.forget_generated();
        }
        for (object, file) in &increment.new_objects {
            self.labels.push(Arc::new(label_of(object)));
            self.objects.push(object.clone());
            self.files.push(file.clone());
        }
    }

    fn forget(&mut self) {
        self.symbolizer = Symbolizer::new();
        self.generated = Symbolizer::new();
        self.grown = 0;
        self.spots.clear();
    }

    /// Of names that may be others by now, none is kept: a process may make new ones without end.
    fn forget_generated(&mut self) {
        self.generated = Symbolizer::new();
        self.generated_since = Instant::now();
        let spots = std::mem::take(&mut self.spots).into_iter();
        self.spots = spots
            .filter(|((object, ..), _)| !self.is_generated(*object))
            .collect();
    }

    fn look_up(&mut self, increment: &Increment) {
        let mut counts: Vec<Count> = increment.counts.iter().map(|&(_, count)| count).collect();
        counts.sort_unstable_by_key(|count| (count.object, count.address));
        counts.dedup_by_key(|count| (count.object, count.address));
        let (generated, compiled): (Vec<_>, Vec<_>) = counts
            .into_iter()
            .partition(|count| self.is_generated(count.object));
        let ticks = |counts| Ticks::of_everybody(&self.objects, &self.files, counts);
        self.symbolizer.look_up(ticks(&compiled));
        self.generated.look_up(ticks(&generated));
    }

    fn is_generated(&self, object: ObjectId) -> bool {
        let object = self.objects.get(object.index());
        object.is_some_and(|object| matches!(object.kind, ObjectKind::Anonymous { .. }))
    }

    fn spot(&mut self, count: &Count) -> Arc<Spot> {
        let symbolizer = if self.is_generated(count.object) {
            &self.generated
        } else {
            &self.symbolizer
        };
        let (function, start) = match symbolizer.name_of(count.object, count.address) {
            Name::Function { name, start, .. } => (Arc::clone(name), Some(*start)),
            Name::Unnamed(why) => (format!("[{why}]").into(), None),
        };
        let key = (count.object, start, function);
        if let Some(spot) = self.spots.get(&key) {
            return Arc::clone(spot);
        }
        let spot = Arc::new(Spot {
            object: self.labels.get(count.object.index()).map_or_else(
                || {
                    Arc::new(ObjectLabel {
                        name: "[unknown]".into(),
                        path: "".into(),
                        build_id: None,
                    })
                },
                Arc::clone,
            ),
            function: Arc::clone(&key.2),
            start,
        });
        self.spots.insert(key, Arc::clone(&spot));
        spot
    }
}

fn label_of(object: &Object) -> ObjectLabel {
    let path = match &object.kind {
        ObjectKind::File { path, .. } => path.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    ObjectLabel {
        name: object.name().into(),
        path: path.into(),
        build_id: object.build_id,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant, SystemTime},
    };

    use super::{GENERATED_ANEW, Naming};
    use crate::{
        profile::{Count, Object, ObjectId, ObjectKind},
        watch::{Account, Doer, Increment},
    };

    fn increment(objects: &[ObjectKind]) -> Increment {
        let object = |kind: &ObjectKind| Object {
            kind: kind.clone(),
            is_main: false,
            build_id: None,
            text: Vec::new(),
        };
        let count = |address| {
            let [kernel, generated] = [0, 1].map(ObjectId::new);
            let count = |object| Count {
                object,
                address,
                user: 1,
                system: 0,
            };
            [(0, count(kernel)), (0, count(generated))]
        };
        Increment {
            generation: 0,
            began: SystemTime::UNIX_EPOCH,
            elapsed: Duration::from_secs(1),
            new_objects: objects.iter().map(|kind| (object(kind), None)).collect(),
            counts: (0..2).flat_map(count).collect(),
            doers: vec![Doer {
                tgid: u32::MAX - 1,
                name: "x".into(),
                cgroup: "".into(),
            }],
            account: Account::default(),
        }
    }

    #[test]
    fn names_of_generated_code_are_not_kept_without_end() {
        let mut naming = Naming::new();
        let tgid = u32::MAX - 1;
        let objects = [ObjectKind::Vdso, ObjectKind::Anonymous { tgid }];
        assert_eq!(naming.name(&increment(&objects), 1).rows.len(), 4);
        let (generated, compiled) = (ObjectId::new(1), ObjectId::new(0));
        let spots = |naming: &Naming, of: ObjectId| {
            let spots = naming.spots.iter();
            let of = spots.filter(|((object, ..), _)| *object == of);
            of.map(|(_, spot)| Arc::clone(spot)).collect::<Vec<_>>()
        };
        let before = [generated, compiled].map(|of| spots(&naming, of));
        naming.name(&increment(&[]), 1);
        let again = [generated, compiled].map(|of| spots(&naming, of));
        assert!(
            Arc::ptr_eq(&before[0][0], &again[0][0]),
            "they are believed"
        );

        naming.generated_since = Instant::now() - GENERATED_ANEW * 2;
        naming.name(&increment(&[]), 1);
        let anew = [generated, compiled].map(|of| spots(&naming, of));
        assert_eq!(anew[0].len(), before[0].len());
        assert!(
            !Arc::ptr_eq(&before[0][0], &anew[0][0]),
            "the old one is kept"
        );
        assert!(
            Arc::ptr_eq(&before[1][0], &anew[1][0]),
            "it stays what it is"
        );
    }
}
