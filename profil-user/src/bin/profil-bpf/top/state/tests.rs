//! Keys, and where they lead.

use super::{
    super::{
        keys::{Action, Mode, Step},
        model::{
            Model,
            tests::{cell, labels, spot, ticks, update},
        },
        rows::{Column, Key, List, Row, Scope},
    },
    Effect, State,
};

const TIME: &str = "20261130T161501Z";

/// Three functions of two processes; the hotter the earlier in the alphabet.
fn model() -> Model {
    let mut model = Model::default();
    let gains = vec![
        (cell(0, "alpha"), ticks(600, 0)),
        (cell(0, "beta"), ticks(100, 50)),
        (cell(1, "gamma"), ticks(0, 7)),
    ];
    model.ingest(update(1000, gains));
    model
}

/// A view, and what it is of.
struct Bench {
    model: Model,
    state: State,
    rows: Vec<Row>,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self {
            model: model(),
            state: State::new("4242".to_owned()),
            rows: Vec::new(),
        };
        bench.settle();
        bench
    }

    fn settle(&mut self) {
        self.rows = self.state.rows(&self.model);
        self.state.place.settle(&self.rows, 2);
    }

    fn does(&mut self, action: Action) -> Option<Effect> {
        let effect = self.state.apply(action, &self.rows, 2, TIME);
        self.settle();
        effect
    }

    fn types(&mut self, text: &str) {
        text.chars().for_each(|letter| {
            self.does(Action::Type(letter));
        });
    }

    fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name(&labels())).collect()
    }

    fn chosen(&self) -> String {
        self.rows[self.state.place.index].name(&labels())
    }
}

#[test]
fn from_a_process_to_its_functions_and_addresses_and_back() {
    let mut bench = Bench::new();
    assert_eq!(bench.names(), ["alpha", "beta", "gamma"]);
    assert_eq!(bench.does(Action::Show(List::Processes)), None);
    assert_eq!(bench.names(), ["hot", "cold"]);
    bench.does(Action::Move(Step::Rows(1)));
    bench.does(Action::Enter);
    assert_eq!(bench.names(), ["gamma"]);
    assert_eq!(bench.state.path(&labels()), ["cold 77"]);
    let effect = bench.does(Action::Enter);
    let Some(Effect::List(Some(asked))) = effect else {
        panic!("{effect:?}");
    };
    assert_eq!((asked.process, asked.spot), (Some(Some(1)), spot("gamma")));
    assert!(bench.rows.is_empty(), "they are not known yet");
    bench.state.listing = [0x1010, 0x1002]
        .map(|address| Row::of_address(address, "+".to_owned(), ticks(1, 0)))
        .into();
    bench.settle();
    assert_eq!(bench.rows[0].key, Key::Address(0x1002));
    assert_eq!(bench.state.path(&labels()), ["cold 77", "gamma"]);
    assert_eq!(bench.does(Action::Enter), None);
    assert_eq!(bench.does(Action::Back), Some(Effect::List(None)));
    assert_eq!(bench.names(), ["gamma"]);
    bench.does(Action::Back);
    assert_eq!(bench.chosen(), "cold", "as it was left");
    bench.does(Action::Back);
    bench.does(Action::Back);
    assert_eq!(bench.state.place.scope, Scope::default());
}

#[test]
fn an_object_has_functions_and_a_process_has_objects() {
    let mut bench = Bench::new();
    bench.does(Action::Show(List::Objects));
    assert_eq!(bench.names(), ["hot"]);
    bench.does(Action::Enter);
    assert_eq!(bench.names(), ["alpha", "beta", "gamma"]);
    bench.does(Action::Show(List::Processes));
    bench.does(Action::Enter);
    bench.does(Action::Show(List::Objects));
    assert_eq!(bench.rows[0].sums.all, ticks(700, 50), "of that process");
}

#[test]
fn what_is_chosen_is_followed_and_the_first_row_is_the_first() {
    let mut bench = Bench::new();
    bench.does(Action::Move(Step::Rows(1)));
    assert_eq!(bench.chosen(), "beta");
    let gains = vec![(cell(1, "gamma"), ticks(9000, 0))];
    bench.model.ingest(update(2000, gains));
    bench.settle();
    assert_eq!(bench.names(), ["gamma", "alpha", "beta"]);
    assert_eq!(
        (bench.chosen().as_str(), bench.state.place.offset),
        ("beta", 1)
    );
    bench.does(Action::Move(Step::First));
    let gains = vec![(cell(0, "alpha"), ticks(90_000, 0))];
    bench.model.ingest(update(3000, gains));
    bench.settle();
    assert_eq!(
        (bench.chosen().as_str(), bench.state.place.offset),
        ("alpha", 0)
    );
    for step in [Step::Rows(99), Step::Last, Step::Pages(99)] {
        bench.does(Action::Move(step));
        assert_eq!(bench.state.place.index, 2, "{step:?}");
    }
    bench.does(Action::Move(Step::Pages(-1)));
    assert_eq!(bench.state.place.index, 0);
    bench.does(Action::Move(Step::Rows(-1)));
    assert_eq!(bench.state.place.index, 0);
}

