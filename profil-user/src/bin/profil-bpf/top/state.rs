//! What a person has chosen to see, and what keys do to that.

use std::path::PathBuf;

use super::{
    keys::{Action, Mode},
    listing::Asked,
    model::{Labels, Model, Sums},
    place::{Filter, Place},
    plain::plain,
    rows::{self, Key, List, Row, Scope, name_of},
};

/// Most letters of an answer.
const LONGEST_ANSWER: usize = 400;

/// Everything that is chosen.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) place: Place,
    /// Where to go back to.
    before: Vec<Place>,
    /// The addresses of the function that the list is of, once they are known.
    pub(crate) listing: Vec<Row>,
    pub(crate) question: Option<Question>,
    pub(crate) help: bool,
    /// Something to say, until the next key.
    pub(crate) message: Option<Message>,
    pub(crate) frozen: bool,
    /// Whether nothing will change any more.
    pub(crate) ended: bool,
    /// What a saved file is called after.
    target: String,
}

/// Something to be answered.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) about: About,
    pub(crate) text: String,
    /// What is wrong with the answer.
    pub(crate) error: Option<String>,
    /// What was filtered before.
    before: Option<Filter>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum About {
    Filter,
    Save,
}

/// Something to say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// What others have to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    Quit,
    /// Switch the clock off, or on.
    Clock,
    Save(PathBuf),
    /// Keep telling of the addresses of a function, or of none.
    List(Option<Asked>),
    /// Draw everything again.
    Repaint,
    /// Keep the model as it is for the picture, or not.
    Freeze,
}

impl State {
    /// The first picture; files are called after `target`.
    pub(crate) fn new(target: String) -> Self {
        Self {
            place: Place::of(List::Functions, Scope::default()),
            before: Vec::new(),
            listing: Vec::new(),
            question: None,
            help: false,
            message: None,
            frozen: false,
            ended: false,
            target,
        }
    }

    /// What keys are for.
    pub(crate) const fn mode(&self) -> Mode {
        if self.question.is_some() {
            Mode::Question
        } else if self.help {
            Mode::Help
        } else {
            Mode::List
        }
    }

    /// The rows to show, all of them.
    pub(crate) fn rows(&self, model: &Model) -> Vec<Row> {
        let place = &self.place;
        let mut rows = if place.list == List::Addresses {
            self.listing.clone()
        } else {
            rows::of(model, place.list, &place.scope)
        };
        if let Some(filter) = &place.filter {
            rows::sift(&mut rows, &filter.pattern, &model.labels);
        }
        rows::sort(&mut rows, place.order, &model.labels);
        rows
    }

    /// Where the list is: what it is a part of, from outside in.
    pub(crate) fn path(&self, labels: &Labels) -> Vec<String> {
        let scope = &self.place.scope;
        let name = |key| Row {
            key,
            sums: Sums::default(),
            cells: Vec::new(),
            text: None,
        };
        let mut path = Vec::new();
        if let Some(process) = scope.process {
            let row = name(Key::Process(process));
            path.push(format!("{} {}", row.name(labels), row.side(labels)));
        }
        path.extend(scope.object.map(|id| name(Key::Object(id)).name(labels)));
        let function = scope.function.as_ref();
        path.extend(function.map(|spot| plain(&name_of(spot, labels)).into_owned()));
        path
    }

