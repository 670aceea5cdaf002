//! JSON against its schema.

use serde_json::{Value, json};

use super::{assert_golden, assert_neutral, sample, schema::faults, written};
use crate::{
    export::json,
    profile::{Task, TaskId},
    symbolize::Place,
};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/profile.schema.json")).expect("JSON")
}

#[test]
fn same_profile_same_bytes() {
    let plain = written(json::write, &sample::plain());
    let golden = include_str!("../../../tests/golden/plain.json");
    assert_golden("plain.json", golden, &plain);
    let hostile = written(json::write, &sample::hostile());
    let golden = include_str!("../../../tests/golden/hostile.json");
    assert_golden("hostile.json", golden, &hostile);
}

#[test]
fn it_is_as_the_schema_says() {
    for sample in [sample::plain(), sample::hostile(), sample::empty()] {
        let text = written(json::write, &sample);
        assert_neutral(&text, "\n");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(faults(&schema(), &value), [""; 0]);
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let text = written(json::write, &sample::plain());
    let right: Value = serde_json::from_str(&text).expect("JSON");
    for (place, wrong) in [
        ("/version", json!(2)),
        ("/rows/0/address", json!("1000")),
        ("/rows/0/user", json!(-1)),
        ("/rows/0/task", json!("0")),
        ("/rows/0/function", json!(7)),
        ("/rows/1", json!({})),
        ("/objects/0/kind", json!("disk")),
        ("/objects/0/build_id", json!("0g")),
        ("/balance/outcomes/binned", json!(0.5)),
        ("/balance", json!({"more": 1})),
    ] {
        let mut value = right.clone();
        *value.pointer_mut(place).expect("there") = wrong;
        assert_ne!(faults(&schema(), &value), [""; 0], "{place}");
    }
}

#[test]
fn names_are_read_as_they_were() {
    let (profile, functions) = sample::hostile();
    let text = written(json::write, &(profile.clone(), functions.clone()));
    let value: Value = serde_json::from_str(&text).expect("JSON");
    for (index, function) in functions.iter().enumerate() {
        let row = &value["rows"][index];
        assert_eq!(row["function"].as_str(), function.name.as_deref().ok());
        assert_eq!(row["user"], function.user);
        let task = &value["tasks"][row["task"].as_u64().expect("a number") as usize];
        let expected = &profile.tasks[function.task.index().expect("apart")];
        assert_eq!(task["comm"], expected.name);
        assert_eq!(task["tid"].as_u64(), expected.tid.map(u64::from));
    }
}

/// A process has no object, no address and no function.
#[test]
fn a_row_of_a_process_names_its_task() {
    let (profile, mut functions) = sample::hostile();
    functions.truncate(2);
    let process = Task {
        tid: None,
        ..profile.tasks[0].clone()
    };
    for (function, task) in functions.iter_mut().zip([Some(process), None]) {
        function.task = TaskId::ALL;
        function.place = Place::Task(task.map(Box::new));
    }
    let value: Value =
        serde_json::from_str(&written(json::write, &(profile, functions))).expect("JSON");
    assert_eq!(faults(&schema(), &value), [""; 0]);
    assert_eq!(value["rows"][0]["task"], 0);
    assert_eq!(value["rows"][1]["task"], Value::Null);
    for field in ["object", "address", "function"] {
        assert_eq!(value["rows"][0][field], Value::Null);
    }
    assert_eq!(value["filtered_out"], 774 - 90 - 89);
}