#[test]
fn columns_are_chosen_by_arrows_and_numbers() {
    let mut bench = Bench::new();
    assert_eq!(bench.state.place.order.column, Column::Ten);
    bench.does(Action::Column(1));
    assert_eq!(bench.state.place.order.column, Column::All);
    bench.does(Action::Column(-9));
    assert_eq!(bench.state.place.order.column, Column::Now);
    bench.does(Action::Column(99));
    assert_eq!(bench.state.place.order.column, Column::Side);
    bench.does(Action::ColumnAt(4));
    assert_eq!(bench.state.place.order.column, Column::Name);
    bench.does(Action::Reverse);
    assert_eq!(bench.names(), ["gamma", "beta", "alpha"]);
}

#[test]
fn a_filter_follows_what_is_typed_and_says_what_it_cannot_read() {
    let mut bench = Bench::new();
    bench.does(Action::Filter);
    assert_eq!(bench.state.mode(), Mode::Question);
    bench.types("a$");
    assert_eq!(bench.names(), ["alpha", "beta", "gamma"]);
    bench.does(Action::EraseAll);
    bench.types("^[ab]");
    assert_eq!(bench.names(), ["alpha", "beta"]);
    bench.types("(");
    let question = bench.state.question.as_ref().expect("a question");
    let error = question.error.as_deref().expect("it cannot be read");
    assert!(error.starts_with("not a regular expression"), "{error}");
    assert_eq!(bench.names(), ["alpha", "beta"], "the last that could be");
    bench.does(Action::Accept);
    assert_eq!(bench.state.mode(), Mode::Question, "it is still asked");
    bench.does(Action::Erase);
    bench.does(Action::Accept);
    assert_eq!(bench.state.mode(), Mode::List);
    bench.does(Action::Filter);
    bench.types("zzz");
    assert!(bench.names().is_empty());
    bench.does(Action::Cancel);
    assert_eq!(bench.names(), ["alpha", "beta"], "as before the question");
    bench.does(Action::Back);
    assert_eq!(bench.names(), ["alpha", "beta", "gamma"]);
}

#[test]
fn a_file_has_a_name_to_begin_with() {
    let mut bench = Bench::new();
    bench.does(Action::Save);
    let saved = bench.does(Action::Accept);
    let name = format!("profil-bpf-4242-{TIME}.pb.gz");
    assert_eq!(saved, Some(Effect::Save(name.into())));
    bench.does(Action::Save);
    bench.does(Action::EraseAll);
    assert_eq!(bench.does(Action::Accept), None);
    assert!(bench.state.message.as_ref().expect("why").is_error);
    bench.does(Action::Save);
    bench.does(Action::EraseAll);
    bench.types(&"x".repeat(10_000));
    let question = bench.state.question.as_ref().expect("a question");
    assert_eq!(question.text.len(), 400);
    bench.does(Action::Cancel);
    assert_eq!(bench.state.mode(), Mode::List);
}

#[test]
fn a_held_picture_and_the_clock_are_two_things() {
    let mut bench = Bench::new();
    assert_eq!(bench.does(Action::Freeze), Some(Effect::Freeze));
    assert!(bench.state.frozen);
    assert_eq!(bench.does(Action::Clock), Some(Effect::Clock));
    assert_eq!(bench.does(Action::Freeze), Some(Effect::Freeze));
    assert!(!bench.state.frozen);
    bench.state.ended = true;
    assert_eq!(bench.does(Action::Clock), None);
    assert_eq!(bench.does(Action::Quit), Some(Effect::Quit));
}

#[test]
fn nothing_is_no_place_to_enter() {
    let mut bench = Bench::new();
    bench.model = Model::default();
    bench.settle();
    for action in [
        Action::Enter,
        Action::Back,
        Action::Move(Step::Last),
        Action::Show(List::Processes),
        Action::Enter,
        Action::Accept,
        Action::Erase,
        Action::Type('x'),
    ] {
        assert_eq!(bench.does(action), None, "{action:?}");
    }
}
