//! The worked examples, read. Here and in the root tests, which ask the kernel.

use profil_common::{Classic, Dialect};
use serde_json::Value;

/// A call, a tick, and the counter that it adds to.
pub(crate) struct Vector {
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
    pub(crate) region: Classic,
    pub(crate) pc: u64,
    pub(crate) bin: Option<u64>,
}

/// All of them, as they stand in the file.
pub(crate) fn vectors() -> Vec<Vector> {
    let text = include_str!("../bin-vectors.json");
    let list: Vec<Value> = serde_json::from_str(text).expect("the file is a list");
    let vector = |value: &Value| {
        let word = |name: &str| value[name].as_str().expect(name);
        let number = |name: &str| value[name].as_u64().expect(name);
        Vector {
            id: word("id").to_owned(),
            dialect: Dialect::from_word(word("dialect")).expect("a dialect"),
            region: Classic {
                offset: number("offset"),
                bytes: number("bytes"),
                scale: number("scale").try_into().expect("32 bits"),
                added: 0,
            },
            pc: number("pc"),
            bin: value["bin"].as_u64(),
        }
    };
    let vectors: Vec<_> = list.iter().map(vector).collect();
    assert_eq!(vectors.len(), 108);
    vectors
}
