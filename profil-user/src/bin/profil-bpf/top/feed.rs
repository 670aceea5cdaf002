//! From snapshots to what the picture is made of, on a thread of its own: names can take long to look up,
//! and neither the drain nor the keys wait for them.

use std::{
    collections::HashSet,
    mem::{self, Discriminant, discriminant},
    path::PathBuf,
    sync::{Arc, mpsc::SyncSender},
    thread,
    time::{Duration, Instant},
};

use profil_user::{
    Control, Count, Note, Profile, Snapshot, Taken,
    export::text,
    symbolize::{Grouping, Symbolizer, Ticks as SymbolTicks},
};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{mpsc::UnboundedReceiver, watch};

use super::{
    gains::{Counts, counts_of, gains},
    listing::{Asked, Code, listing, spot_of},
    model::{Cell, Labels, Ticks, Update},
    save::{Open, Saved},
    view::Event,
};
use crate::args::Names;

/// What the thread is asked for.
pub(crate) enum Request {
    /// The addresses of a function, from now on; or of none.
    List(Option<Asked>),
    /// A file of record, by this name.
    Save(PathBuf),
    /// The end of the run: nothing comes after this.
    Final(Arc<Taken>),
}

/// Everything that is needed for it.
pub(crate) struct Feed {
    names: Names,
    symbolizer: Symbolizer,
    events: SyncSender<Event>,
    control: Control,
    saved: Saved,
    latest: Option<Arc<Taken>>,
    labels: Arc<Labels>,
    before: Counts,
    /// The function whose addresses are shown, and its instructions.
    listed: Option<(Asked, Code)>,
    /// Files that wait for the clock to be off.
    waiting: Vec<Open>,
    /// Kinds of notes that were told.
    noted: HashSet<Discriminant<Note>>,
    /// When the last update was, and how much CPU time was used then.
    measured: (Instant, Duration),
}

impl Feed {
    pub(crate) fn new(
        names: Names,
        control: Control,
        events: SyncSender<Event>,
        saved: Saved,
    ) -> Self {
        Self {
            symbolizer: names.symbolizer(Grouping::Function),
            names,
            events,
            control,
            saved,
            latest: None,
            labels: Arc::default(),
            before: Vec::new(),
            listed: None,
            waiting: Vec::new(),
            noted: HashSet::new(),
            measured: (Instant::now(), own_cpu()),
        }
    }

