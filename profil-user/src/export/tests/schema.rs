//! As much of JSON Schema as our schemas use. A keyword that is not known here is a failure, so that none
//! is passed over.

use serde_json::Value;

/// What of a value is not as the schema has it.
pub(super) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, schema, value, "$", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let mut fault = |what: &str| faults.push(format!("{at}: {what} {rule}"));
        match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "definitions" | "title" | "description" => {}
            "$ref" => {
                let name = rule.as_str().and_then(|name| name.strip_prefix('#'));
                let target = root.pointer(name.expect("of this file")).expect("defined");
                check(root, target, value, at, faults);
            }
            "type" => {
                let is = |kind: &Value| is_of_type(value, kind.as_str().expect("a word"));
                if !rule
                    .as_array()
                    .map_or_else(|| is(rule), |kinds| kinds.iter().any(is))
                {
                    fault("not of type");
                }
            }
            "const" if value != rule => fault("not"),
            "enum" if !rule.as_array().expect("a list").contains(value) => fault("none of"),
            "const" | "enum" => {}
            "minimum" => {
                if value.as_f64() < rule.as_f64() && value.is_number() {
                    fault("less than");
                }
            }
            "pattern" => {
                let hex = |text: &str| text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
                let fits = |text: &str| match rule.as_str() {
                    Some("^0x[0-9a-f]+$") => {
                        text.len() > 2 && text.strip_prefix("0x").is_some_and(hex)
                    }
                    Some("^([0-9a-f][0-9a-f])+$") => {
                        !text.is_empty() && text.len().is_multiple_of(2) && hex(text)
                    }
                    _ => panic!("a pattern that is not known here: {rule}"),
                };
                if !value.as_str().is_none_or(fits) {
                    fault("not like");
                }
            }
            "required" => {
                for name in rule.as_array().expect("a list") {
                    if value.is_object() && value.get(name.as_str().expect("a name")).is_none() {
                        faults.push(format!("{at}: no {name}"));
                    }
                }
            }
            "properties" | "additionalProperties" => {}
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{index}]"), faults);
                }
            }
            "anyOf" => {
                let fits = |schema: &Value| {
                    let mut inner = Vec::new();
                    check(root, schema, value, at, &mut inner);
                    inner.is_empty()
                };
                if !rule.as_array().expect("a list").iter().any(fits) {
                    fault("fits none of");
                }
            }
            keyword => panic!("a keyword that is not known here: {keyword}"),
        }
    }
    let others = &schema["additionalProperties"];
    for (name, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], others) {
            (Value::Null, Value::Null) => {}
            (Value::Null, Value::Bool(false)) => faults.push(format!("{at}: not expected")),
            (Value::Null, rule) | (rule, _) => check(root, rule, value, &at, faults),
        }
    }
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        kind => panic!("a type that is not known here: {kind}"),
    }
}
