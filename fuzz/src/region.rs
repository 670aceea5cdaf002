//! The parsers of what a person types for a region: places, sizes, scales.

use profil_user::{RegionAsked, Scale, Start, number};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "region",
    seeds,
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    [
        "0x401000:4096:0x10000",
        "main:64:1.0",
        "ns::f::operator+:010:3/4:libfoo.so.1",
        "libc.so.6+0x29d90:65536:0177777",
        "operator+ +8:18446744073709551615:65536",
        "1:2:3:4",
        "0.25",
        "1/4",
        "0177777",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// The kinds of what came out of each parser.
fn run(input: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(input);
    let region = text.parse::<RegionAsked>();
    let start = Start::parse(&text, None);
    let scale = text.parse::<Scale>();
    let number = number(&text);
    if let Ok(asked) = &region {
        // What is shown of it is a place again, and the same one.
        let shown = asked.start.to_string();
        if let Start::Address(address) = asked.start {
            assert_eq!(
                Start::parse(&shown, None),
                Ok(Start::Address(address)),
                "{text:?}"
            );
        }
    }
    if let Ok(value) = number {
        // A number is the same in each of the ways to write it.
        for again in [
            format!("{value}"),
            format!("{value:#x}"),
            format!("0{value:o}"),
        ] {
            assert_eq!(profil_user::number(&again), Ok(value), "{again}");
        }
    }
    let kind = |ok: bool, bit: u64| u64::from(ok) << bit;
    let named = match &start {
        Ok(Start::Address(_)) => 1,
        Ok(Start::Named { plus, .. }) => 2 + u64::from(*plus > 0),
        Err(_) => 0,
    };
    vec![
        kind(region.is_ok(), 0)
            | kind(scale.is_ok(), 1)
            | kind(number.is_ok(), 2)
            | named << 3
            | (text.matches(':').count() as u64).min(7) << 6
            | (text.matches('+').count() as u64).min(3) << 9,
    ]
}