    /// Goes on until nobody asks for anything any more.
    pub(crate) fn run(
        mut self,
        mut snapshots: watch::Receiver<Snapshot>,
        mut requests: UnboundedReceiver<Request>,
    ) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
            return;
        };
        runtime.block_on(async {
            let mut running = true;
            loop {
                tokio::select! {
                    biased;
                    request = requests.recv() => match request {
                        Some(request) => self.answer(request, running),
                        None => break,
                    },
                    changed = snapshots.changed(), if running => {
                        running = changed.is_ok();
                        let taken = snapshots.borrow_and_update().clone();
                        if let Some(taken) = taken.filter(|_| running) {
                            self.take(taken);
                        }
                    }
                }
            }
        });
        // The run has failed before the clock was off: better what is known than nothing.
        if let Some(taken) = self.latest.clone() {
            self.write_waiting(&taken);
        }
    }

    fn answer(&mut self, request: Request, running: bool) {
        match request {
            Request::List(listed) => {
                self.listed = listed.map(|asked| {
                    let code = self.code(&asked);
                    (asked, code)
                });
                self.list();
            }
            Request::Final(taken) => self.take(taken),
            Request::Save(path) => match Open::file(&path) {
                Err(error) => {
                    self.saved.failed(&self.events, error);
                }
                Ok(file) => {
                    let off = self.latest.clone().filter(|taken| taken.paused || !running);
                    match off {
                        Some(taken) => self.write(file, taken),
                        None => {
                            // The account adds up while nothing ticks.
                            self.waiting.push(file);
                            self.control.pause();
                        }
                    }
                }
            },
        }
    }

    /// Takes in a snapshot.
    fn take(&mut self, taken: Arc<Taken>) {
        self.latest = Some(Arc::clone(&taken));
        if taken.paused && !self.waiting.is_empty() {
            self.control.resume();
            self.write_waiting(&taken);
        }
        let now = counts_of(&taken.profile);
        let (gained, anew) = match gains(&self.before, &now) {
            Some(gained) => (gained, false),
            None => (now.clone(), true),
        };
        self.before = now;
        let mut counts: Vec<Count> = gained.iter().map(|&(_, count)| count).collect();
        counts.sort_unstable_by_key(|count| (count.object, count.address));
        counts.dedup_by_key(|count| (count.object, count.address));
        self.symbolizer
            .look_up(SymbolTicks::from(&taken).only(&counts));
        let gains = gained.iter().map(|(task, count)| {
            let cell = Cell::At {
                process: task.index(),
                spot: spot_of(&self.symbolizer, count),
            };
            let ticks = Ticks {
                user: count.user,
                system: count.system,
            };
            (cell, ticks)
        });
        let profile = &taken.profile;
        let gains = gains.collect();
        if self.labels.objects != profile.objects || self.labels.tasks != profile.tasks {
            self.labels = Arc::new(Labels {
                objects: profile.objects.clone(),
                tasks: profile.tasks.clone(),
            });
        }
        let update = Update {
            elapsed: profile.elapsed,
            paused: taken.paused,
            balance: profile.balance,
            own: self.own(),
            labels: Arc::clone(&self.labels),
            anew,
            gains,
        };
        // Whoever does not listen any more needs nothing.
        let _ = self.events.send(Event::Update(Box::new(update)));
        self.list();
        self.note(&taken.profile);
    }

    /// Tells what there is to know of the numbers, each kind once; what changes stands in a file that is
    /// saved.
    fn note(&mut self, profile: &Profile) {
        for note in &profile.notes {
            let is_shown = matches!(note, Note::OwnCost { .. } | Note::Children { .. });
            if !is_shown && self.noted.insert(discriminant(note)) {
                let text = format!("note: {}", text::note_text(profile, note));
                let _ = self.events.send(Event::Say(text, false));
            }
        }
    }

    /// CPU time of this process by wall-clock time, since this was last asked.
    fn own(&mut self) -> f64 {
        let (before, used_before) = self.measured;
        self.measured = (Instant::now(), own_cpu());
        let used = self.measured.1.saturating_sub(used_before);
        used.as_secs_f64() / before.elapsed().as_secs_f64().max(1e-3)
    }

    /// Tells of the addresses that are asked for.
    fn list(&self) {
        if let (Some((asked, code)), Some(taken)) = (&self.listed, &self.latest) {
            let rows = listing(taken, &self.symbolizer, (asked, code));
            let _ = self.events.send(Event::Listing(asked.clone(), rows));
        }
    }

    /// The instructions of a function; none, and a word why, if they cannot be had.
    fn code(&self, asked: &Asked) -> Code {
        let Some(taken) = &self.latest else {
            return Code::default();
        };
        Code::read(taken, &self.symbolizer, &asked.spot).unwrap_or_else(|why| {
            let text = format!("addresses without instructions: {why}");
            let _ = self.events.send(Event::Say(text, false));
            Code::default()
        })
    }

    fn write_waiting(&mut self, taken: &Arc<Taken>) {
        for file in mem::take(&mut self.waiting) {
            self.write(file, Arc::clone(taken));
        }
    }

    /// Writes a file, on yet another thread: lines and inlined functions are looked up for it.
    fn write(&self, file: Open, taken: Arc<Taken>) {
        let (names, events, saved) = (self.names.clone(), self.events.clone(), self.saved.clone());
        thread::spawn(move || saved.by(&events, || file.write(&taken, &names)));
    }
}

/// CPU time that this process has used.
fn own_cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.cast_unsigned(), used.tv_nsec as u32)
}
