//! The thread that draws and obeys keys. It waits for nothing but them and the terminal.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender},
    thread,
    time::{Duration, Instant},
};

use profil_user::Control;
use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::event::{self, KeyEvent},
    layout::{Position, Rect},
};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    draw::{self, Title},
    feed::Request,
    guard::{self, Guard, Screen},
    ink::Ink,
    keys,
    listing::Asked,
    model::{Model, Update},
    rows::{List, Row},
    save::{Saved, time_for_names},
    state::{Effect, State},
};

/// Snapshots are not drawn more often than this; keys are, at once.
const INTERVAL: Duration = Duration::from_millis(250);

/// What happens to the view.
pub(crate) enum Event {
    Key(KeyEvent),
    /// The terminal has another size, or shows something else.
    Redraw,
    /// There will be no more keys.
    NoKeys,
    Update(Box<Update>),
    Listing(Asked, Vec<Row>),
    /// Something to say, and whether it is an error.
    Say(String, bool),
    /// The run has ended by itself.
    Ended(String),
    End,
}

/// Where the view's wishes go.
pub(crate) struct Wishes {
    pub(crate) requests: UnboundedSender<Request>,
    pub(crate) control: Control,
    pub(crate) saved: Saved,
}

/// What is known and what is chosen.
struct View {
    model: Model,
    /// The model of the picture that is held.
    held: Option<Model>,
    state: State,
    title: Title,
    ink: Ink,
    rows: Vec<Row>,
    page: usize,
    /// Whether the terminal may show something else than what was drawn.
    repaint: bool,
    wishes: Wishes,
}

/// Sends keys and sizes, until the terminal has gone or nobody listens.
pub(crate) fn listen(events: &SyncSender<Event>) {
    loop {
        let event = match event::read() {
            Ok(event::Event::Key(key)) => Event::Key(key),
            Ok(event::Event::Resize(..)) => Event::Redraw,
            Ok(_) => continue,
            Err(_) => Event::NoKeys,
        };
        let is_last = matches!(event, Event::NoKeys);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Draws until a key or an event asks for the end. The terminal is given back on every way out.
pub(crate) fn run(
    guard: Guard,
    events: &Receiver<Event>,
    title: Title,
    state: State,
    ink: Ink,
    wishes: Wishes,
) {
    let mut view = View {
        model: Model::default(),
        held: None,
        state,
        title,
        ink,
        rows: Vec::new(),
        page: 1,
        repaint: false,
        wishes,
    };
    // A terminal that has gone is the end of the view, and no error of the run.
    let _ = view.live(events);
    drop(guard);
}

impl View {
    fn live(&mut self, events: &Receiver<Event>) -> io::Result<()> {
        let mut terminal = Terminal::new(CrosstermBackend::new(Screen::default()))?;
        let mut drawn: Option<Instant> = None;
        let mut due = Some(Instant::now());
        loop {
            let event = match due {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match event {
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    self.draw(&mut terminal)?;
                    if !guard::is_ours() {
                        return Ok(());
                    }
                    drawn = Some(Instant::now());
                    due = None;
                }
                Ok(event) => {
                    let at_once = match &event {
                        Event::Update(_) | Event::Listing(..) => false,
                        Event::Redraw => {
                            terminal.autoresize()?;
                            true
                        }
                        _ => true,
                    };
                    if self.takes(event) {
                        return Ok(());
                    }
                    let soon = match drawn {
                        Some(drawn) if !at_once => drawn + INTERVAL,
                        _ => Instant::now(),
                    };
                    due = Some(due.map_or(soon, |due| due.min(soon)));
                }
            }
        }
    }

    /// Whether that is the end.
    fn takes(&mut self, event: Event) -> bool {
        match event {
            Event::Key(key) => return self.obeys(key),
            Event::Redraw => self.repaint = true,
            Event::NoKeys | Event::End => return true,
            Event::Update(update) => self.model.ingest(*update),
            Event::Listing(asked, rows) => {
                let place = &self.state.place;
                let is_shown = place.list == List::Addresses
                    && place.scope.function.as_ref() == Some(&asked.spot)
                    && place.scope.process == asked.process;
                // A picture that is held has the rows that it had.
                if is_shown && (self.held.is_none() || self.state.listing.is_empty()) {
                    self.state.listing = rows;
                }
            }
            Event::Say(text, is_error) => self.state.say(text, is_error),
            Event::Ended(text) => {
                self.state.ended = true;
                self.state.say(text, false);
            }
        }
        false
    }

    fn obeys(&mut self, key: KeyEvent) -> bool {
        let Some(action) = keys::action(self.state.mode(), key) else {
            return false;
        };
        let time = time_for_names();
        let effect = self.state.apply(action, &self.rows, self.page, &time);
        match effect {
            None => {}
            Some(Effect::Quit) => return true,
            Some(Effect::Repaint) => self.repaint = true,
            Some(Effect::Freeze) => {
                self.held = self.state.frozen.then(|| self.model.clone());
            }
            Some(Effect::Clock) if self.model.paused => self.wishes.control.resume(),
            Some(Effect::Clock) => self.wishes.control.pause(),
            Some(Effect::List(asked)) => self.ask(Request::List(asked)),
            Some(Effect::Save(path)) => {
                self.state
                    .say(format!("saving as {} …", path.display()), false);
                self.wishes.saved.asked();
                self.ask(Request::Save(path));
            }
        }
        // The next key is about the rows that it leads to, also if they are not drawn yet.
        self.settle();
        false
    }

    fn ask(&self, request: Request) {
        // Whoever looks up names has ended only if everything has.
        let _ = self.wishes.requests.send(request);
    }

    fn settle(&mut self) {
        let model = self.held.as_ref().unwrap_or(&self.model);
        self.rows = self.state.rows(model);
        self.state.place.settle(&self.rows, self.page);
    }

    fn draw(&mut self, terminal: &mut Terminal<CrosstermBackend<Screen>>) -> io::Result<()> {
        let size = terminal.size()?;
        if std::mem::take(&mut self.repaint) {
            terminal.resize(Rect::from((Position::ORIGIN, size)))?;
        }
        self.page = draw::page(size.height);
        self.settle();
        let model = self.held.as_ref().unwrap_or(&self.model);
        terminal.draw(|frame| {
            let parts = (&self.title, self.ink);
            draw::draw(model, &self.state, &self.rows, parts, frame.buffer_mut());
        })?;
        Ok(())
    }
}

/// Listens to keys on a thread that ends with the program: a key that never comes cannot be waited for.
pub(crate) fn listen_in_background(events: SyncSender<Event>) {
    thread::spawn(move || listen(&events));
}
