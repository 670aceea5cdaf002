//! `profil-bpf clock`: the clocks of this machine, for people and for programs.

use std::io::{self, Write as _};

use profil_user::hz::{CLOCKINFO, Figure, figures};
use serde_json::{Map, Value, json};

/// Prints them.
pub(crate) fn run(as_json: bool) -> anyhow::Result<()> {
    let figures = figures();
    let text = if as_json {
        format!("{:#}\n", as_value(&figures))
    } else {
        as_text(&figures)
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// A line in the shape of BSD's `sysctl kern.clockrate`, then one a figure with its source.
fn as_text(figures: &[Figure]) -> String {
    let shown = |figure: &Figure| {
        let value = figure.value.map(|value| value.to_string());
        value.unwrap_or_else(|| "unknown".to_owned())
    };
    let clockinfo: Vec<_> = figures
        .iter()
        .take(CLOCKINFO)
        .map(|figure| format!("{} = {}", figure.name, shown(figure)))
        .collect();
    let mut text = format!("kern.clockrate: {{ {} }}\n\n", clockinfo.join(", "));
    for figure in figures {
        let value = format!("{} {}", shown(figure), figure.unit);
        text += &format!("{:<17} {value:<11} {}\n", figure.name, figure.source);
    }
    text
}

/// An object by name; a value that is not known is null.
fn as_value(figures: &[Figure]) -> Value {
    let entries = figures.iter().map(|figure| {
        let entry = json!({
            "value": figure.value,
            "unit": figure.unit,
            "source": figure.source,
        });
        (figure.name.to_owned(), entry)
    });
    Value::Object(entries.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: [Figure; 5] = {
        const fn figure(name: &'static str, value: Option<u64>) -> Figure {
            Figure {
                name,
                value,
                unit: "Hz",
                source: "a test",
            }
        }
        [
            figure("hz", Some(250)),
            figure("tick", Some(4000)),
            figure("profhz", Some(997)),
            figure("stathz", Some(97)),
            figure("max_sample_rate", None),
        ]
    };

    #[test]
    fn the_first_line_is_that_of_bsd() {
        let text = as_text(&FIGURES);
        assert_eq!(
            text.lines().next(),
            Some("kern.clockrate: { hz = 250, tick = 4000, profhz = 997, stathz = 97 }")
        );
        assert!(
            text.ends_with("max_sample_rate   unknown Hz  a test\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_unknown_is_null() {
        let value = as_value(&FIGURES);
        assert_eq!(value["hz"]["value"], 250);
        assert_eq!(value["hz"]["source"], "a test");
        assert!(value["max_sample_rate"]["value"].is_null());
    }
}
