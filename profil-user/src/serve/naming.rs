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
            self.generated = Symbolizer::new();
            self.generated_since = Instant::now();
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
