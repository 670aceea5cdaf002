//! speedscope's format against the schema that it publishes, and what its reader wants beyond that.

use serde_json::{Value, json};

use super::{assert_golden, assert_neutral, sample, schema::faults, written};
use crate::export::speedscope;

/// As published with speedscope 1.22.2 (MIT licence).
fn schema() -> Value {
    let text = include_str!("../../../tests/golden/speedscope.schema.json");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn same_profile_same_bytes() {
    let plain = written(speedscope::write, &sample::plain());
    let golden = include_str!("../../../tests/golden/plain.speedscope.json");
    assert_golden("plain.speedscope.json", golden, &plain);
}

#[test]
fn it_is_as_the_schema_says_and_adds_up() {
    for (sample, profiles) in [
        (sample::plain(), 1),
        (sample::hostile(), 3),
        (sample::empty(), 1),
    ] {
        let text = written(speedscope::write, &sample);
        assert_neutral(&text, "\n");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(faults(&schema(), &value), [""; 0]);
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let frames = list(&value["shared"]["frames"]).len() as u64;
        let mut total = 0;
        assert_eq!(list(&value["profiles"]).len(), profiles);
        for profile in list(&value["profiles"]) {
            let samples = list(&profile["samples"]);
            let weights = list(&profile["weights"]);
            assert_eq!(samples.len(), weights.len());
            let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
            assert_eq!(profile["endValue"], sum);
            assert_eq!(profile["unit"], "nanoseconds");
            for frame in samples.iter().flat_map(list) {
                assert!(frame.as_u64().is_some_and(|frame| frame < frames));
            }
            total += sum;
        }
        let ticks: u64 = sample.1.iter().map(|function| function.ticks()).sum();
        assert_eq!(total, ticks * sample.0.rate.period_ns());
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let text = written(speedscope::write, &sample::plain());
    let right: Value = serde_json::from_str(&text).expect("JSON");
    for (place, wrong) in [
        ("/$schema", json!("elsewhere")),
        ("/profiles/0/type", json!("counted")),
        ("/profiles/0/unit", json!("ticks")),
        ("/profiles/0/samples/0", json!(1)),
        ("/profiles/0/weights/0", json!("1")),
        ("/shared/frames/0", json!({})),
        ("/shared", json!({})),
    ] {
        let mut value = right.clone();
        *value.pointer_mut(place).expect("there") = wrong;
        assert_ne!(faults(&schema(), &value), [""; 0], "{place}");
    }
}

/// It is shown by a browser, which obeys what reorders text as a terminal does.
#[test]
fn names_are_neutral_also_after_reading() {
    let text = written(speedscope::write, &sample::hostile());
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let mut names: Vec<_> = value.pointer("/shared/frames").into_iter().collect();
    names.push(&value["profiles"]);
    for item in names.into_iter().filter_map(Value::as_array).flatten() {
        for key in ["name", "file"] {
            assert_neutral(item[key].as_str().unwrap_or_default(), "\n");
        }
    }
    assert_eq!(
        value["profiles"][1]["name"],
        "\\u{202e}c\\u{a} (pid 10, tid 11)"
    );
}