    /// Does what a key asks for. `rows` are those that are shown, `page` how many of them are seen, and
    /// `time` is now, fit for the name of a file.
    pub(crate) fn apply(
        &mut self,
        action: Action,
        rows: &[Row],
        page: usize,
        time: &str,
    ) -> Option<Effect> {
        self.message = None;
        match action {
            Action::Quit => return Some(Effect::Quit),
            Action::Help => self.help = !self.help,
            Action::Show(list) => return self.show(list),
            Action::Enter => return self.enter(rows),
            Action::Back => return self.back(),
            Action::Move(step) => self.place.go(step, rows, page),
            Action::Column(steps) => self.place.next_column(steps),
            Action::ColumnAt(number) => {
                if let Some(&column) = self.place.columns().get(number) {
                    self.place.order.column = column;
                }
            }
            Action::Reverse => self.place.order.reversed = !self.place.order.reversed,
            Action::Filter => {
                let before = self.place.filter.clone();
                let text = before
                    .as_ref()
                    .map_or_else(String::new, |it| it.text.clone());
                self.ask(About::Filter, text, before);
            }
            Action::Save => {
                let name = format!("profil-bpf-{}-{time}.pb.gz", self.target);
                self.ask(About::Save, name, None);
            }
            Action::Freeze => {
                self.frozen = !self.frozen;
                return Some(Effect::Freeze);
            }
            Action::Clock if self.ended => self.say("the run has ended", true),
            Action::Clock => return Some(Effect::Clock),
            Action::Repaint => return Some(Effect::Repaint),
            Action::Type(letter) => self.edit(|text| {
                if text.chars().count() < LONGEST_ANSWER {
                    text.push(letter);
                }
            }),
            Action::Erase => self.edit(|text| {
                text.pop();
            }),
            Action::EraseAll => self.edit(String::clear),
            Action::Accept => return self.accept(),
            Action::Cancel => {
                if let Some(question) = self.question.take()
                    && question.about == About::Filter
                {
                    self.place.filter = question.before;
                }
            }
        }
        None
    }

    /// Says something until the next key.
    pub(crate) fn say(&mut self, text: impl Into<String>, is_error: bool) {
        self.message = Some(Message {
            text: plain(&text.into()).into_owned(),
            is_error,
        });
    }

    fn show(&mut self, list: List) -> Option<Effect> {
        let had_listing = self.place.list == List::Addresses;
        let mut scope = std::mem::take(&mut self.place.scope);
        scope.function = None;
        match list {
            List::Processes => scope.process = None,
            List::Objects => scope.object = None,
            List::Functions | List::Addresses => {}
        }
        self.place = Place::of(list, scope);
        self.before.retain(|place| place.list != list);
        self.listing.clear();
        had_listing.then_some(Effect::List(None))
    }

    fn enter(&mut self, rows: &[Row]) -> Option<Effect> {
        let row = rows.get(self.place.index)?;
        let mut scope = self.place.scope.clone();
        let list = match &row.key {
            Key::Process(process) => {
                scope.process = Some(*process);
                List::Functions
            }
            Key::Object(id) => {
                scope.object = Some(*id);
                List::Functions
            }
            Key::Function(spot) => {
                scope.function = Some(spot.clone());
                List::Addresses
            }
            Key::Rest => {
                self.say("they were too many to be told apart", true);
                return None;
            }
            Key::Address(_) => return None,
        };
        let asked = scope.function.clone().map(|spot| Asked {
            process: scope.process,
            spot,
        });
        let here = std::mem::replace(&mut self.place, Place::of(list, scope));
        self.before.push(here);
        asked.map(|asked| Effect::List(Some(asked)))
    }

    fn back(&mut self) -> Option<Effect> {
        if self.place.filter.take().is_some() {
            return None;
        }
        let had_listing = self.place.list == List::Addresses;
        match self.before.pop() {
            Some(place) => self.place = place,
            // After another list was shown, what it is a part of is left.
            None => self.place = Place::of(self.place.list, Scope::default()),
        }
        self.listing.clear();
        had_listing.then_some(Effect::List(None))
    }

    fn ask(&mut self, about: About, text: String, before: Option<Filter>) {
        self.question = Some(Question {
            about,
            text,
            error: None,
            before,
        });
    }

    fn edit(&mut self, change: impl FnOnce(&mut String)) {
        let Some(question) = &mut self.question else {
            return;
        };
        change(&mut question.text);
        question.error = None;
        if question.about == About::Save {
            return;
        }
        if question.text.is_empty() {
            self.place.filter = None;
            return;
        }
        // The list follows what is typed, as far as that can be read.
        match question.text.parse() {
            Ok(pattern) => {
                self.place.filter = Some(Filter {
                    text: question.text.clone(),
                    pattern,
                });
            }
            Err(error) => question.error = Some(format!("not a regular expression: {error}")),
        }
    }

    fn accept(&mut self) -> Option<Effect> {
        let question = self.question.as_ref()?;
        if question.error.is_some() {
            return None;
        }
        let question = self.question.take()?;
        match question.about {
            About::Filter => None,
            About::Save if question.text.is_empty() => {
                self.say("not saved: no file is named", true);
                None
            }
            About::Save => Some(Effect::Save(PathBuf::from(question.text))),
        }
    }
}

#[cfg(test)]
mod tests;
