//! The sample of a configuration, which people start from.

use super::{Config, KEYS, parse};

const SAMPLE: &str = include_str!("../../../../../packaging/profil-bpf.toml");

/// Without the marks of comments before keys: of those with defaults, and of examples if they are wanted.
fn uncommented(with_examples: bool) -> String {
    let line = |line: &'static str| match (line.strip_prefix("#! "), line.strip_prefix('#')) {
        (Some(example), _) if with_examples => example,
        (Some(_), _) => "",
        (None, Some(rest)) if !rest.starts_with([' ', '#']) => rest,
        _ => line,
    };
    SAMPLE.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_sample_says_the_defaults() {
    assert_eq!(parse(SAMPLE), Ok(Config::default()));
    assert_eq!(parse(&uncommented(false)), Ok(Config::default()));
    // And says them, instead of nothing.
    let lines = uncommented(false);
    let default = Config::default();
    let mut table = "";
    let mut said = Vec::new();
    for line in lines.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']');
        } else if let Some((name, value)) = line.split_once(" = ")
            && !line.starts_with('#')
        {
            let name = if table.is_empty() {
                name.to_owned()
            } else {
                format!("{table}.{name}")
            };
            said.push((name, Some(value.to_owned())));
        }
    }
    let known = KEYS
        .iter()
        .map(|key| (key.name.to_owned(), (key.show)(&default)));
    let known: Vec<_> = known.filter(|(_, value)| value.is_some()).collect();
    assert_eq!(said, known);
}

#[test]
fn every_key_stands_in_the_sample() {
    let config = parse(&uncommented(true)).unwrap();
    for key in KEYS {
        let value = (key.show)(&config);
        assert!(value.is_some(), "{} is not in the sample", key.name);
    }
}
