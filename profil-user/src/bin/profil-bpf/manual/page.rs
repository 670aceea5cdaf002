//! Manual pages: what the help says, in man(7)'s macros, and what takes more room than a help has.

use std::io;

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::NAME;

/// The sections that are written by hand, from the formats to the capabilities.
const SECTIONS: &str = include_str!("sections.roff");

/// The exit statuses of a verb.
fn exit_status(verb: &str) -> Roff {
    let done = match verb {
        "doctor" => "0 if a profile can be taken here, 1 if not",
        _ => "0 if it was done, 1 if it was not",
    };
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    roff.text([roman(format!("{done}, and 2 if it was asked for wrongly."))]);
    roff
}

/// Pages of others that a reader may want.
const SEE_ALSO: [&str; 8] = [
    "gprof(1)",
    "perf(1)",
    "prof(1)",
    "profil(3)",
    "perf_event_open(2)",
    "bpf(2)",
    "capabilities(7)",
    "hz(9)",
];

/// How an example is begun in the help, apart from `sudo`.
const INDENT: &str = "  ";

/// All pages: their names, and their text.
pub(super) fn all(command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = command
        .disable_help_subcommand(true)
        .subcommand_help_heading("VERBS");
    command.build();
    let help = command.get_after_help().map(ToString::to_string);
    let examples = examples(&help.unwrap_or_default());
    let verbs: Vec<_> = command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .cloned()
        .collect();
    let names: Vec<_> = verbs.iter().map(page_name).collect();
    let mut pages = vec![(NAME.to_owned(), main(command, &names, &examples)?)];
    for (verb, name) in verbs.into_iter().zip(names) {
        pages.push((name, of_verb(verb, &examples)?));
    }
    Ok(pages)
}

fn page_name(verb: &Command) -> String {
    format!("{NAME}-{}", verb.get_name())
}

/// How every page begins. Without a date, which `Man` would leave out instead of leaving it empty:
/// the same version has the same pages.
fn title(name: &str) -> Roff {
    let source = format!("{NAME} {}", env!("CARGO_PKG_VERSION"));
    let mut roff = Roff::new();
    let words = [&name.to_uppercase(), "1", "\"\"", &source, "User Commands"];
    roff.control("TH", words);
    roff
}

fn main(command: Command, verbs: &[String], examples: &[Example]) -> io::Result<Vec<u8>> {
    let man = Man::new(command);
    let mut page = Vec::new();
    title(NAME).to_writer(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis().to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    page.extend_from_slice(SECTIONS.as_bytes());
    section_of(examples).to_writer(&mut page)?;
    let ours = verbs.iter().map(|verb| format!("{verb}(1)"));
    let others = SEE_ALSO.map(str::to_owned);
    see_also(ours.chain(others)).to_writer(&mut page)?;
    Ok(page)
}

fn of_verb(verb: Command, examples: &[Example]) -> io::Result<Vec<u8>> {
    let start = format!("{NAME} {}", verb.get_name());
    let shown: Vec<_> = examples
        .iter()
        .filter(|example| example.is_of(&start))
        .cloned()
        .collect();
    let name = page_name(&verb);
    let status = exit_status(verb.get_name());
    let man = Man::new(verb);
    let mut page = Vec::new();
    title(&name).to_writer(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    status.to_writer(&mut page)?;
    section_of(&shown).to_writer(&mut page)?;
    see_also([format!("{NAME}(1)")]).to_writer(&mut page)?;
    Ok(page)
}

/// Three ways: a line with all options would say nothing.
fn synopsis() -> Roff {
    const WAYS: [&str; 3] = [
        " [OPTIONS] --pid PID... | --tid TID | --comm GLOB | --exe PATH | --cgroup PATH | --all",
        " [OPTIONS] -- COMMAND [ARGUMENTS...]",
        " VERB ...",
    ];
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    for way in WAYS {
        roff.text([bold(NAME), roman(way)]);
        roff.control("br", []);
    }
    roff
}

/// A command, and what it does.
#[derive(Clone, Debug, PartialEq)]
struct Example {
    command: String,
    meaning: String,
}

impl Example {
    /// Whether it begins with `start`, by whomever it is run.
    fn is_of(&self, start: &str) -> bool {
        let command = self.command.strip_prefix("sudo ").unwrap_or(&self.command);
        let rest = command.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

/// The examples in the text after the help: a command, two blanks or more, and what it does; or that
/// on the next line, where there is no room.
fn examples(help: &str) -> Vec<Example> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let mut examples: Vec<Example> = Vec::new();
    for line in lines.map_while(|line| line.strip_prefix(INDENT)) {
        match (line.starts_with(' '), examples.last_mut()) {
            (true, Some(last)) => last.meaning = line.trim().to_owned(),
            _ => {
                let (command, meaning) = line.split_once(INDENT).unwrap_or((line, ""));
                examples.push(Example {
                    command: command.to_owned(),
                    meaning: meaning.trim().to_owned(),
                });
            }
        }
    }
    examples
}

fn section_of(examples: &[Example]) -> Roff {
    let mut roff = Roff::new();
    if examples.is_empty() {
        return roff;
    }
    roff.control("SH", ["EXAMPLES"]);
    for Example { command, meaning } in examples {
        roff.control("TP", []);
        roff.text([bold(command)]);
        roff.text([roman(meaning)]);
    }
    roff
}

fn see_also(pages: impl IntoIterator<Item = String>) -> Roff {
    let pages: Vec<_> = pages.into_iter().collect();
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    let last = pages.len().saturating_sub(1);
    for (index, page) in pages.iter().enumerate() {
        let (name, section) = page.split_at(page.find('(').unwrap_or(page.len()));
        let comma = if index < last { "," } else { "" };
        roff.text([bold(name), roman(format!("{section}{comma}"))]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::{SECTIONS, all, examples};
    use crate::args;

    #[test]
    fn every_example_of_the_help_has_a_command_and_a_meaning() {
        let help = args::command().get_after_help().expect("some").to_string();
        let found = examples(&help);
        let of_program = help.lines().take_while(|line| !line.is_empty());
        let of_program = of_program.filter(|line| line.contains("profil-bpf "));
        assert_eq!(found.len(), of_program.count());
        for example in found {
            let command = example.command.trim_start_matches("sudo ");
            assert!(command.starts_with("profil-bpf "), "{example:?}");
            assert!(!example.meaning.is_empty(), "{example:?}");
        }
    }

    #[test]
    fn a_verb_has_its_own_examples() {
        let pages = all(args::command()).expect("memory takes all");
        let page = |name: &str| {
            let (_, text) = pages.iter().find(|(page, _)| page == name).expect(name);
            String::from_utf8(text.clone()).expect("text")
        };
        let diff = page("profil-bpf-diff");
        assert!(diff.contains(r"profil\-bpf diff before.pb.gz after.pb.gz"));
        assert!(!diff.contains(r"profil\-bpf merge"));
        assert!(page("profil-bpf").contains(r"\fBprofil\-bpf\-diff\fR(1),"));
    }

    /// What is written by hand, against what the program knows.
    #[test]
    fn every_format_is_described() {
        let command = args::command();
        let format = command
            .get_arguments()
            .find(|arg| arg.get_id() == "format")
            .expect("a flag");
        let help = format.get_help().expect("a help").to_string();
        let (_, words) = help.split_once(':').expect("a list of words");
        for word in words.replace(" or ", ", ").split(',') {
            let word = word.split_whitespace().next().expect("a word");
            let written = word.replace('-', r"\-");
            assert!(SECTIONS.contains(&format!(".BR {written} ")), "{word}");
        }
    }
}
